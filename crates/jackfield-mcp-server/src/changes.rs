//! Changes of resources and prompts, for a client that has subscribed to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_engine::{
    ContextChange, ContextChanges, ContextError, ContextErrorKind, Engine, TurnOptions,
};
use rmcp::model::{ErrorCode, ErrorData};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::context::Library;

/// A change, under the names that things have at this server.
#[derive(Clone, Debug)]
pub(crate) enum ClientChange {
    Prompts,
    /// A resource, by its URI.
    Resource(String),
    /// The lists of resources and templates.
    Resources,
}

/// The watches of one client: one for each resource, so that one that fails leaves the others. Dropping them ends them.
pub(crate) struct ContextWatches {
    changes: mpsc::Sender<ClientChange>,
    engine: Engine,
    options: TurnOptions,
    resources: BTreeMap<String, AbortHandle>,
    tasks: JoinSet<()>,
}

impl ContextWatches {
    /// No watches yet, and where their changes arrive.
    pub(crate) fn new(
        engine: &Engine,
        options: &TurnOptions,
    ) -> (Self, mpsc::Receiver<ClientChange>) {
        let (changes, received) = mpsc::channel(QUEUE);
        let watches = Self {
            changes,
            engine: engine.clone(),
            options: options.clone(),
            resources: BTreeMap::new(),
            tasks: JoinSet::new(),
        };
        (watches, received)
    }

    /// Watches these resources and no others; a watch that has ended begins anew. Each begins with a change: what happened
    /// before is not known.
    pub(crate) fn set(&mut self, uris: &BTreeSet<String>) {
        self.resources.retain(|uri, watch| {
            let is_kept = uris.contains(uri) && !watch.is_finished();
            if !is_kept {
                watch.abort();
            }
            is_kept
        });
        while self.tasks.try_join_next().is_some() {}
        for uri in uris {
            if self.resources.contains_key(uri) {
                continue;
            }
            let (engine, options) = (self.engine.clone(), self.options.clone());
            let mut changes = ResourceChanges {
                changes: self.changes.clone(),
                uri: uri.clone(),
            };
            let watch = self.tasks.spawn(async move {
                let library = Library {
                    engine: &engine,
                    legacy: false,
                    options: &options,
                };
                let ended = library.watch(&changes.uri.clone(), &mut changes).await;
                tracing::debug!(uri = changes.uri, error = %ended, "a resource is not watched");
            });
            self.resources.insert(uri.clone(), watch);
        }
    }

    /// Watches the lists of all servers.
    pub(crate) fn watch_lists(&mut self) {
        let (engine, options) = (self.engine.clone(), self.options.clone());
        let changes = self.changes.clone();
        self.tasks.spawn(async move {
            loop {
                let mut watches = JoinSet::new();
                let toolboxes = engine.context_toolboxes(&options).await;
                for (toolbox, _) in toolboxes.iter().cloned() {
                    let changes = ListChanges {
                        changes: changes.clone(),
                        has_begun: false,
                    };
                    watches.spawn(watch_lists(
                        engine.clone(),
                        options.clone(),
                        toolbox,
                        changes,
                    ));
                }
                until_other_toolboxes(&engine, &options, &toolboxes).await;
                for change in [ClientChange::Prompts, ClientChange::Resources] {
                    let _gone = changes.send(change).await;
                }
            }
        });
    }
}

/// Waits until a client has other toolboxes. Those of people are looked for from time to time.
async fn until_other_toolboxes(
    engine: &Engine,
    options: &TurnOptions,
    known: &[(ToolboxId, Option<Arc<str>>)],
) {
    loop {
        tokio::select! {
            () = engine.toolboxes_changed() => return,
            () = tokio::time::sleep(BETWEEN_LOOKS) => {
                if engine.context_toolboxes(options).await != known {
                    return;
                }
            }
        }
    }
}

async fn watch_lists(
    engine: Engine,
    options: TurnOptions,
    toolbox: ToolboxId,
    mut changes: ListChanges,
) {
    let watching = engine.watch_context(&options, &toolbox, &[], &mut changes);
    let ended = watching.await;
    tracing::debug!(%toolbox, error = %ended, "the lists of a server are not watched");
}

