//! What the caller of a request wants of the server: which questions it answers, and which log messages it reads.
#![expect(
    deprecated,
    reason = "rmcp marks log messages so (SEP-2577), and servers send them"
)]

use std::time::Duration;

use jackfield_ports::question_handler::Askable;
use jackfield_ports::server_log::LogLevel;
use rmcp::model::{ClientRequest, RequestMetaObject, SetLevelRequest, SetLevelRequestParams};

use super::ServerConnection;
use crate::era::Era;
use crate::handshake::client_capabilities;
use crate::questions::AllowedQuestions;

impl ServerConnection {
    /// What the server may ask this caller.
    pub(crate) fn allowed_to(&self, caller: Askable) -> AllowedQuestions {
        self.allowed.within(caller, self.era)
    }

    /// The metadata of a request of this caller: in the newer era, its capabilities.
    pub(crate) fn caller_meta(&self, caller: Askable) -> RequestMetaObject {
        let mut meta = RequestMetaObject::new();
        if self.era == Era::Stateless {
            let capabilities = client_capabilities(self.allowed_to(caller), !self.roots.is_empty());
            meta.insert(CAPABILITIES.to_owned(), capabilities);
        }
        meta
    }

    /// Has the server send log messages of this level during the call with this metadata. In the older era it keeps the
    /// level for all callers, so the lowest one that was ever wanted counts, and each caller leaves out what it does not
    /// want. A server that does not take it sends what it likes.
    pub(crate) async fn want_logs(
        &self,
        level: LogLevel,
        limit: Duration,
        meta: &mut RequestMetaObject,
    ) {
        if self.era == Era::Stateless {
            meta.insert(LOG_LEVEL.to_owned(), level.as_str().into());
            return;
        }
        if self.info.capabilities.logging.is_none() {
            return;
        }
        let mut present = self.log_level.lock().await;
        if present.is_some_and(|present| present <= level) {
            return;
        }
        let Ok(named) = serde_json::from_value(level.as_str().into()) else {
            return;
        };
        let request = SetLevelRequest::new(SetLevelRequestParams::new(named));
        let request = ClientRequest::SetLevelRequest(request);
        let _refused = self.request(request, limit.min(SETTING)).await;
        *present = Some(level);
    }
}

/// The key in `_meta` of a request for the capabilities of the client (MCP 2026-07-28, read 2026-11-29).
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key in `_meta` of a request for the level of log messages (MCP 2026-07-28, read 2026-11-29).
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The longest wait until the server has taken a level.
const SETTING: Duration = Duration::from_secs(5);
