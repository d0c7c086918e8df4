//! The capabilities of a server and its models: a table for each kind of server, instead of branches elsewhere.
//!
//! The facts are of 2026-11: from the vendors' documentation, the sources of Ollama and llama.cpp, and reports of
//! their users; see each field and constant.

mod hosts;
mod lines;

use jackfield_dialect_kit::notes::Notes;
use jackfield_domain::note::NoteEffect;
use jackfield_domain::settings::{CacheMode, Effort};

pub use jackfield_dialect_kit::ids::IdForm;

/// The parameters that a server supports, and its deviations from OpenAI. Applies to both dialects, unless a field
/// names one.
///
/// The fields are public, as a self-hosted server may support less, or more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Profile {
    /// Accepts audio (`input_audio`), Chat Completions only.
    pub audio: bool,
    /// The content of an assistant message with calls and without text, Chat Completions only.
    pub blank_content: BlankContent,
    /// Which requests have a key of the conversation whose settings do not say so.
    pub cache: CacheMode,
    /// Accepts a key of the conversation (`prompt_cache_key`).
    pub cache_key: bool,
    /// Accepts explicit cache points (`prompt_cache_breakpoint`).
    pub cache_points: bool,
    /// The required form of call ids.
    pub call_ids: IdForm,
    /// Accepts text tools (`type: "custom"`).
    pub custom_tools: bool,
    /// The supported levels of effort, from least to most; empty if there are none.
    pub efforts: &'static [Effort],
    /// The field for the end user.
    pub end_user: EndUser,
    /// Accepts documents (`file` and `input_file` parts).
    pub files: bool,
    /// Accepts `include: ["reasoning.encrypted_content"]` and sends reasoning that can be returned, Responses only.
    pub encrypted_reasoning: bool,
    /// Runs the vendor's own tools, such as `web_search`.
    pub hosted_tools: bool,
    /// Accepts image URLs; every server that accepts images accepts inline ones.
    pub image_addresses: bool,
    pub images: bool,
    /// Whether reasoning comes in the text of a reply, Chat Completions only: servers leave it there if they have
    /// no parser for the model's tags, or have it disabled (vLLM without `--reasoning-parser`, llama.cpp with
    /// `reasoning_format: none`, LM Studio, 2026).
    pub inline_thinking: InlineThinking,
    /// The lowest accepted limit on output, in tokens, Responses only: OpenAI answers 400 below 16
    /// (`integer_below_min_value`, 2026).
    pub least_output: u32,
    /// Accepts an effort of `max`, if the model has it, Chat Completions only.
    pub max_effort: bool,
    /// The most characters of a tool's description, Chat Completions only: OpenAI answers 400 above 1,024
    /// (`string_above_max_length`, 2026-09).
    pub longest_description: usize,
    /// The field for the limit on output, Chat Completions only.
    pub max_tokens: MaxTokens,
    /// The permitted order of messages, Chat Completions only.
    pub message_order: MessageOrder,
    /// Accepts images and documents in outcomes, Responses only: llama.cpp accepts only text there
    /// (`tools/server/server-chat.cpp`, 2026), and others read only the text.
    pub output_media: bool,
    /// Accepts `parallel_tool_calls`.
    pub parallel_calls: bool,
    /// Accepts frequency and presence penalties, Chat Completions only.
    pub penalties: bool,
    /// How the server is told to continue an assistant message at the end, Chat Completions only.
    pub prefill: Prefill,
    /// How reasoning is returned to the server that sent it, Chat Completions only.
    pub reasoning_echo: ReasoningEcho,
    /// Accepts the model's refusals as such (`refusal`), Chat Completions only.
    pub refusals: bool,
    /// Accepts `temperature` and `top_p`.
    pub sampling: bool,
    /// Accepts `seed`, Chat Completions only.
    pub seed: bool,
    /// Accepts `service_tier`.
    pub service_tier: bool,
    /// Accepts `stop`, Chat Completions only.
    pub stop: bool,
    /// Accepts `stream_options.include_usage`, Chat Completions only.
    pub stream_usage: bool,
    /// Accepts `strict` with tools.
    pub strict_tools: bool,
    pub structured_output: StructuredOutput,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// Thinking is disabled by `thinking: {"type": "disabled"}` and not by an effort, Chat Completions only
    /// (DeepSeek's page on its thinking mode, 2026-11).
    pub thinking_switch: bool,
    /// The supported forms of `tool_choice`.
    pub tool_choice: ToolChoiceForms,
    /// Accepts a search for tools that the client runs (`tool_search`), Responses only.
    pub tool_search: bool,
    /// Accepts tools only with an effort of none, and by default has another, Chat Completions only. A model that has
    /// no such effort accepts no tools there.
    pub tools_without_effort: bool,
    /// Accepts `top_k`, which OpenAI does not.
    pub top_k: bool,
    /// States in `usage.cost` what it charges, in US dollars; with others it is not read.
    pub usage_cost: bool,
    /// Accepts `verbosity`.
    pub verbosity: bool,
}

