//! Servers of users and teams: who has them, over which connections, and for how long.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_domain::directory::{EntryName, OwnEndpoint, OwnServer, ServerOwner};
use jackfield_domain::outcome::ToolResult;
use jackfield_engine::{
    Credential, DirectoryError, Engine, MasterKeys, OpenedServer, OwnServerFactory,
    OwnServerLimits, SignInClient, TurnOptions, UserUpdate,
};
use jackfield_ports::journal::Journal;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxStatus};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, Gate};

use crate::fixture::{Log, OneTool, Paused, options};
use crate::own_sign_ins::SignIns;
use crate::toolbox_sources::caller;

const IDLE: Duration = Duration::from_secs(600);

/// Notes what was opened, and which connections are still open.
#[derive(Clone, Default)]
pub(crate) struct Factory {
    opened: Arc<Mutex<Vec<(String, String)>>>,
    alive: Arc<Mutex<Vec<std::sync::Weak<dyn jackfield_ports::toolbox::Toolbox>>>>,
    /// How many may be open, if not three.
    open: Option<usize>,
    pub(crate) sign_ins: SignIns,
}

impl Factory {
    /// Owner and address of each opened connection with its secrets, in order.
    pub(crate) fn opened(&self) -> Vec<(String, String)> {
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn open_now(&self) -> usize {
        let alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.iter().filter(|one| one.strong_count() > 0).count()
    }
}

impl OwnServerFactory for Factory {
    fn limits(&self) -> OwnServerLimits {
        OwnServerLimits {
            idle: IDLE,
            open: self.open.unwrap_or(3),
            per_team: 1,
            per_user: 2,
        }
    }

    fn check(&self, server: &OwnServer) -> Result<(), String> {
        match &server.endpoint {
            OwnEndpoint::Http(_) => Ok(()),
            OwnEndpoint::Program(name) => Err(format!("no program `{name}`")),
        }
    }

    fn open(&self, opened: &OpenedServer) -> RegisteredToolbox {
        let secrets = opened
            .secrets
            .iter()
            .map(|(name, value)| format!("{name}={}", value.expose()));
        let secrets: Vec<String> = secrets.collect();
        let said = (opened.server.entry().to_string(), secrets.join(","));
        self.opened
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(said);
        self.sign_ins.opened(opened.sign_in.as_ref());
        let mut toolbox = OneTool::new(&Log::default(), |_| {
            std::future::ready(ToolResult::text("done".to_owned()))
        });
        toolbox.id = opened.id.clone();
        let toolbox: Arc<dyn jackfield_ports::toolbox::Toolbox> = Arc::new(toolbox);
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        alive.push(Arc::downgrade(&toolbox));
        RegisteredToolbox {
            status: ToolboxStatus {
                server: Some(opened.server.identity()),
                ..ToolboxStatus::default()
            },
            toolbox,
        }
    }

