//! The factories of providers with an OpenAI dialect: OpenAI itself, and compatible servers.

use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::upstream::Upstream;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, Endpoint, OpenAiConfig};
use jackfield_provider_openai::profile::Profile;
use jackfield_provider_openai::upstream::upstream;

use crate::quirks;
use crate::registry::{ProviderFactory, ProviderSettings};
use jackfield_engine::near::did_you_mean;

/// The presets of one kind of server.
#[derive(Debug)]
pub(crate) struct Preset {
    api: Api,
    /// Its address; `None` if it has no common one.
    pub(crate) base_url: Option<&'static str>,
    key_page: Option<&'static str>,
    /// The environment variable of its key; `None` if it needs no key.
    key_variable: Option<&'static str>,
    pub(crate) kind: &'static str,
    /// The default path of its address.
    path: &'static str,
    profile: &'static str,
    /// The value of `gen_ai.provider.name`; `None` for the provider's own name.
    provider: Option<&'static str>,
}

/// Builds models behind servers of one kind.
pub(crate) struct OpenAiFactory(pub(crate) &'static Preset);

impl ProviderFactory for OpenAiFactory {
    fn key_variable(&self) -> Option<&str> {
        self.0.key_variable
    }

    fn key_page(&self) -> Option<&str> {
        self.0.key_page
    }

    fn options(&self) -> &[&str] {
        &[
            "api",
            "organization",
            "path",
            "profile",
            "project",
            "quirks",
            "tools",
        ]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let config = configure(self.0, &settings)?;
        Ok(Arc::new(OpenAi::new(config, settings.transport)?))
    }

    fn upstream(&self, settings: &ProviderSettings) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        let config = configure(self.0, settings)?;
        let upstream = upstream(&config, settings.transport.clone())?;
        Ok(Some(Arc::new(upstream)))
    }
}

/// The configuration of a server of this kind with these settings.
fn configure(preset: &Preset, settings: &ProviderSettings) -> Result<OpenAiConfig, BoxError> {
    let text = |name: &str| match settings.options.get(name) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!("{name} is a text in quotes")),
        },
    };
    let base_url = settings.base_url.as_deref().or(preset.base_url);
    let base_url = base_url.ok_or_else(|| {
        format!(
            "base_url is not set: the kind `{}` has no address of its own",
            preset.kind
        )
    })?;
    let path = text("path")?;
    let mut config = OpenAiConfig::with_path(base_url, path.as_deref().unwrap_or(preset.path))?;
    config.api = match text("api")?.as_deref() {
        None => preset.api,
        Some("chat") => Api::ChatCompletions,
        Some("responses") => Api::Responses,
        Some(_) => return Err("api is \"responses\" or \"chat\"".into()),
    };
    config.key.clone_from(&settings.key);
    config.missing_key.clone_from(&settings.missing_key);
    config.organization = text("organization")?;
    config.project = text("project")?;
    let profile = profile(text("profile")?.as_deref().unwrap_or(preset.profile))?;
    config.endpoints = profile.endpoints.to_vec();
    config.profile = ByModel::new(profile.of);
    if let Some(table) = settings.options.get("quirks") {
        config.profile = quirks::over(config.profile, table)?;
    }
    config.provider = match preset.provider {
        Some(name) => name.into(),
        None => settings.name.to_string().into(),
    };
    if let Some(tools) = settings.options.get("tools") {
        config.tools = tools.as_bool().ok_or("tools is true or false")?;
    }
    Ok(config)
}

/// The profile of such servers.
fn profile(name: &str) -> Result<&'static ServerProfile, String> {
    let found = PROFILES.iter().find(|known| known.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        let hint = did_you_mean(name, &names);
        format!("there is no profile `{name}`{hint}")
    })
}

/// What servers with this profile accept.
struct ServerProfile {
    /// Their endpoints, beside that of the chosen API.
    endpoints: &'static [Endpoint],
    name: &'static str,
    /// The profile of a model, by its name.
    of: fn(&str) -> Profile,
}

/// The profiles. Which endpoints beside chat a compatible server has was not checked against its documentation.
const PROFILES: &[ServerProfile] = &[
    ServerProfile {
        endpoints: &[],
        name: "compatible",
        of: |_| Profile::COMPATIBLE,
    },
    ServerProfile {
        endpoints: &[Endpoint::ChatCompletions],
        name: "deepseek",
        of: |_| Profile::DEEPSEEK,
    },
    ServerProfile {
        endpoints: Endpoint::ALL,
        name: "llama-cpp",
        of: |_| Profile::LLAMA_CPP,
    },
    ServerProfile {
        endpoints: &[Endpoint::ChatCompletions, Endpoint::Embeddings],
        name: "mistral",
        of: |_| Profile::MISTRAL,
    },
    ServerProfile {
        endpoints: Endpoint::ALL,
        name: "ollama",
        of: |_| Profile::OLLAMA,
    },
    ServerProfile {
        endpoints: Endpoint::ALL,
        name: "openai",
        of: Profile::openai,
    },
    ServerProfile {
        endpoints: Endpoint::ALL,
        name: "vllm",
        of: |_| Profile::VLLM,
    },
];

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
