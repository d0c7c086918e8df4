//! The error messages of servers: one table per kind of server, in which each row has its source.
//!
//! Servers that are compatible with a vendor have no codes for most errors, and one server may speak several
//! dialects. So their messages are interpreted here, for all dialects.

use jackfield_domain::failure::ModelFailureKind;

/// The size of a request and the limit, in tokens, as far as an error contains them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TokenCounts {
    /// The limit in tokens.
    pub limit: Option<u64>,
    /// The size of the request in tokens.
    pub requested: Option<u64>,
}

/// The error messages of one kind of server.
#[derive(Clone, Copy, Debug)]
pub struct ServerPatterns {
    /// The server's name.
    pub name: &'static str,
    /// Its messages.
    pub patterns: &'static [ErrorPattern],
}

/// One error message of a server.
#[derive(Clone, Copy, Debug)]
pub struct ErrorPattern {
    /// Its meaning.
    pub meaning: ErrorMeaning,
    /// The text, as a part of a message. `{limit}`, `{requested}` and `{}` stand for numbers. Case and white space
    /// are ignored.
    pub pattern: &'static str,
    /// The source of the text, and when it was read.
    pub source: &'static str,
}

/// The meaning of a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorMeaning {
    /// The model, or its server, takes no tools; with a remedy that the message does not mention.
    NoTools(&'static str),
    /// The request exceeds the model's context.
    TooLong,
    /// There is a remedy that the message does not mention.
    Remedy(&'static str),
}

/// The sizes in a message that says that the request exceeds the model's context.
#[must_use]
pub fn too_long(message: &str) -> Option<TokenCounts> {
    let message = normalize(message);
    let mut patterns = all_patterns().filter(|words| words.meaning == ErrorMeaning::TooLong);
    patterns.find_map(|words| match_pattern(words.pattern, &message))
}

/// The kind of a failure with this message: `ContextTooLong` or `ToolsUnsupported` if the message says so. Servers send
/// it with any status; messages about an account's token limit are similar, and name the limit.
#[must_use]
pub fn kind(known: ModelFailureKind, message: &str) -> ModelFailureKind {
    match known {
        ModelFailureKind::BudgetExhausted
        | ModelFailureKind::BudgetUnavailable
        | ModelFailureKind::ContentFilter
        | ModelFailureKind::Forbidden
        | ModelFailureKind::RateLimited
        | ModelFailureKind::Unauthenticated
        | ModelFailureKind::UnusableReply => known,
        ModelFailureKind::ContextTooLong { .. }
        | ModelFailureKind::Interrupted
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ModelNotFound
        | ModelFailureKind::Overloaded
        | ModelFailureKind::ProtocolViolation
        | ModelFailureKind::ServerError
        | ModelFailureKind::Timeout
        | ModelFailureKind::TooLarge
        | ModelFailureKind::Transport
        | ModelFailureKind::ToolsUnsupported
        | ModelFailureKind::Unsupported => match too_long(message) {
            Some(TokenCounts { limit, requested }) => {
                ModelFailureKind::ContextTooLong { limit, requested }
            }
            None if refuses_tools(message) => ModelFailureKind::ToolsUnsupported,
            None => known,
        },
    }
}

/// Whether a message says that the model, or its server, takes no tools.
#[must_use]
pub fn refuses_tools(message: &str) -> bool {
    let message = normalize(message);
    let mut patterns = all_patterns();
    patterns.any(|words| {
        matches!(words.meaning, ErrorMeaning::NoTools(_))
            && match_pattern(words.pattern, &message).is_some()
    })
}

/// Advice about an error whose message has none.
#[must_use]
pub fn remedy(message: &str) -> Option<&'static str> {
    let message = normalize(message);
    all_patterns().find_map(|words| match words.meaning {
        ErrorMeaning::NoTools(way) | ErrorMeaning::Remedy(way) => {
            match_pattern(words.pattern, &message).map(|_| way)
        }
        ErrorMeaning::TooLong => None,
    })
}