    fn sign_in_client(&self) -> Option<&dyn SignInClient> {
        Some(&self.sign_ins)
    }
}

pub(crate) fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

pub(crate) fn user(text: &str) -> ServerOwner {
    ServerOwner::User(name(text))
}

pub(crate) fn server(owner: ServerOwner, name: &str, url: &str) -> OwnServer {
    OwnServer {
        endpoint: OwnEndpoint::Http(url.into()),
        is_disabled: false,
        is_removed: false,
        name: name.into(),
        owner,
        secrets: Vec::new(),
    }
}

pub(crate) async fn engine(factory: &Factory, keys: Option<MasterKeys>) -> Engine {
    engine_over(Arc::new(MemoryJournal::default()), factory, keys).await
}

pub(crate) async fn engine_over(
    journal: Arc<dyn Journal>,
    factory: &Factory,
    keys: Option<MasterKeys>,
) -> Engine {
    let engine = Engine::builder(journal)
        .clock(Arc::new(Paused::default()))
        .master_keys(keys)
        .own_servers(Arc::new(factory.clone()))
        .build();
    let directory = engine.directory().expect("a directory");
    let by = "admin".into();
    directory
        .add_team(&by, name("research"))
        .await
        .expect("a team");
    for (user, team) in [
        ("ann", Some("research")),
        ("ben", Some("research")),
        ("carl", None),
    ] {
        let added = directory.add_user(&by, name(user), team.map(name)).await;
        added.expect("a user");
    }
    engine
}

pub(crate) fn keys() -> Option<MasterKeys> {
    let key = MasterKeys::generate().expect("random numbers");
    MasterKeys::parse(key.expose()).ok()
}

pub(crate) async fn set(
    engine: &Engine,
    server: OwnServer,
    secret: Option<&str>,
) -> Result<OwnServer, DirectoryError> {
    let directory = engine.directory().expect("a directory");
    let secret = secret.map(|secret| ("Key".into(), Credential::new(secret)));
    let secrets: Vec<_> = secret.into_iter().collect();
    directory
        .set_server(&"admin".into(), server, &secrets)
        .await
}

/// The toolboxes, and the digests of their tools, that a turn of this principal has.
pub(crate) async fn offered(engine: &Engine, principal: &str) -> Vec<(String, String)> {
    let options = TurnOptions {
        caller: Some(Arc::new(caller(principal))),
        ..options()
    };
    let offer = engine.tools(&options).await;
    assert_eq!(offer.problems, [], "{principal}");
    let tools = offer.catalog.iter();
    tools
        .map(|tool| (tool.origin.toolbox.to_string(), tool.digest.to_hex()))
        .collect()
}

fn toolboxes(offered: &[(String, String)]) -> Vec<&str> {
    offered.iter().map(|(toolbox, _)| &**toolbox).collect()
}

#[tokio::test(start_paused = true)]
async fn each_principal_has_its_own_servers_over_its_own_connections() {
    let factory = Factory::default();
    let engine = engine(&factory, keys()).await;
    for (owner, secret) in [("ann", "of ann"), ("ben", "of ben")] {
        let own = server(user(owner), "tracker", "https://mcp.example/one");
        set(&engine, own, Some(secret)).await.expect("a server");
    }
    let ann = offered(&engine, "user:ann").await;
    let ben = offered(&engine, "user:ben").await;
    assert_eq!(toolboxes(&ann), ["own-tracker"]);
    assert_eq!(toolboxes(&ben), ["own-tracker"]);
    assert_ne!(ann, ben, "the servers of two people are the same one");
    for stranger in ["user:carl", "ann", "team:research", "user:nobody"] {
        assert_eq!(offered(&engine, stranger).await, []);
    }
    // Again, over the same connection.
    assert_eq!(offered(&engine, "user:ann").await, ann);
    let expected = [
        ("user:ann/tracker", "Key=of ann"),
        ("user:ben/tracker", "Key=of ben"),
    ];
    let expected = expected.map(|(owner, secret)| (owner.to_owned(), secret.to_owned()));
    assert_eq!(factory.opened(), expected);
    // An end user of ann's has them, over another connection.
    assert_eq!(offered(&engine, "user:ann/eve").await, ann);
    assert_eq!(factory.opened().len(), 3);
    assert_eq!(factory.open_now(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_not_sent_to_the_old_address() {
    let (factory, gate) = (Factory::default(), Gate::new());
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::default()));
    let engine = engine_over(Arc::new(journal.clone()), &factory, keys()).await;
    let old = server(user("ann"), "tracker", "https://old.example");
    set(&engine, old, Some("old")).await.expect("a server");
    journal.hold_secrets(&gate);
    let options = TurnOptions {
        caller: Some(Arc::new(caller("user:ann"))),
        ..options()
    };
    let change = async {
        gate.reached().await;
        let new = server(user("ann"), "tracker", "https://new.example");
        set(&engine, new, Some("new")).await.expect("a server");
        gate.open();
    };
    let (offer, ()) = tokio::join!(engine.tools(&options), change);
    assert_eq!(factory.opened(), []);
    let problems = offer.problems.iter().map(|problem| &*problem.message);
    let problems: Vec<&str> = problems.collect();
    assert_eq!(problems, ["its owner changes it now; the next turn has it"]);
    offered(&engine, "user:ann").await;
    let opened = ("user:ann/tracker".to_owned(), "Key=new".to_owned());
    assert_eq!(factory.opened(), [opened]);
}

#[tokio::test(start_paused = true)]
async fn two_turns_that_begin_at_once_have_one_connection() {
    let (factory, gate) = (Factory::default(), Gate::new());
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::default()));
    let engine = engine_over(Arc::new(journal.clone()), &factory, keys()).await;
    let own = server(user("ann"), "tracker", "https://mcp.example");
    set(&engine, own, Some("key")).await.expect("a server");
    journal.hold_secrets(&gate);
    let begin = async {
        gate.reached().await;
        gate.open();
    };
    let (one, other, ()) = tokio::join!(
        offered(&engine, "user:ann"),
        offered(&engine, "user:ann"),
        begin
    );
    assert_eq!(one, other);
    assert_eq!(factory.opened().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_teams_server_is_each_of_its_users_and_follows_the_team() {
    let factory = Factory::default();
    let engine = engine(&factory, None).await;
    let team = ServerOwner::Team(name("research"));
    let teams = server(team.clone(), "files", "https://mcp.example/files");
    set(&engine, teams.clone(), None).await.expect("a server");
    for user in ["user:ann", "user:ben"] {
        assert_eq!(toolboxes(&offered(&engine, user).await), ["team-files"]);
    }
    assert_eq!(factory.opened().len(), 2, "two users share a connection");
    let directory = engine.directory().expect("a directory");
    let leaves = UserUpdate {
        team: Some(None),
        ..UserUpdate::default()
    };
    let by = "admin".into();
    directory
        .update_user(&by, &name("ben"), &leaves)
        .await
        .expect("a user");
    assert_eq!(offered(&engine, "user:ben").await, []);
    assert_eq!(factory.open_now(), 1);
    directory
        .switch_server(&by, &team, "files", true)
        .await
        .expect("a server");
    assert_eq!(offered(&engine, "user:ann").await, []);
    directory
        .switch_server(&by, &team, "files", false)
        .await
        .expect("a server");
    assert_eq!(
        toolboxes(&offered(&engine, "user:ann").await),
        ["team-files"]
    );
    directory
        .remove_server(&by, &team, "files")
        .await
        .expect("a server");
    assert_eq!(offered(&engine, "user:ann").await, []);
    assert_eq!(factory.open_now(), 0);
    let gone = directory.switch_server(&by, &team, "files", false).await;
    assert!(
        matches!(gone, Err(DirectoryError::Missing { .. })),
        "{gone:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn another_server_of_the_name_is_another_server_and_another_key_is_not() {
    let factory = Factory::default();
    let engine = engine(&factory, keys()).await;
    let first = server(user("ann"), "tracker", "https://mcp.example/one");
    set(&engine, first.clone(), Some("old"))
        .await
        .expect("a server");
    let before = offered(&engine, "user:ann").await;
    set(&engine, first, Some("new")).await.expect("a server");
    assert_eq!(offered(&engine, "user:ann").await, before);
    let moved = server(user("ann"), "tracker", "https://mcp.example/two");
    set(&engine, moved, Some("new")).await.expect("a server");
    assert_ne!(offered(&engine, "user:ann").await, before);
    let secrets: Vec<String> = factory
        .opened()
        .into_iter()
        .map(|(_, secret)| secret)
        .collect();
    assert_eq!(secrets, ["Key=old", "Key=new", "Key=new"]);
    assert_eq!(factory.open_now(), 1, "a connection of before is open");
}

#[tokio::test(start_paused = true)]
async fn connections_and_servers_are_bounded_and_idle_ones_are_closed() {
    let factory = Factory::default();
    let engine = engine(&factory, None).await;
    for nth in ["one", "two"] {
        let own = server(user("ann"), nth, "https://mcp.example/");
        set(&engine, own, None).await.expect("a server");
        let own = server(user("ben"), nth, "https://mcp.example/");
        set(&engine, own, None).await.expect("a server");
    }
    let third = set(
        &engine,
        server(user("ann"), "three", "https://mcp.example/"),
        None,
    )
    .await;
    assert!(
        matches!(third, Err(DirectoryError::TooManyServers { max: 2, .. })),
        "{third:?}"
    );
    let changed = server(user("ann"), "two", "https://mcp.example/changed");
    set(&engine, changed, None).await.expect("a change");
    offered(&engine, "user:ann").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    offered(&engine, "user:ben").await;
    assert_eq!(
        factory.open_now(),
        3,
        "more than are allowed, or one too few"
    );
    offered(&engine, "user:ben").await;
    assert_eq!(factory.opened().len(), 4, "the one used last was closed");
    tokio::time::sleep(IDLE * 3).await;
    assert_eq!(factory.open_now(), 0, "idle connections stay open");
    offered(&engine, "user:ann").await;
    assert_eq!(factory.open_now(), 2);
    tokio::time::sleep(IDLE * 3).await;
    assert_eq!(
        factory.open_now(),
        0,
        "nothing watches the connections of later turns"
    );
}

/// A key that names end users has a connection for each of them.
#[tokio::test(start_paused = true)]
async fn a_user_with_many_end_users_closes_its_own_connections_alone() {
    let factory = Factory {
        open: Some(8),
        ..Factory::default()
    };
    let engine = engine(&factory, None).await;
    for owner in ["ann", "ben", "carl"] {
        let own = server(user(owner), "tracker", "https://mcp.example/");
        set(&engine, own, None).await.expect("a server");
    }
    for honest in ["user:ben", "user:carl"] {
        offered(&engine, honest).await;
    }
    for nth in 0..20 {
        tokio::time::advance(Duration::from_secs(1)).await;
        offered(&engine, &format!("user:ann/{nth}")).await;
    }
    assert_eq!(factory.open_now(), 6, "the last quarter is for others");
    for honest in ["user:ben", "user:carl"] {
        offered(&engine, honest).await;
    }
    assert_eq!(factory.opened().len(), 22, "the others were closed");
}

#[tokio::test]
async fn names_are_bounded_and_those_of_before_can_be_used_again() {
    let engine = engine(&Factory::default(), None).await;
    let directory = engine.directory().expect("a directory");
    let (by, ann) = ("admin".into(), user("ann"));
    let named = |name: &str| server(user("ann"), name, "https://mcp.example/");
    set(&engine, named("kept"), None).await.expect("a server");
    for nth in 1..200 {
        let name = format!("n{nth}");
        set(&engine, named(&name), None).await.expect("a server");
        let removed = directory.remove_server(&by, &ann, &name);
        removed.await.expect("removed");
    }
    let refused = set(&engine, named("one-more"), None).await;
    let refused = refused.expect_err("too many names").to_string();
    assert!(
        refused.starts_with("user:ann has used 200 names of servers"),
        "{refused}"
    );
    for name in ["kept", "n7"] {
        set(&engine, named(name), None).await.expect("a server");
    }
    let refused = set(&engine, named("n8"), None).await;
    assert!(
        matches!(refused, Err(DirectoryError::TooManyServers { max: 2, .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_is_not_allowed_is_not_stored_and_secrets_need_a_master_key() {
    let factory = Factory::default();
    let engine = engine(&factory, None).await;
    let fine = server(user("ann"), "a", "https://mcp.example/");
    let program = OwnServer {
        endpoint: OwnEndpoint::Program("sh".into()),
        ..fine.clone()
    };
    let refused = set(&engine, program, None).await.expect_err("a program");
    assert_eq!(refused.to_string(), "no program `sh`");
    let template = server(user("ann"), "a", "https://mcp.example/${HOME}");
    let refused = set(&engine, template, None).await;
    assert!(
        matches!(refused, Err(DirectoryError::InvalidServer(_))),
        "{refused:?}"
    );
    let nobodys = server(user("nobody"), "a", "https://mcp.example/");
    let refused = set(&engine, nobodys, None).await;
    assert!(
        matches!(refused, Err(DirectoryError::Missing { .. })),
        "{refused:?}"
    );
    let refused = set(&engine, fine, Some("secret")).await;
    assert!(
        matches!(refused, Err(DirectoryError::Secret(_))),
        "{refused:?}"
    );
    let directory = engine.directory().expect("a directory");
    assert_eq!(directory.servers(&user("ann")).await.expect("a list"), []);
}
