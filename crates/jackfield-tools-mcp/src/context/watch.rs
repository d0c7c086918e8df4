//! Watches of a server's resources.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::{
    ContextChange, ContextChanges, ContextError, ContextErrorKind,
};
use rmcp::model::{
    ClientRequest, SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use crate::announcement::ContextAnnouncement;
use crate::connection::{ServerConnection, WatchedResources};
use crate::era::Era;
use crate::toolbox::McpToolbox;

impl McpToolbox {
    /// Reports changes until the server announces none any more.
    pub(super) async fn follow(
        &self,
        uris: &[Arc<str>],
        changes: &mut dyn ContextChanges,
    ) -> Result<Infallible, ContextError> {
        let connection = self.context_connection().await?;
        let announced = Announced::of(&connection);
        let missing = match uris {
            [] if !announced.has_lists() => Some("it announces no changes of its lists"),
            [_, ..] if !announced.resources => Some("it announces no changes of resources"),
            _ => None,
        };
        if let Some(why) = missing {
            return Err(self.context_error(ContextErrorKind::Unsupported, why));
        }
        let watch = Watch {
            announcements: connection.announcements(),
            changes,
            uris,
        };
        match connection.era {
            Era::Handshake => self.subscribe(&connection, watch).await,
            Era::Stateless => self.listen(&connection, &announced, watch).await,
        }
    }

    /// In the older era: a subscription for each resource, whose changes come as messages of the connection.
    async fn subscribe(
        &self,
        connection: &Arc<ServerConnection>,
        mut watch: Watch<'_>,
    ) -> Result<Infallible, ContextError> {
        let mut stream = connection.announcing_stream();
        if let Some(stream) = &mut stream
            && timeout(STREAM, stream.wait_for(|is_open| *is_open))
                .await
                .is_err()
        {
            let why = "it opens no stream for announcements";
            return Err(self.context_error(ContextErrorKind::Unsupported, why));
        }
        let limit = self.shared.config.call_limit;
        let subscribed = WatchedResources::subscribe(connection, watch.uris, limit).await;
        let _subscribed = match subscribed {
            Ok(subscribed) => subscribed,
            Err(error) => return Err(self.request_error(connection, error).await),
        };
        watch.changes.changed(ContextChange::Watching).await;
        loop {
            tokio::select! {
                announced = watch.announcements.recv() => watch.report(announced).await,
                () = reopened(stream.as_mut()) => {
                    watch.changes.changed(ContextChange::Watching).await;
                }
                () = connection.wait_until_ended() => {
                    let why = connection.exit_reason().await;
                    return Err(self.context_error(ContextErrorKind::Unavailable, &why));
                }
            }
        }
    }

    /// In the newer era: one request for all, which stays open.
    async fn listen(
        &self,
        connection: &Arc<ServerConnection>,
        announced: &Announced,
        mut watch: Watch<'_>,
    ) -> Result<Infallible, ContextError> {
        let params = SubscriptionsListenRequestParams::new(announced.filter(watch.uris));
        let request = SubscriptionsListenRequest::new(params);
        let request = ClientRequest::SubscriptionsListenRequest(request);
        let mut request = match connection
            .send(request, None, None, CallContext::default())
            .await
        {
            Ok(request) => request,
            Err(error) => return Err(self.request_error(connection, error).await),
        };
        let own = request.id().and_then(|id| serde_json::to_value(id).ok());
        let mut late = std::pin::pin!(sleep(self.shared.config.call_limit));
        let mut is_accepted = false;
        loop {
            let announcement = tokio::select! {
                answer = request.answer() => {
                    return Err(match answer {
                        Ok(_) => {
                            let why = "it ended the subscription";
                            self.context_error(ContextErrorKind::Unavailable, why)
                        }
                        Err(error) => self.request_error(connection, error).await,
                    });
                }
                announcement = watch.announcements.recv() => announcement,
                () = &mut late, if !is_accepted => {
                    let why = "it did not accept the subscription in time";
                    return Err(self.context_error(ContextErrorKind::Timeout, why));
                }
            };
            let Ok(ContextAnnouncement::Accepted { subscription, uris }) = announcement else {
                if is_accepted {
                    watch.report(announcement).await;
                }
                continue;
            };
            if is_accepted || !(subscription == Value::Null || Some(subscription) == own) {
                continue;
            }
            if let Some(missing) = watch.uris.iter().find(|uri| !uris.contains(uri)) {
                let why = format!("it announces no changes of `{missing}`");
                return Err(self.context_error(ContextErrorKind::Unsupported, &why));
            }
            is_accepted = true;
            watch.changes.changed(ContextChange::Watching).await;
        }
    }
}

struct Watch<'a> {
    announcements: broadcast::Receiver<ContextAnnouncement>,
    changes: &'a mut dyn ContextChanges,
    uris: &'a [Arc<str>],
}

