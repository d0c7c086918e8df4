//! The connections of a toolbox: the present one, and those whose sessions the server has forgotten.

use std::sync::{Arc, Weak};

use jackfield_domain::failure::{ToolFailure, ToolFailureKind};
use jackfield_domain::ids::ToolCallId;
use tokio::sync::oneshot;

use super::{McpToolbox, lock};
use crate::connection::ServerConnection;
use crate::error::ServerFault;
use crate::jobs::JobHandleForm;
use crate::supervisor::SupervisorCommand;

impl McpToolbox {
    /// A connection other than `instead_of`.
    pub(crate) async fn connection(
        &self,
        instead_of: Option<Arc<ServerConnection>>,
    ) -> Result<Arc<ServerConnection>, ServerFault> {
        let gone = || ServerFault::new("it was stopped", "start it again");
        let (reply, connection) = oneshot::channel();
        let demand = SupervisorCommand::Connection { instead_of, reply };
        self.commands().send(demand).await.map_err(|_| gone())?;
        connection.await.unwrap_or_else(|_| Err(gone()))
    }

    /// An open connection whose server is not working on an earlier attempt at this call.
    pub(crate) async fn open_connection(
        &self,
        fresh_for: Option<&ToolCallId>,
    ) -> Result<Arc<ServerConnection>, ServerFault> {
        let known = self.newest_connection();
        let mut connection = match known.filter(|connection| connection.is_open()) {
            Some(connection) => connection,
            None => self.connection(None).await?,
        };
        // The server may have ended just now, before the supervisor has noticed.
        if !connection.is_open() || fresh_for.is_some_and(|call| connection.is_handling(call)) {
            connection = self.connection(Some(connection)).await?;
        }
        let this = Arc::downgrade(&connection);
        let mut connections = lock(&self.connections);
        connections.retain(|one| one.strong_count() > 0 && !one.ptr_eq(&this));
        connections.push(this);
        drop(connections);
        Ok(connection)
    }

    /// The connection on which a call that had not ended goes on.
    ///
    /// # Errors
    ///
    /// There is none. The call was sent once, regardless of the server's present state.
    pub(super) async fn connection_for(
        &self,
        job: &JobHandleForm,
    ) -> Result<Arc<ServerConnection>, ToolFailure> {
        if let JobHandleForm::Held(held) = job
            && let Some(connection) = self.holder(&held.name)
        {
            return Ok(connection);
        }
        self.open_connection(None).await.map_err(|fault| {
            ToolFailure::unknown(ToolFailureKind::Unavailable, self.down_message(&fault))
        })
    }

    /// The connection on which the call of this name is held open.
    pub(super) fn holder(&self, name: &str) -> Option<Arc<ServerConnection>> {
        let connections = lock(&self.connections);
        let mut alive = connections.iter().filter_map(Weak::upgrade);
        alive.find(|connection| connection.held.has(name))
    }

    pub(super) fn newest_connection(&self) -> Option<Arc<ServerConnection>> {
        lock(&self.connections).last()?.upgrade()
    }
}
