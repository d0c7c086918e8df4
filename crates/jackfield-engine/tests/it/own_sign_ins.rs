//! Sign-ins at servers of users and teams: whose they are, who renews them, and when they end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::directory::{
    ChangeAction, DirectoryChange, DirectoryEntry, OwnServer, ServerOwner,
};
use jackfield_domain::time::WallTime;
use jackfield_engine::{
    BegunLogin, Credential, DirectoryError, Engine, SecretError, SignInClient, SignInError,
    SignInStore, UserUpdate,
};
use jackfield_ports::journal::Journal as _;
use jackfield_ports::journal::directory::Changed;
use jackfield_store_memory::MemoryJournal;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::fixture::Paused;
use crate::own_servers::{Factory, engine, engine_over, keys, name, offered, server, set, user};

/// An answer on its way.
#[derive(Default)]
struct Held {
    goes_on: Notify,
    reached: Notify,
}

/// Signs in at servers that take each redirect as the answer to the sign-in with this redirect.
#[derive(Clone, Default)]
pub(crate) struct SignIns {
    /// Where an answer waits on its way.
    held: Arc<Mutex<Option<Arc<Held>>>>,
    revoked: Arc<Mutex<Vec<String>>>,
    stores: Arc<Mutex<Vec<Arc<SignInStore>>>>,
}

impl SignIns {
    /// Notes what a connection was opened with.
    pub(crate) fn opened(&self, store: Option<&Arc<SignInStore>>) {
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        stores.extend(store.cloned());
    }

    /// What the newest connection was opened with.
    fn last(&self) -> Arc<SignInStore> {
        let stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(stores.last().expect("a connection with a sign-in"))
    }

    fn held(&self) -> Option<Arc<Held>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }

    /// Holds the next answers.
    fn hold(&self) -> Arc<Held> {
        let held = Arc::new(Held::default());
        let mut place = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(Arc::clone(&held));
        held
    }

    fn revoked(&self) -> Vec<String> {
        let revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        revoked.clone()
    }
}

#[async_trait]
impl SignInClient for SignIns {
    async fn begin(
        &self,
        _server: &OwnServer,
        known: Option<Credential>,
        redirect_uri: &str,
    ) -> Result<BegunLogin, String> {
        let known = known.map(|known| known.expose().to_owned());
        Ok(BegunLogin {
            login: Credential::new(redirect_uri),
            scope: known,
            url: "https://auth.example".to_owned(),
        })
    }

    fn is_answered(&self, login: &Credential, redirect: &str) -> bool {
        login.expose() == redirect
    }

    async fn finish(
        &self,
        server: &OwnServer,
        _login: &Credential,
        redirect: &str,
    ) -> Result<Credential, String> {
        let held = self.held();
        if let Some(held) = held {
            held.reached.notify_one();
            held.goes_on.notified().await;
        }
        match redirect {
            "refused" => Err("it is refused".to_owned()),
            redirect => Ok(Credential::new(format!("{} {redirect}", server.entry()))),
        }
    }

    async fn revoke(&self, _server: &OwnServer, tokens: &Credential) -> Result<(), String> {
        let mut revoked = self.revoked.lock().unwrap_or_else(PoisonError::into_inner);
        revoked.push(tokens.expose().to_owned());
        Ok(())
    }
}

/// Begins the sign-in of a user.
async fn begin(
    engine: &Engine,
    of: &str,
    owner: &ServerOwner,
    redirect: &str,
) -> Result<Option<String>, DirectoryError> {
    let directory = engine.directory().expect("a directory");
    let (by, of) = ("it".into(), name(of));
    let begun = directory.begin_sign_in(&by, &of, (owner, "tracker"), redirect);
    Ok(begun.await?.scope)
}

async fn finish(engine: &Engine, of: &str, redirect: &str) -> Result<OwnServer, DirectoryError> {
    let directory = engine.directory().expect("a directory");
    directory
        .finish_sign_in(&"it".into(), &name(of), redirect)
        .await
}

/// Signs a user in with this answer, and returns what its next connection has.
async fn signs_in(
    engine: &Engine,
    factory: &Factory,
    of: &str,
    (owner, redirect): (&ServerOwner, &str),
) -> Arc<SignInStore> {
    begin(engine, of, owner, redirect).await.expect("a sign-in");
    finish(engine, of, redirect).await.expect("tokens");
    offered(engine, &format!("user:{of}")).await;
    factory.sign_ins.last()
}

