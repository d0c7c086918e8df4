//! Models behind scripted servers, as the engine has them.

use std::ops::Deref;
use std::sync::Arc;

use jackfield_domain::ids::{SessionId, ToolboxId};
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::Settings;
use jackfield_domain::setup::Opening;
use jackfield_domain::tool::Safety;
use jackfield_engine::TurnReport;
use jackfield_engine::{Engine, SendMessage, TurnOptions};
use jackfield_ports::chat_model::ChatModel;
use jackfield_provider_bedrock::client::Bedrock;
use jackfield_provider_bedrock::config::BedrockConfig;
use jackfield_provider_bedrock::credentials::Credentials;
use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::ClaudeConfig;
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_ollama::client::Ollama;
use jackfield_provider_ollama::config::OllamaConfig;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, OpenAiConfig, Profile};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedToolbox};
use jackfield_testservers::bedrock::ScriptedBedrock;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::gemini::ScriptedGemini;
use jackfield_testservers::ollama::ScriptedOllama;
use jackfield_testservers::openai::{ScriptedOpenAi, VendorQuirks};
use jackfield_testservers::script::Script;
use jackfield_testservers::scripted::ScriptedServer;

/// A wire language, and who speaks it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wire {
    /// Bedrock's Converse, in front of a model of Claude.
    Bedrock,
    /// Claude Messages.
    Claude,
    /// Chat Completions, with reasoning that is shown and has to come back.
    DeepSeek,
    /// Gemini.
    Gemini,
    /// Chat Completions, with ids and an order of its own.
    Mistral,
    /// Chat Completions, of which much is read over.
    Ollama,
    /// Ollama's own API.
    OllamaNative,
    /// Chat Completions.
    OpenAiChat,
    /// Responses.
    OpenAiResponses,
}

/// A scripted server of any vendor.
pub(crate) enum Server {
    Bedrock(ScriptedBedrock),
    Claude(ScriptedClaude),
    Gemini(ScriptedGemini),
    Ollama(ScriptedOllama),
    OpenAi(ScriptedOpenAi),
}

impl Deref for Server {
    type Target = ScriptedServer;

    fn deref(&self) -> &ScriptedServer {
        match self {
            Self::Bedrock(server) => server,
            Self::Claude(server) => server,
            Self::Gemini(server) => server,
            Self::Ollama(server) => server,
            Self::OpenAi(server) => server,
        }
    }
}

impl Wire {
    /// Starts the vendor's server.
    pub(crate) async fn serve(self, script: impl Into<Script>) -> Server {
        match self {
            Self::Bedrock => Server::Bedrock(ScriptedBedrock::start(script).await),
            Self::Claude => Server::Claude(ScriptedClaude::start(script).await),
            Self::DeepSeek => {
                Server::OpenAi(ScriptedOpenAi::like(VendorQuirks::DeepSeek, script).await)
            }
            Self::Gemini => Server::Gemini(ScriptedGemini::start(script).await),
            Self::Mistral => {
                Server::OpenAi(ScriptedOpenAi::like(VendorQuirks::Mistral, script).await)
            }
            Self::Ollama => {
                Server::OpenAi(ScriptedOpenAi::like(VendorQuirks::Ollama, script).await)
            }
            Self::OllamaNative => Server::Ollama(ScriptedOllama::start(script).await),
            Self::OpenAiChat | Self::OpenAiResponses => {
                Server::OpenAi(ScriptedOpenAi::start(script).await)
            }
        }
    }

    /// The model behind it, by the provider of this name.
    pub(crate) fn model(self) -> ModelRef {
        let (provider, model) = match self {
            Self::Bedrock => ("bedrock", "us.anthropic.claude-opus-5-5"),
            Self::Claude => ("claude", "claude-opus-5-5"),
            Self::DeepSeek => ("deepseek", "deepseek-flash"),
            Self::Gemini => ("gemini", "gemini-3.8-flash"),
            Self::Mistral => ("mistral", "mistral-large-latest"),
            Self::Ollama => ("ollama", "qwen3"),
            Self::OllamaNative => ("ollama-native", "qwen3:8b"),
            Self::OpenAiChat => ("openai-chat", "gpt-6-sol"),
            Self::OpenAiResponses => ("openai", "gpt-6.2-sol"),
        };
        ModelRef {
            model: model.into(),
            provider: provider.into(),
        }
    }

