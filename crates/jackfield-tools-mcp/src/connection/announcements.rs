//! Announcements of changes by servers of the newer era.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, ServerPeerInfo, SubscriptionFilter, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams,
};
use rmcp::service::ServiceError;
use rmcp::{Peer, RoleClient};
use tokio::sync::watch;
use tokio::time::sleep;

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
