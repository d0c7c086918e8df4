//! Subscriptions to resources at a server of the older era, which knows one for each resource of a connection.
#![expect(
    deprecated,
    reason = "the older era has these requests, and the newer one has not"
)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest,
    UnsubscribeRequestParams,
};
use tokio::sync::Mutex;

use super::ServerConnection;
use crate::answer::RequestError;

/// How many watches each resource has. The lock is held during a request, so that requests for one resource keep their
/// order.
#[derive(Default)]
pub(super) struct ResourceSubscriptions(Mutex<HashMap<Arc<str>, usize>>);

/// The subscriptions of a watch. Dropping it ends those that no other watch has.
pub(crate) struct WatchedResources {
    connection: Arc<ServerConnection>,
    limit: Duration,
    uris: Vec<Arc<str>>,
}

impl WatchedResources {
    /// Subscribes to these resources, with this time limit for each request.
    pub(crate) async fn subscribe(
        connection: &Arc<ServerConnection>,
        uris: &[Arc<str>],
        limit: Duration,
    ) -> Result<Self, RequestError> {
        let mut watched = Self {
            connection: Arc::clone(connection),
            limit,
            uris: Vec::with_capacity(uris.len()),
        };
        for uri in uris {
            let mut counts = connection.subscriptions.0.lock().await;
            if !counts.contains_key(uri) {
                let params = SubscribeRequestParams::new(&**uri);
                let request = ClientRequest::SubscribeRequest(SubscribeRequest::new(params));
                connection.request(request, limit).await?;
            }
            *counts.entry(Arc::clone(uri)).or_default() += 1;
            watched.uris.push(Arc::clone(uri));
        }
        Ok(watched)
    }
}

impl Drop for WatchedResources {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut self.uris);
        let (connection, limit) = (Arc::clone(&self.connection), self.limit);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        if uris.is_empty() || !connection.is_open() {
            return;
        }
        runtime.spawn(async move {
            for uri in uris {
                let mut counts = connection.subscriptions.0.lock().await;
                let Some(count) = counts.get_mut(&uri) else {
                    continue;
                };
                *count -= 1;
                if *count > 0 {
                    continue;
                }
                counts.remove(&uri);
                let params = UnsubscribeRequestParams::new(&*uri);
                let request = ClientRequest::UnsubscribeRequest(UnsubscribeRequest::new(params));
                // What the server still announces is ignored.
                let _ignored = connection.request(request, limit).await;
            }
        });
    }
}
