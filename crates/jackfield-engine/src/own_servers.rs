//! The connections to the MCP servers of users and teams.
//!
//! A connection belongs to one principal. It is made by the first turn that has the server, and closed when no turn has
//! used it for a while, or when its owner changed the server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::directory::{EntryName, OwnServer, ServerOwner, user_of_principal};
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::credential::Credential;
use jackfield_ports::toolbox_source::RegisteredToolbox;
use tokio::time::Instant;

use crate::sign_in_store::SignInStore;

/// Makes toolboxes of the servers that users and teams have, within what the configuration allows.
pub trait OwnServerFactory: Send + Sync {
    /// How many there may be, and for how long.
    fn limits(&self) -> OwnServerLimits;

    /// Checks a server before it is stored.
    ///
    /// # Errors
    ///
    /// Why the configuration does not allow it, in a sentence for its owner.
    fn check(&self, server: &OwnServer) -> Result<(), String>;

    /// Makes the toolbox of a server, over connections of its own. It must not wait for the server: one that cannot be
    /// used is a toolbox whose list fails. When the toolbox is dropped, its connections are closed.
    fn open(&self, server: &OpenedServer) -> RegisteredToolbox;

    /// What signs users in at these servers; `None` if nothing does.
    fn sign_in_client(&self) -> Option<&dyn SignInClient> {
        None
    }
}

/// Signs users in at servers by OAuth, and keeps nothing.
#[async_trait]
pub trait SignInClient: Send + Sync {
    /// Begins a sign-in at a server. `known` are the tokens of an earlier one, as [`finish`](Self::finish) returned them.
    ///
    /// # Errors
    ///
    /// Why there is none, in a sentence for the user.
    async fn begin(
        &self,
        server: &OwnServer,
        known: Option<Credential>,
        redirect_uri: &str,
    ) -> Result<BegunLogin, String>;

    /// Whether this redirect is the answer to a sign-in that has begun.
    fn is_answered(&self, login: &Credential, redirect: &str) -> bool;

    /// Ends a sign-in with the redirect that is the answer to it, and returns its tokens as text.
    ///
    /// # Errors
    ///
    /// Why there are none, in a sentence for the user.
    async fn finish(
        &self,
        server: &OwnServer,
        login: &Credential,
        redirect: &str,
    ) -> Result<Credential, String>;

    /// Has tokens revoked, where the authorization server does that.
    ///
    /// # Errors
    ///
    /// Why they are not revoked, in a sentence.
    async fn revoke(&self, server: &OwnServer, tokens: &Credential) -> Result<(), String>;
}

/// A sign-in that has begun.
#[derive(Clone, Debug)]
pub struct BegunLogin {
    /// What is needed to end it: a secret.
    pub login: Credential,
    /// The scope that is asked for, if one is.
    pub scope: Option<String>,
    /// The address to open in a browser.
    pub url: String,
}

/// A server of a user or a team, with its secrets in plain text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenedServer {
    /// The id of its toolbox.
    pub id: ToolboxId,
    /// The number of its newest change.
    pub revision: u64,
    /// Where the sign-in of the user there is kept; `None` for a server that is not signed in at.
    pub sign_in: Option<Arc<SignInStore>>,
    /// The values of its headers or variables, by name.
    pub secrets: Vec<(Arc<str>, Credential)>,
    /// The server.
    pub server: OwnServer,
}

/// How many servers of users and teams there may be, and for how long they stay connected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OwnServerLimits {
    /// How long a connection that no turn uses stays open.
    pub idle: Duration,
    /// The maximum number of connections of this process to them.
    pub open: usize,
    /// The maximum number of servers of a team.
    pub per_team: usize,
    /// The maximum number of servers of a user.
    pub per_user: usize,
}

impl OwnServerLimits {
    /// From how many connections on, with those for its end users, a user has none of the last quarter: a quarter, and as
    /// many as it may have servers.
    fn open_per_user(&self) -> usize {
        let servers = self.per_user.saturating_add(self.per_team);
        (self.open / 4).max(servers).min(self.open)
    }
}

/// The servers of users and teams, and the connections to them.
pub(crate) struct OwnServers {
    pub(crate) factory: Arc<dyn OwnServerFactory>,
    limits: OwnServerLimits,
    open: Arc<Mutex<OpenServers>>,
}

#[derive(Default)]
struct OpenServers {
    /// By principal and entry: no two principals share one.
    by_place: HashMap<(Arc<str>, EntryName), OpenServer>,
    /// Whether a task closes those that are idle.
    is_watched: bool,
}