/// The content of an assistant message with calls and without text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BlankContent {
    /// `""`: templates of llama.cpp and of older vLLM fail on null.
    Empty,
    /// `null`, as OpenAI has it.
    Null,
}

/// The field for the end user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EndUser {
    None,
    /// `safety_identifier`.
    SafetyIdentifier,
    /// `user`, which OpenAI has deprecated.
    User,
}

/// The form of reasoning in the text of a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum InlineThinking {
    /// None: a tag is ordinary text.
    None,
    /// From the beginning to `</think>`: the model's template opens the tag.
    Opened,
    /// Between `<think>` and `</think>` at the beginning, if the text begins so.
    Tagged,
}

/// The field for the limit on output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MaxTokens {
    /// `max_completion_tokens`.
    MaxCompletionTokens,
    /// `max_tokens`, the only one that most compatible servers read.
    MaxTokens,
}

/// The permitted order of messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MessageOrder {
    /// User and model alternate, as in many models' templates: consecutive messages of one role are merged.
    Alternating,
    /// Alternating, and an assistant message must come between tools and the user (Mistral's API, 2026: 400
    /// `Unexpected role 'user' after role 'tool'`).
    AnswerAfterTools,
    /// Any order.
    Free,
}

/// How a server is told to continue an assistant message at the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Prefill {
    /// By nothing: it continues the message, writes a new one (OpenAI), or refuses the request.
    AsItIs,
    /// By `continue_final_message`, and `add_generation_prompt` of false.
    ContinueFinalMessage,
    /// By `prefix` in the message.
    Prefix,
    /// By `prefix` in the message, which the reply repeats.
    RepeatedPrefix,
}

/// How reasoning is returned to the server that sent it.
///
/// It is returned in the field in which it came: `reasoning_content`, `reasoning` or `reasoning_details`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReasoningEcho {
    /// In every message of a turn with calls, even if it is empty or from another model (DeepSeek's thinking mode,
    /// 2026: 400 `The reasoning_content in the thinking mode must be passed back to the API.`).
    Always,
    /// In the messages that had some.
    AsItCame,
    Never,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StructuredOutput {
    JsonObject,
    None,
    Schema,
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SystemRole {
    /// `developer`, OpenAI only.
    Developer,
    /// `system`, but only in the first message; several are merged.
    OneSystem,
    /// `system`.
    System,
}

/// The supported forms of `tool_choice`.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ToolChoiceForms {
    /// None: the field is ignored, so tools that may not be called are left out.
    Ignored,
    /// `none`, `auto` and `required`.
    Words,
    Named,
    /// Also a subset (`allowed_tools`).
    Subset,
}

/// The fields that the mappers add by themselves, where a profile has them.
pub(crate) mod fields {
    /// The key of the conversation.
    pub(crate) const CACHE_KEY: &str = "prompt_cache_key";
    /// The effort that [`tools_without_effort`](super::Profile::tools_without_effort) sets, Chat Completions.
    pub(crate) const EFFORT: &str = "reasoning_effort";
    /// The demand for reasoning that can be sent back, Responses.
    pub(crate) const ENCRYPTED_REASONING: &str = "include";
    /// The reasoning that is sent back, Chat Completions.
    pub(crate) const REASONING: &str = "reasoning";
    pub(crate) const REASONING_CONTENT: &str = "reasoning_content";
    pub(crate) const REASONING_DETAILS: &str = "reasoning_details";
    /// The demand for the usage of a stream, Chat Completions.
    pub(crate) const STREAM_USAGE: &str = "stream_options";
    /// The `null` of tools that are strict where the server can be, Responses.
    pub(crate) const STRICT: &str = "strict";
}

