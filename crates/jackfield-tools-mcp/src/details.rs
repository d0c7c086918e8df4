//! What a running server says of itself.

use serde_json::Value;

use crate::error::ServerFault;
use crate::toolbox::McpToolbox;

/// What a running server says of itself; not trusted.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerDetails {
    /// Its capabilities, in the form of the protocol.
    pub capabilities: Value,
    /// Its name, version and the like, in the form of the protocol, if it sends them.
    pub info: Option<Value>,
    /// Its instructions, if it has some.
    pub instructions: Option<String>,
}

impl McpToolbox {
    /// What the server says of itself. It is started if necessary.
    ///
    /// # Errors
    ///
    /// Why it is not running.
    pub async fn details(&self) -> Result<ServerDetails, ServerFault> {
        let connection = self.connection(None).await?;
        let said = &connection.info;
        let info = said.server_info.as_ref();
        Ok(ServerDetails {
            capabilities: serde_json::to_value(&said.capabilities).unwrap_or_default(),
            info: info.and_then(|info| serde_json::to_value(info).ok()),
            instructions: said.instructions.clone(),
        })
    }
}
