//! Signing in at a server with an address, and out.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Asking, Jackfield, McpEndpoint, McpServer, jackfield, kept, tool};
use crate::keys::FileKeyring;

/// A server that wants a sign-in, and a person with a folder of data.
struct SignInWorld {
    data: TempDir,
    server: McpEndpoint,
}

impl SignInWorld {
    fn new() -> Self {
        Self {
            data: tempfile::tempdir().expect("a folder can be made"),
            server: McpEndpoint::new(json!({
                "tools": [tool("get_issue")],
                "calls": { "get_issue": [{ "text": "#7 is open" }] },
                "http": { "sign_in": {} },
            })),
        }
    }

    fn run(&self, arguments: &[&str]) -> Jackfield {
        let server = self.server.with(&json!({ "trust": true }));
        let run = jackfield([]).more(arguments).servers([("tracker", server)]);
        run.env("XDG_DATA_HOME", self.data.path())
    }

    /// The files that keep a sign-in.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.data.path().join("jackfield/mcp-sign-in"));
        let paths = entries
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        paths.collect()
    }
}

/// Signs in with this command; the test is the browser. Returns what was said on standard error.
async fn signs_in(login: Jackfield) -> String {
    let mut running = login.start();
    running.out.until("\n").await;
    let first = visit(running.out.so_far().trim()).await;
    let last = visit(&first.expect("the browser is sent on")).await;
    assert_eq!(last, None);
    let ran = running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.err
}

/// Opens an address, and returns where the browser is sent.
async fn visit(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("http://")
        .expect("an address of this machine");
    let (address, path) = rest.split_once('/').expect("an address with a path");
    let asking = Asking::at(address, "GET", &format!("/{path}"));
    let answer = asking.answered().await;
    answer.headers.get("location").cloned()
}

#[tokio::test]
async fn a_person_signs_in_once_and_the_servers_tools_are_called() {
    let world = SignInWorld::new();
    for arguments in [["mcp", "test"], ["tools", "list"], ["mcp", "list"]] {
        let ran = world.run(&arguments).run().await;
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains("wants a sign-in"), "{arguments:?}: {said}");
        assert!(
            said.contains("`jackfield mcp login tracker`"),
            "{arguments:?}: {said}"
        );
    }
    let ran = world.run(&["doctor"]).run().await;
    assert!(
        ran.out.contains("`jackfield mcp login tracker`"),
        "{}",
        ran.out
    );
    let said = signs_in(world.run(&["mcp", "login", "tracker"])).await;
    assert!(said.contains("it asks for: read"), "{said}");
    // There is no screen.
    assert!(!said.contains("a browser was started"), "{said}");
    let [file] = &world.files()[..] else {
        panic!("{:?}", world.files());
    };
    assert!(
        said.contains(&format!("the tokens are in {}", file.display())),
        "{said}"
    );
    let mode = fs::metadata(file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let claude = ScriptedClaude::start([
        ScriptTurn::call("tracker__get_issue", &json!({})),
        ScriptTurn::text("It is open.").when("#7 is open"),
    ])
    .await;
    let ask = world.run(&["ask", "Is it open?"]).at(&claude.base_url());
    ask.run().await.answers("It is open.\n");
    kept(&claude);
    // An ended token is renewed without a person.
    world.server.server.end_access();
    let ran = world.run(&["mcp", "test"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    assert_eq!(world.server.count("gives refresh_token"), 1);
    assert_eq!(world.server.count("registers"), 1);
    let ran = world.run(&["mcp", "logout", "tracker"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.says("signed out: tracker");
    assert_eq!((world.files(), world.server.count("revokes")), (vec![], 1));
    let ran = world.run(&["mcp", "test"]).run().await;
    assert_eq!(ran.code, Some(8), "{}", ran.out);
    let ran = world.run(&["mcp", "logout", "tracker"]).run().await;
    ran.says("nobody was signed in: tracker");
    assert_eq!(world.server.count("violation"), 0);
}

#[tokio::test]
async fn the_chosen_browser_is_started_with_the_address() {
    let world = SignInWorld::new();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (browser, seen) = (folder.path().join("browser"), folder.path().join("seen"));
    let script = format!(
        "#!/bin/sh\nprintf %s \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n",
        seen.display()
    );
    fs::write(&browser, script).expect("a program can be written");
    fs::set_permissions(&browser, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let login = world.run(&["mcp", "login", "tracker"]);
    let mut running = login.env("BROWSER", &browser).start();
    running.out.until("\n").await;
    running.err.until("a browser was started with it").await;
    let address = running.out.so_far().trim().to_owned();
    while !seen.exists() {
        tokio::task::yield_now().await;
    }
    assert_eq!(fs::read_to_string(&seen).expect("an address"), address);
    let first = visit(&address).await;
    visit(&first.expect("the browser is sent on")).await;
    let ran = running.end().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[tokio::test]
async fn tokens_are_in_the_keyring_where_there_is_one() {
    let world = SignInWorld::new();
    let keyring = FileKeyring::new();
    let login = keyring.of(world.run(&["mcp", "login", "tracker", "--no-browser"]));
    let said = signs_in(login).await;
    assert!(said.contains("the tokens are in the keyring"), "{said}");
    let [file] = &world.files()[..] else {
        panic!("{:?}", world.files());
    };
    let text = fs::read_to_string(file).expect("a file");
    assert_eq!(text, r#"{"kept":"keyring"}"#);
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let account = format!("mcp-{}", stem.unwrap_or_default());
    assert!(
        keyring
            .key(&account)
            .is_some_and(|kept| kept.contains("refresh-"))
    );
    let ran = keyring.of(world.run(&["mcp", "test"])).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.out);
    let ran = keyring
        .of(world.run(&["mcp", "logout", "tracker"]))
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(keyring.key(&account), None);
}

#[tokio::test]
async fn a_sign_in_that_cannot_be_had_is_refused_with_the_reason() {
    let world = SignInWorld::new();
    let local = McpServer::of("get_weather", &json!([{ "text": "Cloudy" }]));
    let servers = || {
        [
            ("local", local.entry()),
            ("off", world.server.with(&json!({ "enabled": false }))),
            (
                "keyed",
                world
                    .server
                    .with(&json!({ "headers": { "authorization": "Bearer a-key" } })),
            ),
        ]
    };
    for (id, why) in [
        ("local", "it is started by a command"),
        ("off", "it is switched off"),
        ("keyed", "it has a key in its `headers`"),
    ] {
        let login = jackfield([]).more(&["mcp", "login", id]).servers(servers());
        login.run().await.stops(2, why);
    }
    let strange = McpEndpoint::new(json!({
        "http": { "sign_in": { "resource": { "resource": "https://evil.example/mcp" } } },
    }));
    let login =
        jackfield(["mcp", "login", "strange"]).servers([("strange", strange.with(&json!({})))]);
    let ran = login.run().await;
    ran.stops(
        8,
        "its metadata is about another server, `https://evil.example/mcp`",
    );
    assert_eq!(strange.count("asks for"), 0);
}
