//! LiteLLM's names of providers, and ours.

/// A provider of LiteLLM that Jackfield has, too.
pub(super) struct Vendor {
    /// The prefix of its models in LiteLLM.
    pub(super) prefix: &'static str,
    /// The `kind` of the provider in Jackfield.
    pub(super) kind: &'static str,
    /// The environment variable that LiteLLM reads for its key; empty if it needs none.
    pub(super) key: &'static str,
}

/// A kind of provider in Jackfield.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its address, if it has one of its own.
    pub(super) address: Option<&'static str>,
    /// The environment variable of its key; empty if it needs none.
    pub(super) key: &'static str,
}

pub(super) fn vendor(prefix: &str) -> Option<&'static Vendor> {
    VENDORS.iter().find(|vendor| vendor.prefix == prefix)
}

pub(super) fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// The prefix that LiteLLM supposes for a model without one.
pub(super) fn supposed_prefix(model: &str) -> Option<&'static str> {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|one| model.starts_with(one));
    if begins(&["claude-"]) {
        Some("anthropic")
    } else if begins(&["gemini-"]) {
        Some("vertex_ai")
    } else if begins(&["chatgpt-", "gpt-", "o1", "o3", "o4", "text-embedding-"]) {
        Some("openai")
    } else {
        None
    }
}

/// Why models with this prefix cannot be used, and what to do.
pub(super) fn refusal(prefix: &str) -> String {
    if ["bedrock", "bedrock_converse"].contains(&prefix) {
        "write a provider of the kind `bedrock` with your `region`, and name its models as `bedrock/MODEL`; its keys are \
         in AWS_BEARER_TOKEN_BEDROCK, or in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            .to_owned()
    } else if ["vertex_ai", "vertex_ai_beta"].contains(&prefix) {
        "write a provider of the kind `gemini-vertex` with your `project` and `location`, and name its Gemini models as \
         `gemini-vertex/MODEL`; its credentials are those of `gcloud`, or in GOOGLE_APPLICATION_CREDENTIALS"
            .to_owned()
    } else {
        format!(
            "Jackfield has no provider like LiteLLM's `{prefix}`; if its server speaks Chat Completions, give it as \
             `openai/…` with `api_base`"
        )
    }
}

/// Whether this text stands in configurations where a server wants no key.
pub(super) fn stands_for_no_key(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    NO_KEYS.contains(&text.as_str())
}

const fn row(prefix: &'static str, kind: &'static str, key: &'static str) -> Vendor {
    Vendor { prefix, kind, key }
}

const VENDORS: &[Vendor] = &[
    row("anthropic", "claude", "ANTHROPIC_API_KEY"),
    row("azure", "azure", "AZURE_API_KEY"),
    row("cerebras", "cerebras", "CEREBRAS_API_KEY"),
    row("custom_openai", "openai-compatible", ""),
    row("deepseek", "deepseek", "DEEPSEEK_API_KEY"),
    row("fireworks_ai", "fireworks", "FIREWORKS_AI_API_KEY"),
    row("gemini", "gemini", "GEMINI_API_KEY"),
    row("groq", "groq", "GROQ_API_KEY"),
    row("hosted_vllm", "vllm", ""),
    row("huggingface", "huggingface", "HUGGINGFACE_API_KEY"),
    row(
        "litellm_proxy",
        "openai-compatible",
        "LITELLM_PROXY_API_KEY",
    ),
    row("llamafile", "llama-cpp", ""),
    row("lm_studio", "lm-studio", ""),
    row("mistral", "mistral", "MISTRAL_API_KEY"),
    row("ollama", "ollama", ""),
    row("ollama_chat", "ollama", ""),
    row("openai", "openai", "OPENAI_API_KEY"),
    row("openai_like", "openai-compatible", ""),
    row("openrouter", "openrouter", "OPENROUTER_API_KEY"),
    row("together_ai", "together", "TOGETHERAI_API_KEY"),
    row("xai", "xai", "XAI_API_KEY"),
];

const fn of_kind(name: &'static str, address: Option<&'static str>, key: &'static str) -> Kind {
    Kind { name, address, key }
}

/// As in docs/configuration.md; a test of the command line holds this table to the providers that there are.
const KINDS: &[Kind] = &[
    of_kind("azure", None, "AZURE_OPENAI_API_KEY"),
    of_kind(
        "cerebras",
        Some("https://api.cerebras.ai/v1"),
        "CEREBRAS_API_KEY",
    ),
    of_kind(
        "claude",
        Some("https://api.anthropic.com"),
        "ANTHROPIC_API_KEY",
    ),
    of_kind(
        "deepseek",
        Some("https://api.deepseek.com"),
        "DEEPSEEK_API_KEY",
    ),
    of_kind(
        "fireworks",
        Some("https://api.fireworks.ai/inference/v1"),
        "FIREWORKS_API_KEY",
    ),
    of_kind(
        "gemini",
        Some("https://generativelanguage.googleapis.com"),
        "GEMINI_API_KEY",
    ),
    of_kind(
        "groq",
        Some("https://api.groq.com/openai/v1"),
        "GROQ_API_KEY",
    ),
    of_kind(
        "huggingface",
        Some("https://router.huggingface.co/v1"),
        "HF_TOKEN",
    ),
    of_kind("llama-cpp", Some("http://127.0.0.1:8080/v1"), ""),
    of_kind("lm-studio", Some("http://127.0.0.1:1234/v1"), ""),
    of_kind(
        "mistral",
        Some("https://api.mistral.ai/v1"),
        "MISTRAL_API_KEY",
    ),
    of_kind("ollama", Some("http://127.0.0.1:11434/v1"), ""),
    of_kind(
        "openai",
        Some("https://api.openai.com/v1"),
        "OPENAI_API_KEY",
    ),
    of_kind("openai-compatible", None, ""),
    of_kind(
        "openrouter",
        Some("https://openrouter.ai/api/v1"),
        "OPENROUTER_API_KEY",
    ),
    of_kind(
        "together",
        Some("https://api.together.ai/v1"),
        "TOGETHER_API_KEY",
    ),
    of_kind("vllm", Some("http://127.0.0.1:8000/v1"), ""),
    of_kind("xai", Some("https://api.x.ai/v1"), "XAI_API_KEY"),
];

const NO_KEYS: &[&str] = &[
    "",
    "anything",
    "dummy",
    "empty",
    "fake",
    "fake-key",
    "no-key",
    "no_key",
    "none",
    "not-needed",
    "not_needed",
    "null",
];