fn all_patterns() -> impl Iterator<Item = &'static ErrorPattern> {
    SERVERS.iter().flat_map(|server| server.patterns)
}

/// A text without case and white space, cut to the length that is examined.
fn normalize(text: &str) -> String {
    let counts = text.chars().filter(|c| !c.is_whitespace());
    let counts = counts.take(MAX_LENGTH);
    counts.map(|c| c.to_ascii_lowercase()).collect()
}

/// The numbers in a message that contains these words.
fn match_pattern(pattern: &str, message: &str) -> Option<TokenCounts> {
    let pattern = normalize(pattern);
    let (first, holes) = pattern.split_once('{').unwrap_or((&pattern, ""));
    let mut places = message.match_indices(first);
    places.find_map(|(at, _)| match_placeholders(holes, message.get(at + first.len()..)?))
}

/// The numbers of a message that continues with these placeholders, and the words after each.
fn match_placeholders(holes: &str, mut message: &str) -> Option<TokenCounts> {
    let mut counts = TokenCounts::default();
    for hole in holes.split('{').filter(|hole| !hole.is_empty()) {
        let (name, words) = hole.split_once('}')?;
        let end = message.find(|c: char| !(c.is_ascii_digit() || c == ','));
        let (digits, rest) = message.split_at_checked(end.unwrap_or(message.len()))?;
        let number: u64 = digits.replace(',', "").parse().ok()?;
        match name {
            "limit" => counts.limit = Some(number),
            "requested" => counts.requested = Some(number),
            _ => {}
        }
        message = rest.strip_prefix(words)?;
    }
    Some(counts)
}

const fn too_long_pattern(pattern: &'static str, source: &'static str) -> ErrorPattern {
    ErrorPattern {
        meaning: ErrorMeaning::TooLong,
        pattern,
        source,
    }
}

const fn no_tools_pattern(
    pattern: &'static str,
    remedy: &'static str,
    source: &'static str,
) -> ErrorPattern {
    ErrorPattern {
        meaning: ErrorMeaning::NoTools(remedy),
        pattern,
        source,
    }
}

const fn remedy_pattern(
    pattern: &'static str,
    remedy: &'static str,
    source: &'static str,
) -> ErrorPattern {
    ErrorPattern {
        meaning: ErrorMeaning::Remedy(remedy),
        pattern,
        source,
    }
}

/// How many characters of a message are examined.
const MAX_LENGTH: usize = 4000;

/// Clients that collect such messages.
const PI: &str =
    "github.com/earendil-works/pi packages/ai/src/utils/overflow.ts at 17c253c, 2026-11";
const OPENCODE: &str =
    "github.com/anomalyco/opencode packages/ai/src/provider-error.ts at 117c0bf, 2026-11";

