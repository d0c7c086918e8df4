//! The factories of the providers and of the journals of one kind.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_domain::settings::CacheMode;
use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_ports::journal::Journal;
use jackfield_ports::upstream::Upstream;
use jackfield_provider_kit::refused_fields::RefusedFields;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::text_tools::ToolMode;
use jackfield_provider_kit::transport::Transport;
use jackfield_tools_mcp::GuardProgram;
use serde_json::Value;

/// Builds providers of one kind.
///
/// A third party adds its own with [`Registry::provider`](crate::Registry::provider).
pub trait ProviderFactory: Send + Sync {
    /// The default environment variable of its key; `None` if it needs no key.
    fn key_variable(&self) -> Option<&str> {
        None
    }

    /// Other variables that may hold the key: the first one that is set counts, if the default one is not.
    fn further_key_variables(&self) -> &[&str] {
        &[]
    }

    /// Variables of the environment that it reads beside its key, such as `AWS_REGION`.
    fn variables(&self) -> &[&str] {
        &[]
    }

    /// The page where a person gets a key.
    fn key_page(&self) -> Option<&str> {
        None
    }

    /// The names of the options of this kind.
    fn options(&self) -> &[&str] {
        &[]
    }

    /// How its models are given tools, unless the configuration says otherwise; `Native` by default.
    fn tool_mode(&self) -> ToolMode {
        ToolMode::Native
    }

    /// Builds a provider. No connection is opened yet, and a missing key is no error yet.
    ///
    /// # Errors
    ///
    /// A sentence about the invalid setting, without any key.
    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError>;

    /// The upstream of a provider with these settings: its own API, for requests that need no translation; `None`
    /// if it has none, as by default. No connection is opened yet, and a missing key is no error yet.
    ///
    /// # Errors
    ///
    /// A sentence about the invalid setting, without any key.
    fn upstream(
        &self,
        _settings: &ProviderSettings,
    ) -> Result<Option<Arc<dyn Upstream>>, BoxError> {
        Ok(None)
    }

    /// Whether the upstream is a vendor's own API, whose clients expect it as it is; `false` by default. Requests to
    /// servers that are only compatible need changes.
    fn is_own_api(&self, _settings: &ProviderSettings) -> bool {
        false
    }
}

/// The settings of a provider.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProviderSettings {
    /// The address, if it differs from that of the kind.
    pub base_url: Option<Arc<str>>,
    /// Which cache points requests have where the turn's settings do not say so.
    pub cache: CacheMode,
    /// The user's folder for data, if there is one.
    pub data: Option<PathBuf>,
    /// The endpoints beside those for messages that are open to clients.
    pub endpoints: EndpointSettings,
    /// The guard for programs that it starts; `None` if the program has none.
    pub guard: Option<GuardProgram>,
    /// The key, if there is one.
    pub key: Option<Secret>,
    /// Why a required key is missing, in one sentence for the sender of a request.
    pub missing_key: Option<String>,
    /// The provider's name in the configuration.
    pub name: Arc<str>,
    /// The options of this kind; only those that the factory names.
    pub options: BTreeMap<Arc<str>, Value>,
    /// The fields that the server has refused, of those that are added to requests: for its model and its upstream.
    pub refused_fields: RefusedFields,
    /// The HTTP transport, shared by all providers.
    pub transport: Transport,
    /// The [variables](ProviderFactory::variables) of the environment that are set, and not empty.
    pub variables: BTreeMap<Arc<str>, Secret>,
}

/// The endpoints of a provider's own API, beside those for messages, that are open to clients: paths such as
/// `/v1/embeddings`. With `/*` at its end, a path stands for all below it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct EndpointSettings {
    /// Those whose requests name a model, for each provider whose vendor has such endpoints.
    pub by_model: Vec<Arc<str>>,
    /// Those that a token opens at this provider.
    pub by_name: Vec<Arc<str>>,
}

/// Opens journals of one kind.
///
/// A third party adds its own with [`Registry::journal`](crate::Registry::journal).
pub trait JournalFactory: Send + Sync {
    /// The names of the options of this kind, beside `path` and `max_size`.
    fn options(&self) -> &[&str] {
        &[]
    }

    /// Opens the journal. It is called on a thread that may block, within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Why the journal cannot be opened, without passwords.
    fn open(&self, settings: JournalSettings) -> Result<Arc<dyn Journal>, BoxError>;
}

/// The settings of a journal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JournalSettings {
    /// The user's folder for data, if there is one.
    pub data: Option<PathBuf>,
    /// The name of the kind.
    pub kind: Arc<str>,
    /// The maximum size in bytes; `None` for no limit.
    pub max_size: Option<u64>,
    /// The options of this kind; only those that the factory names.
    pub options: BTreeMap<Arc<str>, Value>,
    /// The configured path.
    pub path: Option<PathBuf>,
    /// Whether the journal is only read, so that it need not be writable.
    pub reads_only: bool,
}
