//! The presets of servers with an OpenAI dialect.

use jackfield_provider_openai::config::{Api, OpenAiConfig};

/// The presets of one kind of server.
#[derive(Debug)]
pub(crate) struct Preset {
    pub(crate) api: Api,
    /// Its address; `None` if it has no common one.
    pub(crate) base_url: Option<&'static str>,
    pub(crate) key_page: Option<&'static str>,
    /// The environment variable of its key; `None` if it needs no key.
    pub(crate) key_variable: Option<&'static str>,
    pub(crate) kind: &'static str,
    /// The default path of its address.
    pub(crate) path: &'static str,
    pub(crate) profile: &'static str,
    /// The value of `gen_ai.provider.name`; `None` for the provider's own name.
    pub(crate) provider: Option<&'static str>,
}

/// The kinds of servers. Addresses, variables and pages are from the vendors' documentation (2026-11).
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        api: Api::ChatCompletions,
        // Its documentation no longer includes `/v1`.
        base_url: Some("https://api.deepseek.com"),
        key_page: Some("https://platform.deepseek.com/api_keys"),
        key_variable: Some("DEEPSEEK_API_KEY"),
        kind: "deepseek",
        path: "",
        profile: "deepseek",
        provider: Some("deepseek"),
    },
    Preset {
        api: Api::ChatCompletions,
        base_url: Some("http://127.0.0.1:8080"),
        key_page: None,
        key_variable: None,
        kind: "llama-cpp",
        path: OpenAiConfig::PATH,
        profile: "llama-cpp",
        provider: Some("llama_cpp"),
    },
    Preset {
        api: Api::ChatCompletions,
        base_url: Some("https://api.mistral.ai/v1"),
        key_page: Some("https://console.mistral.ai/api-keys"),
        key_variable: Some("MISTRAL_API_KEY"),
        kind: "mistral",
        path: OpenAiConfig::PATH,
        profile: "mistral",
        provider: Some("mistral_ai"),
    },
    Preset {
        api: Api::ChatCompletions,
        base_url: Some("http://127.0.0.1:11434"),
        key_page: None,
        key_variable: None,
        kind: "ollama",
        path: OpenAiConfig::PATH,
        profile: "ollama",
        provider: Some("ollama"),
    },
    Preset {
        api: Api::Responses,
        base_url: Some(OpenAiConfig::BASE_URL),
        key_page: Some("https://platform.openai.com/api-keys"),
        key_variable: Some("OPENAI_API_KEY"),
        kind: "openai",
        path: OpenAiConfig::PATH,
        profile: "openai",
        provider: Some("openai"),
    },
    Preset {
        api: Api::ChatCompletions,
        base_url: None,
        key_page: None,
        key_variable: None,
        kind: "openai-compatible",
        path: OpenAiConfig::PATH,
        profile: "compatible",
        provider: None,
    },
    Preset {
        api: Api::ChatCompletions,
        base_url: Some("http://127.0.0.1:8000"),
        key_page: None,
        key_variable: None,
        kind: "vllm",
        path: OpenAiConfig::PATH,
        profile: "vllm",
        provider: Some("vllm"),
    },
];
