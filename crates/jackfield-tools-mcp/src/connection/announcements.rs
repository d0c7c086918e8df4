//! Announcements of changes by servers.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, ServerPeerInfo, SubscriptionFilter, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use tokio::sync::{broadcast, watch};
use tokio::time::sleep;

use super::ServerConnection;
use crate::announcement::ContextAnnouncement;
use crate::era::Era;

impl ServerConnection {
    /// What the server announces of resources and prompts from now on.
    pub(crate) fn announcements(&self) -> broadcast::Receiver<ContextAnnouncement> {
        self.context.subscribe()
    }

    /// Whether the stream is open over which a server of the older era announces changes; `None` if it needs none of
    /// its own.
    pub(crate) fn announcing_stream(&self) -> Option<watch::Receiver<bool>> {
        let has_stream = self.is_endpoint && self.era == Era::Handshake;
        has_stream.then(|| self.subscribed.clone())
    }

    /// Waits until the connection has ended, or has lost its session.
    pub(crate) async fn wait_until_ended(&self) {
        let (mut ended, mut lost) = (self.ended.clone(), self.session_lost.clone());
        tokio::select! {
            _ended = ended.wait_for(|ended| *ended) => {}
            _lost = lost.wait_for(|lost| *lost) => {}
        }
    }
}

/// Whether the server has declared that it announces list changes.
pub(super) fn can_announce(info: &ServerPeerInfo) -> bool {
    let tools = info.capabilities.tools.as_ref();
    tools.and_then(|tools| tools.list_changed) == Some(true)
}

/// Keeps a subscription to list changes open at a server of the newer era, until the server refuses it.
pub(super) async fn listen(
    peer: Peer<RoleClient>,
    listening: watch::Sender<bool>,
    changes: watch::Sender<u64>,
) {
    let mut pause = RESUBSCRIBE_PAUSE;
    loop {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let params = SubscriptionsListenRequestParams::new(filter);
        let request = SubscriptionsListenRequest::new(params);
        let request = ClientRequest::SubscriptionsListenRequest(request);
        // The response ends the subscription. Its events arrive as ordinary notifications.
        let ended = peer.send_request(request).await;
        if listening.send_replace(false) {
            pause = RESUBSCRIBE_PAUSE;
        }
        // Changes are missed from here until the next subscription, so count one.
        changes.send_modify(|times| *times += 1);
        match ended {
            Err(ServiceError::McpError(_) | ServiceError::TransportClosed) => return,
            Ok(_) | Err(_) => sleep(pause).await,
        }
        pause = pause.saturating_mul(2).min(LONGEST_RESUBSCRIBE_PAUSE);
    }
}

/// The pause before a subscription that the server has ended is requested again.
const RESUBSCRIBE_PAUSE: Duration = Duration::from_secs(5);
/// The longest such pause, at a server that acknowledges none.
const LONGEST_RESUBSCRIBE_PAUSE: Duration = Duration::from_secs(300);
