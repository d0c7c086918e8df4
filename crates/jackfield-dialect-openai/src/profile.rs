//! What a server and its models take: a table for each kind of server, and no branches elsewhere.
//!
//! Facts about servers are of 2026-11: the vendors' documentation, the sources of Ollama and llama.cpp,
//! and what their users report; see each field and constant.

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::Effort;

pub use jackfield_dialect_kit::ids::IdForm;

/// What a server takes, and what it wants otherwise than OpenAI. Applies to both dialects, where a field
/// does not name one.
///
/// The fields are open: a server of one's own may take less, or more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Profile {
    /// Takes sounds (`input_audio`), Chat Completions alone.
    pub audio: bool,
    /// What stands as the content of an assistant message that has calls and no words, Chat Completions alone.
    pub blank_content: BlankContent,
    /// Takes explicit cache points (`prompt_cache_breakpoint`).
    pub cache_points: bool,
    /// The form that ids of calls have to have.
    pub call_ids: IdForm,
    /// Takes tools of free text (`type: "custom"`).
    pub custom_tools: bool,
    /// The levels of effort that are taken, from least to most; empty where there is none.
    pub efforts: &'static [Effort],
    /// Where the end user goes.
    pub end_user: EndUser,
    /// Takes documents (`file` and `input_file` parts).
    pub files: bool,
    /// Takes `include: ["reasoning.encrypted_content"]` and gives reasoning that can be sent back, Responses alone.
    pub encrypted_reasoning: bool,
    /// Takes images at an address; all that take images take them inline.
    pub image_addresses: bool,
    /// Takes images.
    pub images: bool,
    /// Whether reasoning comes in the text of a reply, Chat Completions alone: servers leave it there that have no
    /// parser of the model's tags, or have it switched off (vLLM without `--reasoning-parser`, llama.cpp with
    /// `reasoning_format: none`, LM Studio, 2026).
    pub inline_thinking: InlineThinking,
    /// The least limit on output that is taken, in tokens, Responses alone: OpenAI answers 400 below 16
    /// (`integer_below_min_value`, 2026).
    pub least_output: u32,
    /// Where the limit on output goes, Chat Completions alone.
    pub max_tokens: MaxTokens,
    /// In which order messages may come, Chat Completions alone.
    pub message_order: MessageOrder,
    /// Takes pictures and documents in what came of calls, Responses alone: llama.cpp refuses anything but
    /// text there (`tools/server/server-chat.cpp`, 2026), and others read the text alone.
    pub output_media: bool,
    /// Takes `parallel_tool_calls`.
    pub parallel_calls: bool,
    /// Takes frequency and presence penalties, Chat Completions alone.
    pub penalties: bool,
    /// How reasoning goes back to a server that showed it, Chat Completions alone.
    pub reasoning_echo: ReasoningEcho,
    /// Takes the model's refusals back as such (`refusal`), Chat Completions alone.
    pub refusals: bool,
    /// Takes `temperature` and `top_p`.
    pub sampling: bool,
    /// Takes `seed`, Chat Completions alone.
    pub seed: bool,
    /// Takes `service_tier`.
    pub service_tier: bool,
    /// Takes `stop`, Chat Completions alone.
    pub stop: bool,
    /// Takes `stream_options.include_usage`, Chat Completions alone.
    pub stream_usage: bool,
    /// Takes `strict` with tools.
    pub strict_tools: bool,
    /// How far an answer can be held to a form.
    pub structured_output: StructuredOutput,
    /// Whose words the system prompt is.
    pub system_role: SystemRole,
    /// Is told not to think by `thinking: {"type": "disabled"}` and by no effort, Chat Completions alone
    /// (DeepSeek's page on its thinking mode, 2026-11).
    pub thinking_switch: bool,
    /// Which forms of `tool_choice` are taken.
    pub tool_choice: ToolChoiceForms,
    /// What a request with tools says about effort, whatever was set: OpenAI's reasoning models refuse
    /// function tools on Chat Completions otherwise. Chat Completions alone.
    pub tools_without_effort: bool,
    /// Takes `top_k`, which OpenAI does not.
    pub top_k: bool,
    /// Takes `verbosity`.
    pub verbosity: bool,
}

/// What stands as the content of an assistant message that has calls and no words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlankContent {
    /// `""`: templates of llama.cpp and of older vLLM fail on null.
    Empty,
    /// `null`, as OpenAI has it.
    Null,
}

