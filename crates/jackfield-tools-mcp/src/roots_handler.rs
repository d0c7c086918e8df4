//! The replies to a server's own requests.
#![expect(
    deprecated,
    reason = "rmcp marks roots so (SEP-2577), and servers ask for them"
)]

use rmcp::model::{ClientConfig, ErrorData, Implementation, ListRootsResult};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};

use crate::handshake::client_capabilities;
use crate::questions::AllowedQuestions;
use crate::roots::{self, Root};

/// The client handler for requests of the server. It lists the roots, and declines everything else.
pub(crate) struct RootsHandler {
    config: ClientConfig,
    roots: ListRootsResult,
}

impl RootsHandler {
    pub(crate) fn new(version: &str, roots: &[Root], allowed: AllowedQuestions) -> Self {
        let capabilities = client_capabilities(allowed, !roots.is_empty());
        let capabilities = serde_json::from_value(capabilities).unwrap_or_default();
        let implementation = Implementation::new("jackfield", version);
        Self {
            config: ClientConfig::new(capabilities, implementation),
            roots: serde_json::from_value(roots::list_result(roots)).unwrap_or_default(),
        }
    }
}

impl ClientHandler for RootsHandler {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots.clone())
    }
}