    /// Whether its server tells what the model thought.
    pub(crate) const fn shows_reasoning(self) -> bool {
        match self {
            Self::Bedrock
            | Self::Claude
            | Self::DeepSeek
            | Self::Gemini
            | Self::Ollama
            | Self::OllamaNative
            | Self::OpenAiResponses => true,
            Self::Mistral | Self::OpenAiChat => false,
        }
    }

    /// The adapter in front of such a server.
    pub(crate) fn adapter(self, server: &ScriptedServer) -> Arc<dyn ChatModel> {
        self.adapter_at(&server.base_url())
    }

    /// The adapter in front of whatever is at this address.
    pub(crate) fn adapter_at(self, base_url: &str) -> Arc<dyn ChatModel> {
        let transport =
            Transport::new(TransportSettings::default()).expect("a transport can be set up");
        let key = Some(Secret::new("sk-any"));
        if self == Self::Bedrock {
            let mut config = BedrockConfig::new(base_url).expect("an address");
            config.credentials = key.map(Credentials::Bearer);
            return Arc::new(Bedrock::new(config, transport).expect("an adapter"));
        }
        if self == Self::Claude {
            let mut config = ClaudeConfig::new(base_url).expect("an address");
            config.key = key;
            return Arc::new(Claude::new(config, transport).expect("an adapter"));
        }
        if self == Self::Gemini {
            let mut config = GeminiConfig::new(base_url).expect("an address");
            config.key = key;
            return Arc::new(Gemini::new(config, transport).expect("an adapter"));
        }
        if self == Self::OllamaNative {
            let config = OllamaConfig::new(base_url).expect("an address");
            return Arc::new(Ollama::new(config, transport).expect("an adapter"));
        }
        let mut config = OpenAiConfig::new(base_url).expect("an address");
        config.key = key;
        config.api = if self == Self::OpenAiResponses {
            Api::Responses
        } else {
            Api::ChatCompletions
        };
        match self {
            Self::DeepSeek => config.profile = ByModel::new(|_| Profile::DEEPSEEK),
            Self::Mistral => config.profile = ByModel::new(|_| Profile::MISTRAL),
            Self::Ollama => config.profile = ByModel::new(|_| Profile::OLLAMA),
            Self::Bedrock
            | Self::Claude
            | Self::Gemini
            | Self::OllamaNative
            | Self::OpenAiChat
            | Self::OpenAiResponses => {}
        }
        Arc::new(OpenAi::new(config, transport).expect("an adapter"))
    }
}

/// A session, with the tools `add` (always 2) and `multiply` (always 6).
pub(crate) struct Chat {
    engine: Engine,
    _toolbox: ScriptedToolbox,
}

impl Chat {
    /// A session in front of these servers.
    pub(crate) fn new<'a>(servers: impl IntoIterator<Item = (Wire, &'a ScriptedServer)>) -> Self {
        let adapters = servers
            .into_iter()
            .map(|(wire, server)| (wire, wire.adapter(server)));
        Self::of(adapters)
    }

    /// A session of these models.
    pub(crate) fn of(models: impl IntoIterator<Item = (Wire, Arc<dyn ChatModel>)>) -> Self {
        let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("an id"));
        toolbox
            .tool("add", Safety::ReadOnly)
            .set_default_call("add", ScriptedCall::text("2"))
            .tool("multiply", Safety::ReadOnly)
            .set_default_call("multiply", ScriptedCall::text("6"));
        let mut builder = Engine::builder(Arc::new(MemoryJournal::new())).builtins(toolbox.port());
        for (wire, model) in models {
            builder = builder.model(wire.model().provider, model);
        }
        Self {
            engine: builder.build(),
            _toolbox: toolbox,
        }
    }

    /// Says something to one of them.
    pub(crate) async fn say(&self, wire: Wire, text: &str) -> TurnReport {
        self.send(wire, Message::user(text)).await
    }

    /// Sends a message to one of them.
    pub(crate) async fn send(&self, wire: Wire, message: Message) -> TurnReport {
        let mut options = TurnOptions::new(wire.model());
        options.settings = Settings {
            thinking_shown: Some(true),
            ..Settings::default()
        };
        let message = SendMessage {
            opening: Opening::UserMessage(Arc::new(message)),
            options,
            session: SessionId::parse("s").expect("an id"),
        };
        let report = self.engine.send(message, &mut ()).await;
        report.expect("the turn can be driven")
    }
}