/// Where the name of the end user goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndUser {
    /// Nowhere.
    None,
    /// Into `safety_identifier`.
    SafetyIdentifier,
    /// Into `user`, which OpenAI has deprecated.
    User,
}

/// How reasoning comes in the text of a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InlineThinking {
    /// Not at all: a tag is a word like any other.
    None,
    /// From the beginning to `</think>`: the template of the model opens the tag.
    Opened,
    /// Between `<think>` and `</think>` at the beginning, if the text begins so.
    Tagged,
}

/// Where the limit on output goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MaxTokens {
    /// Into `max_completion_tokens`.
    MaxCompletionTokens,
    /// Into `max_tokens`, the only one that most compatible servers read.
    MaxTokens,
}

/// In which order messages may come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MessageOrder {
    /// User and model take turns, as many models' templates have it: what follows each other is made one.
    Alternating,
    /// Besides, the model speaks after tools before the user does (Mistral's API, 2026: 400 `Unexpected role
    /// 'user' after role 'tool'`).
    AnswerAfterTools,
    /// Any.
    Free,
}

/// How reasoning goes back to a server that showed it.
///
/// It goes into the field in which it came: `reasoning_content`, `reasoning` or `reasoning_details`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReasoningEcho {
    /// With every message of a turn that calls tools, also where it was empty, and also where another
    /// model said the words (DeepSeek's thinking mode, 2026: 400 `The reasoning_content in the thinking
    /// mode must be passed back to the API.`).
    Always,
    /// With the messages that came with some.
    AsItCame,
    /// Never.
    Never,
}

/// How far an answer can be held to a form.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StructuredOutput {
    /// To any JSON object.
    JsonObject,
    /// Not at all.
    None,
    /// To a schema.
    Schema,
}

/// Whose words the system prompt is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SystemRole {
    /// `developer`, OpenAI alone.
    Developer,
    /// `system`; several in a row are made one, and only the first message may be one.
    OneSystem,
    /// `system`.
    System,
}

/// Which forms of `tool_choice` are taken.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ToolChoiceForms {
    /// None: it is ignored, so what may not be called is left out.
    Ignored,
    /// `none`, `auto` and `required`.
    Words,
    /// Also one tool by name.
    Named,
    /// Also a subset (`allowed_tools`).
    Subset,
}

const EFFORTS: &[Effort] = &[
    Effort::None,
    Effort::Minimal,
    Effort::Low,
    Effort::Medium,
    Effort::High,
    Effort::ExtraHigh,
    Effort::Max,
];

impl Profile {
    /// OpenAI's current models, all of which reason.
    pub const OPENAI: Self = Self {
        audio: false,
        blank_content: BlankContent::Null,
        cache_points: true,
        call_ids: IdForm::Usual,
        custom_tools: true,
        efforts: EFFORTS,
        end_user: EndUser::SafetyIdentifier,
        files: true,
        encrypted_reasoning: true,
        image_addresses: true,
        images: true,
        inline_thinking: InlineThinking::None,
        least_output: 16,
        max_tokens: MaxTokens::MaxCompletionTokens,
        message_order: MessageOrder::Free,
        output_media: true,
        parallel_calls: true,
        penalties: false,
        reasoning_echo: ReasoningEcho::Never,
        refusals: true,
        sampling: false,
        seed: true,
        service_tier: true,
        stop: false,
        stream_usage: true,
        strict_tools: true,
        structured_output: StructuredOutput::Schema,
        system_role: SystemRole::Developer,
        thinking_switch: false,
        tool_choice: ToolChoiceForms::Subset,
        tools_without_effort: true,
        top_k: false,
        verbosity: true,
    };

    /// OpenAI's models that do not reason: `gpt-4o`, `gpt-4.1` and before.
    pub const OPENAI_WITHOUT_REASONING: Self = Self {
        audio: true,
        cache_points: false,
        efforts: &[],
        encrypted_reasoning: false,
        penalties: true,
        sampling: true,
        stop: true,
        system_role: SystemRole::System,
        tools_without_effort: false,
        verbosity: false,
        ..Self::OPENAI
    };

    /// A model behind OpenAI's API whose name says nothing: nothing is added to its requests, and what a client sets
    /// is sent. Requests with it have the note `unknown_model`.
    pub const OPENAI_PLAIN: Self = Self {
        efforts: EFFORTS,
        verbosity: true,
        ..Self::OPENAI_WITHOUT_REASONING
    };