/// Reports changes of a resource under the URI that the client gave.
struct ResourceChanges {
    changes: mpsc::Sender<ClientChange>,
    uri: String,
}

#[async_trait]
impl ContextChanges for ResourceChanges {
    async fn changed(&mut self, change: ContextChange) {
        if matches!(change, ContextChange::Resource(_) | ContextChange::Watching) {
            let change = ClientChange::Resource(self.uri.clone());
            let _gone = self.changes.send(change).await;
        }
    }
}

/// Reports changes of lists, except for the beginning of the watch.
struct ListChanges {
    changes: mpsc::Sender<ClientChange>,
    has_begun: bool,
}

#[async_trait]
impl ContextChanges for ListChanges {
    async fn changed(&mut self, change: ContextChange) {
        let changed: &[ClientChange] = match change {
            ContextChange::Prompts => &[ClientChange::Prompts],
            ContextChange::Resource(_) => &[],
            ContextChange::Resources => &[ClientChange::Resources],
            ContextChange::Watching if self.has_begun => {
                &[ClientChange::Prompts, ClientChange::Resources]
            }
            ContextChange::Watching => &[],
        };
        self.has_begun = true;
        for change in changed {
            let _gone = self.changes.send(change.clone()).await;
        }
    }
}

impl Library<'_> {
    /// Reports changes of a resource of any server that may have it, until none announces them; gives the reason.
    async fn watch(&self, uri: &str, changes: &mut dyn ContextChanges) -> ContextError {
        let mut failed = None;
        for (toolbox, own) in self.owners(uri).await {
            let own = [Arc::from(own)];
            let watching = self
                .engine
                .watch_context(self.options, &toolbox, &own, changes);
            failed = Some(watching.await);
        }
        failed.unwrap_or_else(|| Self::no_resource(uri))
    }
}

/// The resources that a client has subscribed to in its session.
#[derive(Debug, Default)]
pub(crate) struct SubscribedResources(watch::Sender<BTreeSet<String>>);

impl SubscribedResources {
    /// Adds a resource, after a server has taken a subscription to it.
    pub(crate) async fn subscribe(
        &self,
        library: &Library<'_>,
        uri: &str,
    ) -> Result<(), ErrorData> {
        let is_full = |known: &BTreeSet<String>| known.len() >= MAX_WATCHED && !known.contains(uri);
        let full = || {
            let message = format!("a session has at most {MAX_WATCHED} subscriptions; end one");
            ErrorData::new(ErrorCode::INVALID_PARAMS, message, None)
        };
        if is_full(&self.0.borrow()) {
            return Err(full());
        }
        let (begun, mut begins) = mpsc::channel(1);
        let mut changes = ResourceChanges {
            changes: begun,
            uri: uri.to_owned(),
        };
        let watching = async {
            tokio::select! {
                ended = library.watch(uri, &mut changes) => Err(ended),
                _ = begins.recv() => Ok(()),
            }
        };
        let watched = timeout(BEGIN_LIMIT, watching).await.unwrap_or_else(|_| {
            let message = format!("no server took the subscription to `{uri}` in time");
            Err(ContextError::new(ContextErrorKind::Timeout, message))
        });
        watched.map_err(|error| library.resource_error(&error, uri))?;
        let mut taken = true;
        self.0.send_if_modified(|known| {
            taken = !is_full(known);
            if taken {
                known.insert(uri.to_owned());
            }
            // Also for a known one, whose watch may have ended.
            taken
        });
        if taken { Ok(()) } else { Err(full()) }
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.0.send_if_modified(|known| known.remove(uri));
    }

    /// The resources, as they change.
    pub(crate) fn watch(&self) -> watch::Receiver<BTreeSet<String>> {
        self.0.subscribe()
    }
}

/// The time between two looks for other toolboxes.
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
/// How long a server may take to accept a subscription.
const BEGIN_LIMIT: Duration = Duration::from_secs(30);
/// The maximum number of resources that a client watches at once.
pub(crate) const MAX_WATCHED: usize = 64;
/// The changes that wait for a slow client; the watches wait with them.
const QUEUE: usize = 16;