struct OpenServer {
    last_used: Instant,
    registered: RegisteredToolbox,
    revision: OpenRevision,
}

/// The number of the newest change of a server, and of the user's sign-in there, or 0 if there is none.
pub(crate) type OpenRevision = (u64, u64);

impl OpenServer {
    /// Whether a turn has it.
    fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.registered.toolbox) > 1
    }
}

impl OwnServers {
    pub(crate) fn new(factory: Arc<dyn OwnServerFactory>) -> Self {
        Self {
            limits: factory.limits(),
            factory,
            open: Arc::default(),
        }
    }

    /// How many servers this owner may have.
    pub(crate) fn limit(&self, owner: &ServerOwner) -> usize {
        match owner {
            ServerOwner::Team(_) => self.limits.per_team,
            ServerOwner::User(_) => self.limits.per_user,
        }
    }

    /// The open server of a principal, if it was opened after this change; it counts as used.
    pub(crate) fn find(
        &self,
        principal: &Arc<str>,
        entry: &EntryName,
        revision: OpenRevision,
    ) -> Option<RegisteredToolbox> {
        let mut open = lock(&self.open);
        let place = (Arc::clone(principal), entry.clone());
        let found = open.by_place.get_mut(&place);
        let found = found.filter(|found| found.revision == revision)?;
        found.last_used = Instant::now();
        Some(found.registered.clone())
    }

    /// Opens a server for a principal, in place of an earlier one. One that another turn has opened meanwhile is used,
    /// unless it is of an earlier change.
    pub(crate) fn open(
        &self,
        principal: &Arc<str>,
        opened: &OpenedServer,
        revision: OpenRevision,
    ) -> Result<RegisteredToolbox, String> {
        let place = (Arc::clone(principal), opened.server.entry());
        let mut open = lock(&self.open);
        if let Some(present) = open.by_place.get_mut(&place)
            && present.revision >= revision
        {
            present.last_used = Instant::now();
            return Ok(present.registered.clone());
        }
        open.by_place.remove(&place);
        let user = user_of_principal(principal);
        let is_own = |of: &Arc<str>| user_of_principal(of) == user;
        let own = open.by_place.keys().filter(|(of, _)| is_own(of)).count();
        let (max, most) = (self.limits.open, self.limits.open_per_user());
        let is_over = own >= most && open.by_place.len() >= max - max / 4;
        if is_over || open.by_place.len() >= max {
            let unused = open.by_place.iter();
            let unused =
                unused.filter(|((of, _), open)| !open.is_in_use() && (!is_over || is_own(of)));
            let longest = unused.min_by_key(|(_, open)| open.last_used);
            let Some(longest) = longest.map(|(place, _)| place.clone()) else {
                let whose = if is_over {
                    format!("{own} connections to servers of people that this user has")
                } else {
                    format!("{max} connections to servers of people")
                };
                return Err(format!("it is not connected: all {whose} are in use"));
            };
            open.by_place.remove(&longest);
        }
        let registered = self.factory.open(opened);
        open.by_place.insert(
            place,
            OpenServer {
                last_used: Instant::now(),
                registered: registered.clone(),
                revision,
            },
        );
        if !std::mem::replace(&mut open.is_watched, true) {
            tokio::spawn(close_idle(Arc::downgrade(&self.open), self.limits.idle));
        }
        Ok(registered)
    }

    /// Closes the servers of a principal that are none of these. A turn that has one keeps it.
    pub(crate) fn keep(&self, principal: &Arc<str>, entries: &[EntryName]) {
        let mut open = lock(&self.open);
        open.by_place
            .retain(|(of, entry), _| of != principal || entries.contains(entry));
    }
}

/// Closes servers that no turn has used for a while, until none is open.
async fn close_idle(open: std::sync::Weak<Mutex<OpenServers>>, idle: Duration) {
    loop {
        tokio::time::sleep(idle).await;
        let Some(open) = open.upgrade() else {
            return;
        };
        let now = Instant::now();
        let mut open = lock(&open);
        open.by_place.retain(|_, open| {
            if open.is_in_use() {
                open.last_used = now;
            }
            now.duration_since(open.last_used) < idle
        });
        if open.by_place.is_empty() {
            open.is_watched = false;
            return;
        }
    }
}

fn lock(open: &Mutex<OpenServers>) -> MutexGuard<'_, OpenServers> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
