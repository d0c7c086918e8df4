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
    server("azure")
        .in_responses("/openai/v1", "azure.ai.openai")
        .with_key("AZURE_OPENAI_API_KEY", "https://portal.azure.com"),
    // The address and the variable are those of `bedrock.js` in `openai` 6.49.0 (2026-11).
    server(BEDROCK)
        .in_responses("/openai/v1", "aws.bedrock")
        .with_key(
            "AWS_BEARER_TOKEN_BEDROCK",
            "https://console.aws.amazon.com/bedrock",
        ),
    server("cerebras")
        .at("https://api.cerebras.ai/v1")
        .with_key("CEREBRAS_API_KEY", "https://cloud.cerebras.ai"),
    // Its documentation no longer includes `/v1`.
    Preset {
        path: "",
        ..server("deepseek")
            .at("https://api.deepseek.com")
            .with_key("DEEPSEEK_API_KEY", "https://platform.deepseek.com/api_keys")
    },
    server("fireworks")
        .at("https://api.fireworks.ai/inference/v1")
        .with_key(
            "FIREWORKS_API_KEY",
            "https://app.fireworks.ai/settings/users/api-keys",
        ),
    server("groq")
        .at("https://api.groq.com/openai/v1")
        .with_key("GROQ_API_KEY", "https://console.groq.com/keys"),
    Preset {
        profile: "compatible",
        ..server("huggingface")
            .at("https://router.huggingface.co/v1")
            .with_key("HF_TOKEN", "https://huggingface.co/settings/tokens")
    },
    server("llama-cpp")
        .at("http://127.0.0.1:8080")
        .called("llama_cpp"),
    server("lm-studio")
        .at("http://127.0.0.1:1234")
        .called("lm_studio"),
    server("mistral")
        .at("https://api.mistral.ai/v1")
        .called("mistral_ai")
        .with_key("MISTRAL_API_KEY", "https://console.mistral.ai/api-keys"),
    server(OLLAMA).at("http://127.0.0.1:11434"),
    server("openai")
        .in_responses(PATH, "openai")
        .at(OPENAI)
        .with_key("OPENAI_API_KEY", "https://platform.openai.com/api-keys"),
    Preset {
        profile: "compatible",
        provider: None,
        ..server("openai-compatible")
    },
    server("openrouter")
        .at("https://openrouter.ai/api/v1")
        .with_key("OPENROUTER_API_KEY", "https://openrouter.ai/settings/keys"),
    server("sglang").at("http://127.0.0.1:30000"),
    server("together")
        .at("https://api.together.ai/v1")
        .called("together_ai")
        .with_key(
            "TOGETHER_API_KEY",
            "https://api.together.ai/settings/api-keys",
        ),
    server("vllm").at("http://127.0.0.1:8000"),
    server("xai")
        .at("https://api.x.ai/v1")
        .called("x_ai")
        .with_key("XAI_API_KEY", "https://console.x.ai"),
];

/// A server with Chat Completions, whose profile and provider have the name of its kind.
const fn server(kind: &'static str) -> Preset {
    Preset {
        api: "chat",
        base_url: None,
        key_page: None,
        key_variable: None,
        kind,
        path: PATH,
        profile: kind,
        provider: Some(kind),
    }
}

impl Preset {
    const fn at(mut self, base_url: &'static str) -> Self {
        self.base_url = Some(base_url);
        self
    }

    const fn called(mut self, provider: &'static str) -> Self {
        self.provider = Some(provider);
        self
    }

    /// With Responses, and OpenAI's profile.
    const fn in_responses(mut self, path: &'static str, provider: &'static str) -> Self {
        self.api = "responses";
        self.path = path;
        self.profile = "openai";
        self.called(provider)
    }

    const fn with_key(mut self, variable: &'static str, page: &'static str) -> Self {
        (self.key_variable, self.key_page) = (Some(variable), Some(page));
        self
    }
}