async fn tokens(store: &SignInStore) -> Option<String> {
    let tokens = store.load().await.expect("the store can be read");
    tokens.map(|tokens| tokens.expose().to_owned())
}

fn team() -> ServerOwner {
    ServerOwner::Team(name("research"))
}

/// Two gateways with one journal, and a server of the team.
async fn world() -> (Factory, [Engine; 2]) {
    let (factory, keys) = (Factory::default(), keys());
    let journal = Arc::new(MemoryJournal::default());
    let first = engine_over(Arc::clone(&journal) as _, &factory, keys.clone()).await;
    let second = Engine::builder(journal)
        .clock(Arc::new(Paused::default()))
        .master_keys(keys)
        .own_servers(Arc::new(factory.clone()))
        .build();
    let own = server(team(), "tracker", "https://mcp.example");
    set(&first, own, None).await.expect("a server");
    (factory, [first, second])
}

#[tokio::test(start_paused = true)]
async fn each_user_of_a_team_has_its_own_sign_in_and_any_gateway_ends_it() {
    let (factory, [first, second]) = world().await;
    begin(&first, "ann", &team(), "a").await.expect("a sign-in");
    // The answer is ann's.
    let bens = finish(&second, "ben", "a").await;
    assert!(matches!(bens, Err(DirectoryError::NoLogin)), "{bens:?}");
    let other = finish(&second, "ann", "b").await;
    assert!(matches!(other, Err(DirectoryError::NoLogin)), "{other:?}");
    finish(&second, "ann", "a").await.expect("tokens");
    // It is used once.
    let again = finish(&second, "ann", "a").await;
    assert!(matches!(again, Err(DirectoryError::NoLogin)), "{again:?}");
    offered(&first, "user:ann").await;
    let of_ann = factory.sign_ins.last();
    assert_eq!(
        tokens(&of_ann).await.as_deref(),
        Some("team:research/tracker a")
    );
    offered(&first, "user:ben").await;
    assert_eq!(tokens(&factory.sign_ins.last()).await, None);
    let of_ben = signs_in(&first, &factory, "ben", (&team(), "of ben")).await;
    assert_eq!(
        tokens(&of_ben).await.as_deref(),
        Some("team:research/tracker of ben")
    );
    assert_eq!(
        tokens(&of_ann).await.as_deref(),
        Some("team:research/tracker a")
    );
    let carl = begin(&first, "carl", &team(), "a").await;
    assert!(
        matches!(carl, Err(DirectoryError::Missing { .. })),
        "{carl:?}"
    );
    let anns = begin(&first, "ben", &user("ann"), "a").await;
    assert!(
        matches!(anns, Err(DirectoryError::Missing { .. })),
        "{anns:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_refused_or_too_late_is_used_up_and_changes_nothing() {
    let (factory, [first, _]) = world().await;
    let store = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    // The next sign-in knows of the one before, whose tokens stay meanwhile.
    let known = begin(&first, "ann", &team(), "refused").await;
    assert_eq!(
        known.expect("a sign-in").as_deref(),
        Some("team:research/tracker a")
    );
    let refused = finish(&first, "ann", "refused").await;
    let refused = refused.expect_err("it is refused").to_string();
    assert_eq!(refused, "it is refused");
    let again = finish(&first, "ann", "refused").await;
    assert!(matches!(again, Err(DirectoryError::NoLogin)), "{again:?}");
    // A sign-in can be confirmed for ten minutes.
    begin(&first, "ann", &team(), "late").await.expect("begun");
    tokio::time::advance(Duration::from_secs(601)).await;
    let late = finish(&first, "ann", "late").await;
    assert!(matches!(late, Err(DirectoryError::NoLogin)), "{late:?}");
    assert_eq!(
        tokens(&store).await.as_deref(),
        Some("team:research/tracker a")
    );
}

#[tokio::test(start_paused = true)]
async fn one_gateway_renews_and_the_others_wait_for_it() {
    let (factory, [first, second]) = world().await;
    let one = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    offered(&second, "user:ann/eve").await;
    let other = factory.sign_ins.last();
    assert!(!Arc::ptr_eq(&one, &other));
    let lock = one.lock().await.expect("the lock");
    let waiting = {
        let other = Arc::clone(&other);
        tokio::spawn(async move {
            let _lock = other.lock().await.expect("the lock");
            tokens(&other).await
        })
    };
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!waiting.is_finished());
    // Without the lock, nothing is stored.
    let without = other.store(&Credential::new("stolen")).await;
    assert!(matches!(without, Err(SignInError::Gone)), "{without:?}");
    let renewed = Credential::new("renewed");
    one.store(&renewed).await.expect("stored");
    drop(lock);
    assert_eq!(waiting.await.expect("it ends").as_deref(), Some("renewed"));
    // A lock that nothing was stored under is released, too.
    let dropped = one.lock().await.expect("the lock");
    let since = Instant::now();
    drop(dropped);
    drop(other.lock().await.expect("the lock"));
    assert!(since.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_gateway_that_died_with_the_lock_loses_it() {
    let (factory, [first, second]) = world().await;
    let dead = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    std::mem::forget(dead.lock().await.expect("the lock"));
    offered(&second, "user:ann/eve").await;
    let other = factory.sign_ins.last();
    let since = Instant::now();
    let lock = other.lock().await.expect("the lock");
    assert!(since.elapsed() >= Duration::from_secs(30));
    let late = dead.store(&Credential::new("late")).await;
    assert!(matches!(late, Err(SignInError::Gone)), "{late:?}");
    let renewed = Credential::new("renewed");
    other.store(&renewed).await.expect("stored");
    drop(lock);
    assert_eq!(tokens(&dead).await.as_deref(), Some("renewed"));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_overtaken_stores_nothing() {
    let (factory, [first, _]) = world().await;
    let store = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    let lock = store.lock().await.expect("the lock");
    let again = signs_in(&first, &factory, "ann", (&team(), "b")).await;
    let renewed = Credential::new("renewed");
    let late = store.store(&renewed).await;
    assert!(matches!(late, Err(SignInError::Gone)), "{late:?}");
    drop(lock);
    let newest = Some("team:research/tracker b");
    assert_eq!(tokens(&again).await.as_deref(), newest);
    // And one of a sign-in that was taken away, too.
    let lock = again.lock().await.expect("the lock");
    let directory = first.directory().expect("a directory");
    let team = team();
    let (by, ann) = ("it".into(), name("ann"));
    let end = directory.end_sign_in(&by, &ann, (&team, "tracker"));
    end.await.expect("it is gone");
    assert_eq!(factory.sign_ins.revoked(), ["team:research/tracker b"]);
    let late = again.store(&renewed).await;
    assert!(matches!(late, Err(SignInError::Gone)), "{late:?}");
    drop(lock);
    assert_eq!(tokens(&again).await, None);
}

#[tokio::test(start_paused = true)]
async fn another_sign_in_is_another_connection_and_a_renewal_is_not() {
    let (factory, [first, _]) = world().await;
    let store = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    let opened = factory.opened().len();
    let lock = store.lock().await.expect("the lock");
    let renewed = Credential::new("renewed");
    store.store(&renewed).await.expect("stored");
    drop(lock);
    // One that has only begun changes nothing, either.
    begin(&first, "ann", &team(), "b").await.expect("a sign-in");
    offered(&first, "user:ann").await;
    assert_eq!(factory.opened().len(), opened);
    finish(&first, "ann", "b").await.expect("tokens");
    offered(&first, "user:ann").await;
    assert_eq!(factory.opened().len(), opened + 1);
}

#[tokio::test(start_paused = true)]
async fn tokens_are_of_one_address_and_go_with_the_server() {
    let (factory, [first, _]) = world().await;
    let old = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    signs_in(&first, &factory, "ben", (&team(), "b")).await;
    let counted = |engine: &Engine| {
        let engine = engine.clone();
        async move {
            let counts = engine.secret_counts().await.expect("the journal");
            counts.into_values().sum::<u64>()
        }
    };
    assert_eq!(counted(&first).await, 2);
    // Another key is the same server, another address is not.
    let keyed = server(team(), "tracker", "https://mcp.example");
    set(&first, keyed, Some("key")).await.expect("a server");
    assert!(tokens(&old).await.is_some());
    let moved = server(team(), "tracker", "https://moved.example");
    set(&first, moved, None).await.expect("a server");
    assert_eq!(counted(&first).await, 0);
    offered(&first, "user:ann").await;
    assert_eq!(tokens(&factory.sign_ins.last()).await, None);
    let moved = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    let removed = {
        let directory = first.directory().expect("a directory");
        let by = "admin".into();
        directory.remove_server(&by, &team(), "tracker").await
    };
    removed.expect("it is gone");
    assert_eq!(counted(&first).await, 0);
    // Set again at the same address, it has none.
    let again = server(team(), "tracker", "https://moved.example");
    set(&first, again, None).await.expect("a server");
    assert_eq!(tokens(&moved).await, None);
}

#[tokio::test(start_paused = true)]
async fn tokens_at_a_teams_server_go_with_the_user_who_leaves_the_team() {
    let (factory, [first, _]) = world().await;
    let of_ann = signs_in(&first, &factory, "ann", (&team(), "a")).await;
    let of_ben = signs_in(&first, &factory, "ben", (&team(), "b")).await;
    let moves = async |to: Option<&str>| {
        let update = UserUpdate {
            team: Some(to.map(name)),
            ..UserUpdate::default()
        };
        let directory = first.directory().expect("a directory");
        let (by, ann) = ("admin".into(), name("ann"));
        let moved = directory.update_user(&by, &ann, &update).await;
        moved.expect("a user");
    };
    moves(Some("research")).await;
    assert!(tokens(&of_ann).await.is_some());
    moves(None).await;
    moves(Some("research")).await;
    assert_eq!(tokens(&of_ann).await, None);
    assert!(tokens(&of_ben).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_needs_no_sign_in_or_cannot_have_one_has_none() {
    let factory = Factory::default();
    let unkeyed = engine(&factory, None).await;
    let own = server(user("ann"), "tracker", "https://mcp.example");
    set(&unkeyed, own, None).await.expect("a server");
    let refused = begin(&unkeyed, "ann", &user("ann"), "a").await;
    assert!(
        matches!(
            refused,
            Err(DirectoryError::Secret(SecretError::NotConfigured))
        ),
        "{refused:?}"
    );
    offered(&unkeyed, "user:ann").await;
    assert_eq!(factory.opened().len(), 1);
    let stores = || factory.sign_ins.stores.lock().map(|stores| stores.len());
    assert_eq!(stores().ok(), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_sign_in_that_is_finished_while_its_server_goes_leaves_no_tokens() {
    for is_moved in [false, true] {
        let (factory, [first, second]) = world().await;
        let held = factory.sign_ins.hold();
        begin(&first, "ann", &team(), "a").await.expect("a sign-in");
        let goes = async {
            held.reached.notified().await;
            let directory = first.directory().expect("a directory");
            if is_moved {
                let moved = server(team(), "tracker", "https://moved.example");
                set(&first, moved, None).await.expect("a server");
            } else {
                let (by, team) = ("admin".into(), team());
                let removed = directory.remove_server(&by, &team, "tracker");
                removed.await.expect("it is gone");
            }
            held.goes_on.notify_one();
        };
        let (finished, ()) = tokio::join!(finish(&second, "ann", "a"), goes);
        assert!(
            matches!(finished, Err(DirectoryError::Missing { .. })),
            "{finished:?}"
        );
        let counts = first.secret_counts().await.expect("the journal");
        assert_eq!(counts.into_values().sum::<u64>(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_of_one_address_are_none_at_another_even_where_they_were_left() {
    let (factory, keys) = (Factory::default(), keys());
    let journal = Arc::new(MemoryJournal::default());
    let engine = engine_over(Arc::clone(&journal) as _, &factory, keys).await;
    let own = server(team(), "tracker", "https://mcp.example");
    set(&engine, own.clone(), None).await.expect("a server");
    signs_in(&engine, &factory, "ann", (&team(), "a")).await;
    // As a program does that knows nothing of sign-ins, or was broken off.
    let moved = server(team(), "tracker", "https://moved.example");
    let change = DirectoryChange {
        action: ChangeAction::Changed,
        at: WallTime::from_millis(1),
        by: "it".into(),
        entry: DirectoryEntry::Server(moved),
        revision: 2,
    };
    let secrets = journal.secrets().expect("it keeps secrets");
    let changed = secrets.change_with_secrets(&change, &[]).await;
    assert_eq!(changed.expect("the journal"), Changed::Stored);
    offered(&engine, "user:ann").await;
    assert_eq!(tokens(&factory.sign_ins.last()).await, None);
    let directory = engine.directory().expect("a directory");
    let moved = directory
        .server(&team(), "tracker")
        .await
        .expect("a server");
    let signed_in = directory.is_signed_in(&name("ann"), &moved.0).await;
    assert!(!signed_in.expect("the journal"));
    // A new sign-in there knows nothing of the old one.
    let known = begin(&engine, "ann", &team(), "b").await;
    assert_eq!(known.expect("a sign-in"), None);
}