    /// Any server that says that it is compatible: what nearly all of them take.
    pub const COMPATIBLE: Self = Self {
        audio: false,
        blank_content: BlankContent::Null,
        cache_points: false,
        call_ids: IdForm::Usual,
        custom_tools: false,
        efforts: &[Effort::None, Effort::Low, Effort::Medium, Effort::High],
        end_user: EndUser::None,
        files: false,
        encrypted_reasoning: false,
        image_addresses: true,
        images: true,
        inline_thinking: InlineThinking::Tagged,
        least_output: 1,
        max_tokens: MaxTokens::MaxTokens,
        message_order: MessageOrder::Alternating,
        output_media: false,
        parallel_calls: false,
        penalties: true,
        reasoning_echo: ReasoningEcho::AsItCame,
        refusals: false,
        sampling: true,
        seed: true,
        service_tier: false,
        stop: true,
        stream_usage: true,
        strict_tools: false,
        structured_output: StructuredOutput::Schema,
        system_role: SystemRole::OneSystem,
        thinking_switch: false,
        tool_choice: ToolChoiceForms::Words,
        tools_without_effort: false,
        top_k: false,
        verbosity: false,
    };

    /// DeepSeek (<https://api.deepseek.com>), whose models think unless told otherwise.
    pub const DEEPSEEK: Self = Self {
        // minimal is low, and medium and extra high are high to it.
        efforts: &[Effort::None, Effort::Low, Effort::High, Effort::Max],
        images: false,
        image_addresses: false,
        // Its reasoning has a field of its own.
        inline_thinking: InlineThinking::None,
        // Ignored in silence while it thinks.
        penalties: false,
        reasoning_echo: ReasoningEcho::Always,
        sampling: false,
        seed: false,
        structured_output: StructuredOutput::JsonObject,
        thinking_switch: true,
        ..Self::COMPATIBLE
    };

    /// llama.cpp's own server.
    pub const LLAMA_CPP: Self = Self {
        blank_content: BlankContent::Empty,
        efforts: &[Effort::None],
        parallel_calls: true,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// Mistral's own API.
    pub const MISTRAL: Self = Self {
        call_ids: IdForm::NineAlphanumeric,
        efforts: &[],
        // Its reasoning comes as parts of the content.
        inline_thinking: InlineThinking::None,
        message_order: MessageOrder::AnswerAfterTools,
        parallel_calls: true,
        // `random_seed` is its word for it.
        seed: false,
        stream_usage: false,
        tool_choice: ToolChoiceForms::Named,
        ..Self::COMPATIBLE
    };

    /// Ollama, which ignores what it does not know.
    pub const OLLAMA: Self = Self {
        efforts: &[
            Effort::None,
            Effort::Low,
            Effort::Medium,
            Effort::High,
            Effort::Max,
        ],
        image_addresses: false,
        tool_choice: ToolChoiceForms::Ignored,
        ..Self::COMPATIBLE
    };

    /// vLLM.
    pub const VLLM: Self = Self {
        parallel_calls: true,
        strict_tools: true,
        tool_choice: ToolChoiceForms::Named,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// Notes that a model is not known, so that its profile is a guess.
    pub(crate) fn note(&self, notes: &mut Notes) {
        if *self == Self::OPENAI_PLAIN {
            notes.approximated(NoteEffect::Cosmetic, "unknown_model", "model");
        }
    }

    /// The profile of one of OpenAI's own models, by its id: that of the current ones where there is none, and the
    /// plain one where it is none of the vendor's (names of its models page, 2026-11).
    #[must_use]
    pub fn openai(model: &str) -> Self {
        let old = ["gpt-4", "gpt-3.5", "chatgpt-4"];
        // Fine-tuned models are named after what they were made of: `ft:gpt-4o-mini-2024-07-18:…`.
        let model = model.strip_prefix("ft:").unwrap_or(model);
        if old.iter().any(|old| model.starts_with(old)) {
            return Self::OPENAI_WITHOUT_REASONING;
        }
        let current = ["gpt-", "codex-", "computer-use-"];
        let is_current = current.iter().any(|current| model.starts_with(current));
        // `o1`, `o3-mini`, `o4-mini` and their like.
        let number = model.strip_prefix('o');
        let is_numbered =
            number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()));
        if model.is_empty() || is_current || is_numbered {
            return Self::OPENAI;
        }
        Self::OPENAI_PLAIN
    }
}