impl Watch<'_> {
    async fn report(&mut self, announced: Result<ContextAnnouncement, RecvError>) {
        let change = match announced {
            Ok(ContextAnnouncement::Changed(ContextChange::Resource(uri))) => {
                let Some(watched) = watched(self.uris, &uri) else {
                    return;
                };
                ContextChange::Resource(Arc::clone(watched))
            }
            Ok(ContextAnnouncement::Changed(change)) => change,
            Ok(ContextAnnouncement::Accepted { .. }) | Err(RecvError::Closed) => return,
            Err(RecvError::Lagged(_)) => ContextChange::Watching,
        };
        self.changes.changed(change).await;
    }
}

/// Which changes a server announces.
struct Announced {
    prompt_lists: bool,
    resource_lists: bool,
    resources: bool,
}

impl Announced {
    fn of(connection: &ServerConnection) -> Self {
        let capabilities = &connection.info.capabilities;
        let (prompts, resources) = (&capabilities.prompts, &capabilities.resources);
        let prompts = prompts.as_ref().and_then(|one| one.list_changed);
        let lists = resources.as_ref().and_then(|one| one.list_changed);
        let single = resources.as_ref().and_then(|one| one.subscribe);
        Self {
            prompt_lists: prompts == Some(true),
            resource_lists: lists == Some(true),
            resources: single == Some(true),
        }
    }

    const fn has_lists(&self) -> bool {
        self.prompt_lists || self.resource_lists
    }

    fn filter(&self, uris: &[Arc<str>]) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        filter.prompts_list_changed = self.prompt_lists.then_some(true);
        filter.resources_list_changed = self.resource_lists.then_some(true);
        let uris = uris.iter().map(ToString::to_string);
        filter.resource_subscriptions =
            Some(uris.collect()).filter(|uris: &Vec<_>| !uris.is_empty());
        filter
    }
}

/// Waits until a stream opens that was closed; for ever without one.
async fn reopened(stream: Option<&mut tokio::sync::watch::Receiver<bool>>) {
    let Some(stream) = stream else {
        return std::future::pending().await;
    };
    loop {
        if stream.changed().await.is_err() {
            // The end of the connection ends the watch.
            return std::future::pending().await;
        }
        if *stream.borrow_and_update() {
            return;
        }
    }
}

/// The watched resource that an announced URI belongs to: a server may announce a part of it (MCP 2025-11-25,
/// `notifications/resources/updated`).
fn watched<'a>(uris: &'a [Arc<str>], announced: &str) -> Option<&'a Arc<str>> {
    let exact = uris.iter().find(|uri| ***uri == *announced);
    exact.or_else(|| {
        uris.iter().find(|uri| {
            let part = announced.strip_prefix(&***uri);
            part.is_some_and(|part| uri.ends_with('/') || part.starts_with(['/', '?', '#']))
        })
    })
}

/// How long a watch waits for the stream of the server's own messages.
const STREAM: Duration = Duration::from_secs(2);
