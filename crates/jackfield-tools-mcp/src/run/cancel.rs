//! The cancellation of a task at its server.

use std::time::Duration;

use jackfield_ports::call_context::CallContext;
use rmcp::Peer;
use rmcp::model::{CancelTaskParams, CancelTaskRequest, ClientRequest};
use tokio_util::task::TaskTracker;

use crate::connection::ServerConnection;
use crate::jobs::TaskJob;

/// Requests the cancellation of a task when dropped, unless the lease of its call has passed: then the next owner takes
/// it up.
pub(crate) struct TaskCancel {
    call: CallContext,
    cancellations: TaskTracker,
    peer: Peer<rmcp::RoleClient>,
    pub(super) task: Option<String>,
}

impl TaskCancel {
    pub(crate) fn new(connection: &ServerConnection, task: &TaskJob, call: &CallContext) -> Self {
        Self {
            call: call.clone(),
            cancellations: connection.abandoned.cancellations().clone(),
            peer: connection.peer.clone(),
            task: Some(task.id.clone()),
        }
    }
}

impl Drop for TaskCancel {
    fn drop(&mut self) {
        let Some(task) = self.task.take() else {
            return;
        };
        if self.call.begin().is_err() {
            return;
        }
        let peer = self.peer.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let cancellation = async move {
                let request = CancelTaskRequest::new(CancelTaskParams::new(task));
                let request = ClientRequest::CancelTaskRequest(request);
                let asked = peer.send_request(request);
                let _late = tokio::time::timeout(CANCELLING, asked).await;
            };
            self.cancellations.spawn_on(cancellation, &runtime);
        }
    }
}

/// The time limit for sending a cancellation.
const CANCELLING: Duration = Duration::from_secs(5);