/// All tables. If two rows match a message, the one with more numbers comes first.
pub const SERVERS: &[ServerPatterns] = &[
    ServerPatterns {
        name: "Claude",
        patterns: &[
            too_long_pattern(
                "prompt is too long: {requested} tokens > {limit} maximum",
                "Claude API documentation, context windows, 2026-11",
            ),
            too_long_pattern(
                "input length and `max_tokens` exceed context limit: {requested} + {} > {limit}",
                "github.com/continuedev/continue issue 6080 (the vendor's answer), 2025-06",
            ),
        ],
    },
    ServerPatterns {
        name: "DeepSeek",
        patterns: &[remedy_pattern(
            "must be passed back",
            "Use the profile of DeepSeek, which gives reasoning back.",
            "DeepSeek API documentation, thinking mode, 2026-11",
        )],
    },
    ServerPatterns {
        name: "DashScope",
        patterns: &[too_long_pattern(
            "Range of input length should be [1, {limit}]",
            "github.com/anomalyco/opencode pull request 45834, 2026-08",
        )],
    },
    ServerPatterns {
        name: "Gemini",
        patterns: &[too_long_pattern(
            "input token count ({requested}) exceeds the maximum number of tokens allowed ({limit})",
            PI,
        )],
    },
    ServerPatterns {
        name: "Kimi",
        patterns: &[too_long_pattern(
            "exceeded model token limit: {limit} (requested: {requested})",
            PI,
        )],
    },
    ServerPatterns {
        name: "llama.cpp",
        patterns: &[
            too_long_pattern(
                "request ({requested} tokens) exceeds the available context size ({limit} tokens)",
                "github.com/ggml-org/llama.cpp tools/server/server-context.cpp, 2026-11",
            ),
            too_long_pattern("exceeds the available context size", PI),
            no_tools_pattern(
                "tools param requires --jinja flag",
                "Start llama-server with --jinja, and with a template that knows tools.",
                "github.com/containers/ramalama issue 988 (the server's answer), 2025-03",
            ),
            remedy_pattern(
                "--jinja",
                "Start llama-server with --jinja, and with a template that knows tools.",
                "github.com/ggml-org/llama.cpp tools/server, 2026-11",
            ),
        ],
    },
    ServerPatterns {
        name: "LM Studio",
        patterns: &[
            too_long_pattern(
                "keep the first {requested} tokens when context the overflows. However, the model is loaded with \
                 context length of only {limit} tokens",
                "github.com/lmstudio-ai/lmstudio-bug-tracker issue 546, 2025-03",
            ),
            too_long_pattern(
                "keep the first {requested} tokens when context overflows. However, the model is loaded with \
                 context length of only {limit} tokens",
                "github.com/CodebuffAI/freebuff issue 341 (the server's log), 2025-10",
            ),
            too_long_pattern(
                "is greater than the context length (n_keep: {requested} >= n_ctx: {limit})",
                "github.com/Gitlawb/openclaude issue 353 (the server's answer), 2026-04",
            ),
            too_long_pattern(
                "to keep from the initial prompt is greater than the context length",
                PI,
            ),
        ],
    },
    ServerPatterns {
        name: "MiniMax",
        patterns: &[too_long_pattern("context window exceeds limit", PI)],
    },
    ServerPatterns {
        name: "Mistral",
        patterns: &[too_long_pattern(
            "too large for model with {limit} maximum context length",
            PI,
        )],
    },
    ServerPatterns {
        name: "Ollama",
        patterns: &[
            too_long_pattern("prompt too long; exceeded max context length", PI),
            too_long_pattern(
                "the input length exceeds the context length",
                "github.com/ollama/ollama server/routes.go, 2026-08",
            ),
            too_long_pattern(
                "the prompt is longer than the context length currently available to the model",
                "github.com/ollama/ollama llm/llama_server.go, 2026-08",
            ),
            remedy_pattern(
                "does not support thinking",
                "Leave effort and thinking unset for this model.",
                "github.com/ollama/ollama server/routes.go, 2026-08",
            ),
            no_tools_pattern(
                "does not support tools",
                "Choose a model whose template knows tools, or send none.",
                "github.com/ollama/ollama server/routes.go, 2026-08",
            ),
        ],
    },
    ServerPatterns {
        name: "OpenAI",
        patterns: &[
            too_long_pattern(
                "maximum context length is {limit} tokens. However, your messages resulted in {requested} tokens",
                "OpenAI error of Chat Completions, as in github.com/webtimemachine/wtm2 issue 579, 2024-11",
            ),
            too_long_pattern(
                "maximum context length is {limit} tokens. However, your input resulted in {requested} tokens",
                "OpenAI error of Responses, 2026-11",
            ),
            too_long_pattern(
                "maximum context length is {limit} tokens, however you requested {requested} tokens",
                "github.com/OpenRouterTeam/openrouter-examples issue 10 (the vendor's answer), 2024-07",
            ),
            too_long_pattern("exceeds the context window of this model", PI),
            remedy_pattern(
                "Function tools with reasoning_effort",
                "Use the Responses dialect for this model, or set its effort to none.",
                "OpenAI error of Chat Completions, 2026-11",
            ),
        ],
    },
    ServerPatterns {
        name: "OpenRouter",
        patterns: &[
            too_long_pattern(
                "maximum context length is {limit} tokens. However, you requested about {requested} tokens",
                "github.com/refly-ai/refly issue 1177 (the server's answer), 2025-07",
            ),
            no_tools_pattern(
                "No endpoints found that support tool use",
                "Choose a model that takes tools, or send none.",
                "github.com/Kilo-Org/kilocode issue 9006 (the server's answer), 2026-04",
            ),
        ],
    },
    ServerPatterns {
        name: "Poolside",
        patterns: &[too_long_pattern(
            "Input length {requested} exceeds the maximum allowed input length of {limit} tokens",
            "github.com/earendil-works/pi issue 4943 (the server's answer), 2026-05",
        )],
    },
    ServerPatterns {
        name: "SGLang, and Together with it",
        patterns: &[
            too_long_pattern(
                "The input ({requested} tokens) is longer than the model's context length ({limit} tokens)",
                PI,
            ),
            too_long_pattern(
                "Requested token count exceeds the model's maximum context length of {limit} tokens",
                PI,
            ),
            too_long_pattern(
                "Input length ({requested}) exceeds model's maximum context length ({limit})",
                PI,
            ),
        ],
    },
    ServerPatterns {
        name: "Text Generation Inference, and Together with it",
        patterns: &[too_long_pattern(
            "`inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {requested} `inputs` tokens",
            "github.com/BerriAI/litellm issue 4934 (the server's answer), 2024-07",
        )],
    },
    ServerPatterns {
        name: "vLLM",
        patterns: &[
            too_long_pattern(
                "maximum context length is {limit} tokens. However, you requested {} output tokens and your prompt \
                 contains at least {} input tokens, for a total of at least {requested} tokens",
                "github.com/vllm-project/vllm pull request 36197, 2026-03",
            ),
            too_long_pattern(
                "maximum context length is {limit} tokens. However, you requested {} output tokens and your prompt \
                 contains",
                "github.com/vllm-project/vllm pull request 36197, 2026-03",
            ),
            too_long_pattern(
                "You passed {requested} input tokens and requested {} output tokens. However, the model's context \
                 length is only {limit} tokens",
                "github.com/vllm-project/vllm vllm/renderers/params.py at 017638d, 2026",
            ),
            too_long_pattern(
                "input characters and requested {} output tokens. However, the model's context length is only \
                 {limit} tokens",
                "github.com/vllm-project/vllm vllm/renderers/params.py at 017638d, 2026",
            ),
            too_long_pattern(
                "maximum context length is {limit} tokens. However, you requested {requested} tokens",
                "github.com/vllm-project/vllm issue 20409, 2025-07",
            ),
            too_long_pattern(
                "(length {requested}) is longer than the maximum model length of {limit}",
                "vLLM error of its engine for a prompt, 2026-11",
            ),
            no_tools_pattern(
                "--enable-auto-tool-choice",
                "Start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model.",
                "vLLM documentation, tool calling, 2026-11",
            ),
        ],
    },
    ServerPatterns {
        name: "xAI",
        patterns: &[too_long_pattern(
            "maximum prompt length is {limit} but the request contains {requested} tokens",
            PI,
        )],
    },
    ServerPatterns {
        name: "others",
        patterns: &[
            too_long_pattern(
                "Prompt has {requested} tokens, but the configured context size is {limit} tokens",
                OPENCODE,
            ),
            too_long_pattern("tokens in request more than max tokens allowed", OPENCODE),
        ],
    },
];