/// The lifetimes of a cache point, in seconds.
pub(crate) const LIFETIMES: [(u32, &str); 2] = [(1800, "30m"), (43200, "12h")];

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
    /// OpenAI's reasoning models. [`Profile::openai`] adds what their lines differ in.
    pub const OPENAI: Self = Self {
        audio: false,
        blank_content: BlankContent::Null,
        cache: CacheMode::Auto,
        cache_key: true,
        cache_points: true,
        call_ids: IdForm::Usual,
        custom_tools: true,
        efforts: EFFORTS,
        end_user: EndUser::SafetyIdentifier,
        files: true,
        encrypted_reasoning: true,
        hosted_tools: true,
        image_addresses: true,
        images: true,
        inline_thinking: InlineThinking::None,
        least_output: 16,
        max_effort: true,
        longest_description: 1024,
        max_tokens: MaxTokens::MaxCompletionTokens,
        message_order: MessageOrder::Free,
        output_media: true,
        parallel_calls: true,
        penalties: false,
        prefill: Prefill::AsItIs,
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
        tool_search: false,
        tools_without_effort: true,
        top_k: false,
        usage_cost: false,
        verbosity: true,
    };

    /// OpenAI's models without reasoning: `gpt-4o`, `gpt-4.1` and earlier.
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

    /// A model behind OpenAI's API of which nothing is known: nothing is added to its requests, and a client's settings
    /// are sent. Its requests have the note `unknown_model`.
    pub const OPENAI_PLAIN: Self = Self {
        cache_key: false,
        efforts: EFFORTS,
        verbosity: true,
        ..Self::OPENAI_WITHOUT_REASONING
    };

    /// Any server that claims compatibility: the capabilities that nearly all of them have.
    pub const COMPATIBLE: Self = Self {
        audio: false,
        blank_content: BlankContent::Null,
        cache: CacheMode::Auto,
        cache_key: false,
        cache_points: false,
        call_ids: IdForm::Usual,
        custom_tools: false,
        efforts: &[Effort::None, Effort::Low, Effort::Medium, Effort::High],
        end_user: EndUser::None,
        files: false,
        encrypted_reasoning: false,
        hosted_tools: false,
        image_addresses: true,
        images: true,
        inline_thinking: InlineThinking::Tagged,
        least_output: 1,
        max_effort: true,
        longest_description: usize::MAX,
        max_tokens: MaxTokens::MaxTokens,
        message_order: MessageOrder::Alternating,
        output_media: false,
        parallel_calls: false,
        penalties: true,
        prefill: Prefill::AsItIs,
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
        tool_search: false,
        tools_without_effort: false,
        top_k: false,
        usage_cost: false,
        verbosity: false,
    };

    /// DeepSeek (<https://api.deepseek.com>), whose models think by default.
    pub const DEEPSEEK: Self = Self {
        // DeepSeek maps minimal to low, and medium and extra high to high.
        efforts: &[Effort::None, Effort::Low, Effort::High, Effort::Max],
        images: false,
        image_addresses: false,
        // Its reasoning has a separate field.
        inline_thinking: InlineThinking::None,
        // Silently ignored while it thinks.
        penalties: false,
        reasoning_echo: ReasoningEcho::Always,
        sampling: false,
        seed: false,
        structured_output: StructuredOutput::JsonObject,
        thinking_switch: true,
        ..Self::COMPATIBLE
    };

    pub const LLAMA_CPP: Self = Self {
        blank_content: BlankContent::Empty,
        efforts: &[Effort::None],
        parallel_calls: true,
        top_k: true,
        ..Self::COMPATIBLE
    };

    pub const MISTRAL: Self = Self {
        call_ids: IdForm::NineAlphanumeric,
        efforts: &[],
        // Its reasoning comes in content parts.
        inline_thinking: InlineThinking::None,
        message_order: MessageOrder::AnswerAfterTools,
        parallel_calls: true,
        // It refuses an assistant message at the end without `prefix` (400, code 3230); `@ai-sdk/mistral` skips the
        // text that the reply repeats (2026).
        prefill: Prefill::RepeatedPrefix,
        // Its name for the field is `random_seed`.
        seed: false,
        stream_usage: false,
        tool_choice: ToolChoiceForms::Named,
        ..Self::COMPATIBLE
    };

    /// Ollama, which ignores unknown fields.
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

    pub const VLLM: Self = Self {
        parallel_calls: true,
        // Its page on the server's extra parameters of Chat Completions.
        prefill: Prefill::ContinueFinalMessage,
        strict_tools: true,
        tool_choice: ToolChoiceForms::Named,
        top_k: true,
        ..Self::COMPATIBLE
    };

    /// The same server if it refuses this field, one that the mappers add by themselves.
    #[must_use]
    pub fn without(self, field: &str) -> Self {
        match field {
            fields::CACHE_KEY => Self {
                cache_key: false,
                ..self
            },
            fields::ENCRYPTED_REASONING => Self {
                encrypted_reasoning: false,
                ..self
            },
            fields::EFFORT => Self {
                tools_without_effort: false,
                ..self
            },
            fields::REASONING | fields::REASONING_CONTENT | fields::REASONING_DETAILS => Self {
                reasoning_echo: ReasoningEcho::Never,
                ..self
            },
            fields::STREAM_USAGE => Self {
                stream_usage: false,
                ..self
            },
            fields::STRICT => Self {
                strict_tools: false,
                ..self
            },
            _ => self,
        }
    }

    /// The fields that the server does not take, of those that are added to clients' own requests.
    #[must_use]
    pub fn untaken_fields(&self) -> Vec<&'static str> {
        let usage = (!self.stream_usage).then_some(fields::STREAM_USAGE);
        usage.into_iter().collect()
    }

    /// Notes that the model is unknown, so that its profile is a guess.
    pub(crate) fn note(&self, notes: &mut Notes) {
        let plain = Self {
            tool_search: self.tool_search,
            ..Self::OPENAI_PLAIN
        };
        if *self == plain {
            notes.approximated(NoteEffect::Cosmetic, "unknown_model", "model");
        }
    }

    /// The levels of effort that Chat Completions accepts, from least to most.
    pub fn chat_efforts(&self) -> impl Iterator<Item = Effort> + Clone {
        let has_max = self.max_effort;
        let levels = self.efforts.iter().copied();
        levels.filter(move |level| has_max || *level != Effort::Max)
    }

    /// Whether Chat Completions accepts tools.
    #[must_use]
    pub fn has_chat_tools(&self) -> bool {
        !self.tools_without_effort || self.efforts.contains(&Effort::None)
    }
}
