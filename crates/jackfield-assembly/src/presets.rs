//! The presets of servers with an OpenAI dialect.

#[cfg(feature = "openai")]
use jackfield_provider_openai::config::OpenAiConfig;

/// The presets of one kind of server.
#[derive(Debug)]
pub(crate) struct Preset {
    /// What is spoken with it, in the words of the option `api`.
    pub(crate) api: &'static str,
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

/// The kinds whose servers have an API of their own beside those in OpenAI's form.
pub(crate) const BEDROCK: &str = "bedrock";
pub(crate) const OLLAMA: &str = "ollama";

/// The address of OpenAI: that of its crate, if this build has it.
#[cfg(feature = "openai")]
const OPENAI: &str = OpenAiConfig::BASE_URL;
#[cfg(not(feature = "openai"))]
const OPENAI: &str = "https://api.openai.com/v1";

/// The usual path of an API in OpenAI's form: that of its crate, if this build has it.
#[cfg(feature = "openai")]
const PATH: &str = OpenAiConfig::PATH;
#[cfg(not(feature = "openai"))]
const PATH: &str = "/v1";

/// The kinds of servers. Addresses, variables and pages are from the vendors' documentation (2026-11).
pub(crate) const PRESETS: &[Preset] = &[
    Preset {
        api: "responses",
        base_url: None,
        key_page: Some("https://portal.azure.com"),
        key_variable: Some("AZURE_OPENAI_API_KEY"),
        kind: "azure",
        path: "/openai/v1",
        profile: "openai",
        provider: Some("azure.ai.openai"),
    },
    Preset {
        // The address and the variable are those of `bedrock.js` in `openai` 6.49.0 (2026-11).
        api: "responses",
        base_url: None,
        key_page: Some("https://console.aws.amazon.com/bedrock"),
        key_variable: Some("AWS_BEARER_TOKEN_BEDROCK"),
        kind: BEDROCK,
        path: "/openai/v1",
        profile: "openai",
        provider: Some("aws.bedrock"),
    },
    Preset {
        api: "chat",
        base_url: Some("https://api.cerebras.ai/v1"),
        key_page: Some("https://cloud.cerebras.ai"),
        key_variable: Some("CEREBRAS_API_KEY"),
        kind: "cerebras",
        path: PATH,
        profile: "cerebras",
        provider: Some("cerebras"),
    },
    Preset {
        api: "chat",
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
        api: "chat",
        base_url: Some("https://api.fireworks.ai/inference/v1"),
        key_page: Some("https://app.fireworks.ai/settings/users/api-keys"),
        key_variable: Some("FIREWORKS_API_KEY"),
        kind: "fireworks",
        path: PATH,
        profile: "fireworks",
        provider: Some("fireworks"),
    },
    Preset {
        api: "chat",
        base_url: Some("https://api.groq.com/openai/v1"),
        key_page: Some("https://console.groq.com/keys"),
        key_variable: Some("GROQ_API_KEY"),
        kind: "groq",
        path: PATH,
        profile: "groq",
        provider: Some("groq"),
    },
    Preset {
        api: "chat",
        base_url: Some("https://router.huggingface.co/v1"),
        key_page: Some("https://huggingface.co/settings/tokens"),
        key_variable: Some("HF_TOKEN"),
        kind: "huggingface",
        path: PATH,
        profile: "compatible",
        provider: Some("huggingface"),
    },
    Preset {
        api: "chat",
        base_url: Some("http://127.0.0.1:8080"),
        key_page: None,
        key_variable: None,
        kind: "llama-cpp",
        path: PATH,
        profile: "llama-cpp",
        provider: Some("llama_cpp"),
    },
    Preset {
        api: "chat",
        base_url: Some("http://127.0.0.1:1234"),
        key_page: None,
        key_variable: None,
        kind: "lm-studio",
        path: PATH,
        profile: "lm-studio",
        provider: Some("lm_studio"),
    },
    Preset {
        api: "chat",
        base_url: Some("https://api.mistral.ai/v1"),
        key_page: Some("https://console.mistral.ai/api-keys"),
        key_variable: Some("MISTRAL_API_KEY"),
        kind: "mistral",
        path: PATH,
        profile: "mistral",
        provider: Some("mistral_ai"),
    },
    Preset {
        api: "chat",
        base_url: Some("http://127.0.0.1:11434"),
        key_page: None,
        key_variable: None,
        kind: OLLAMA,
        path: PATH,
        profile: "ollama",
        provider: Some("ollama"),
    },
    Preset {
        api: "responses",
        base_url: Some(OPENAI),
        key_page: Some("https://platform.openai.com/api-keys"),
        key_variable: Some("OPENAI_API_KEY"),
        kind: "openai",
        path: PATH,
        profile: "openai",
        provider: Some("openai"),
    },
    Preset {
        api: "chat",
        base_url: None,
        key_page: None,
        key_variable: None,
        kind: "openai-compatible",
        path: PATH,
        profile: "compatible",
        provider: None,
    },
    Preset {
        api: "chat",
        base_url: Some("https://openrouter.ai/api/v1"),
        key_page: Some("https://openrouter.ai/settings/keys"),
        key_variable: Some("OPENROUTER_API_KEY"),
        kind: "openrouter",
        path: PATH,
        profile: "openrouter",
        provider: Some("openrouter"),
    },
    Preset {
        api: "chat",
        base_url: Some("http://127.0.0.1:30000"),
        key_page: None,
        key_variable: None,
        kind: "sglang",
        path: PATH,
        profile: "sglang",
        provider: Some("sglang"),
    },
    Preset {
        api: "chat",
        base_url: Some("https://api.together.ai/v1"),
        key_page: Some("https://api.together.ai/settings/api-keys"),
        key_variable: Some("TOGETHER_API_KEY"),
        kind: "together",
        path: PATH,
        profile: "together",
        provider: Some("together_ai"),
    },
    Preset {
        api: "chat",
        base_url: Some("http://127.0.0.1:8000"),
        key_page: None,
        key_variable: None,
        kind: "vllm",
        path: PATH,
        profile: "vllm",
        provider: Some("vllm"),
    },
    Preset {
        api: "chat",
        base_url: Some("https://api.x.ai/v1"),
        key_page: Some("https://console.x.ai"),
        key_variable: Some("XAI_API_KEY"),
        kind: "xai",
        path: PATH,
        profile: "xai",
        provider: Some("x_ai"),
    },
];
