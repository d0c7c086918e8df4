//! Makes a journal with users by the real program: by commands, and by requests to gateways, the last of which is killed.

use jackfield_domain::digest::Digest;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::logins::Login;
use jackfield_testkit::server::Gate;
use jackfield_testservers::openid::ScriptedOpenId;
use serde_json::{Value, json};

use super::world::{ANNS, MODEL, World};
use super::{AccountsJournal, AccountsSecrets};
use crate::harness::{Asking, Gateway, McpEndpoint, tool};

/// Makes the journal, and returns the secrets of its keys and logins.
pub(crate) async fn make(journal: &AccountsJournal) -> AccountsSecrets {
    let mut secrets = AccountsSecrets::new();
    let world = World::new(None).await;
    adds_people(&world, journal, &mut secrets).await;
    let gateway = world.gateway(journal).await;
    brings(&gateway, &secrets).await;
    signs_in_at_a_server(&world, journal, &gateway, &secrets).await;
    logs_in(&world, &gateway, &mut secrets).await;
    spends(&gateway, &secrets).await;
    waits(&gateway, &secrets).await;
    world.end(gateway).await;
    is_killed(journal, &secrets).await;
    secrets
}

/// Adds a login for each that there is, of the same client, which lasts: those of the program are over after half a day.
pub(crate) async fn add_lasting_logins(journal: &dyn Journal, secrets: &mut AccountsSecrets) {
    let logins = journal.logins().expect("logins");
    for name in ["login-ann", "login-sign-in"] {
        let (cookie, secret) = secrets[name].split_once('=').expect("a cookie");
        let found = logins.find_login(&Digest::of(secret.as_bytes())).await;
        let found = found.expect("an answer").expect("a login");
        let secret = Digest::of(format!("{secret} lasts").as_bytes()).to_hex();
        let lasting = Login {
            client: found.client,
            expires: WallTime::from_rfc3339("2999-01-01T00:00:00Z").expect("a time"),
            secret: Digest::of(secret.as_bytes()),
        };
        let stored = logins.store_login(&lasting, WallTime::default()).await;
        stored.expect("stored");
        let cookie = format!("{cookie}={secret}");
        secrets.insert(format!("{name}-lasting"), cookie);
    }
}

/// Teams, users, keys, and what became of them.
async fn adds_people(world: &World, journal: &AccountsJournal, secrets: &mut AccountsSecrets) {
    let run = async |arguments: &[&str], stdin: &str| world.done(journal, arguments, stdin).await;
    for command in PEOPLE {
        run(command, "").await;
    }
    let mut ids = AccountsSecrets::new();
    for (name, arguments) in KEYS {
        let create = [&["keys", "create", "--json", "--label", name], *arguments].concat();
        let made: Value = serde_json::from_str(&run(&create, "").await.out).expect("JSON");
        ids.insert((*name).to_owned(), text(&made["id"]));
        secrets.insert((*name).to_owned(), text(&made["secret"]));
    }
    for (name, overlap) in [("ann-rotated", "36500d"), ("carl-replaced", "0s")] {
        let rotate = ["keys", "rotate", &ids[name], "--overlap", overlap];
        let rotated = run(&rotate, "").await.out.trim().to_owned();
        secrets.insert(format!("{name}-anew"), rotated);
    }
    run(&["keys", "revoke", &ids["ann-revoked"]], "").await;
    run(&["users", "move", "ben", "--team", "support"], "").await;
    run(&["users", "disable", "ben"], "").await;
    run(
        &["users", "set-key", "carl", "claude"],
        "sk-of-carl-0123456789\n",
    )
    .await;
    run(&["users", "remove-key", "carl", "claude"], "").await;
    for (owner, name, server) in [("teams", "research", "rain"), ("users", "carl", "weather")] {
        let set = [owner, "set-server", name, server, "--program", "weather"];
        let set = [&set[..], &["--variable", "API_KEY"]].concat();
        run(&set, &format!("key-of-{name}-0123456789\n")).await;
    }
}

/// What users bring by themselves.
async fn brings(gateway: &Gateway, secrets: &AccountsSecrets) {
    let key = "/api/v1/provider-keys/openai";
    let given = json!({ "key": ANNS });
    let set = gateway.api(&secrets["ann-laptop"], "PUT", key, given).await;
    set.is(200);
    let (notes, carl) = ("/api/v1/own-servers/notes", &secrets["carl"]);
    let given = json!({
        "url": "https://mcp.example/mcp",
        "headers": { "Authorization": "Bearer of-carl-0123456789" },
    });
    gateway.api(carl, "PUT", notes, given).await.is(200);
    let off = json!({ "enabled": false });
    gateway.api(carl, "PATCH", notes, off).await.is(200);
}

/// The sign-in of a user at the server of its team.
async fn signs_in_at_a_server(
    world: &World,
    journal: &AccountsJournal,
    gateway: &Gateway,
    secrets: &AccountsSecrets,
) {
    let server = McpEndpoint::new(json!({
        "tools": [tool("get_issue")],
        "http": { "sign_in": {} },
    }));
    let url = server.server.url();
    let set = ["teams", "set-server", "support", "tracker", "--url", &url];
    world.done(journal, &set, "").await;
    let (eve, path) = (
        &secrets["eve"],
        "/api/v1/own-servers/tracker/sign-in?team=support",
    );
    let begun = gateway.api(eve, "POST", path, json!({})).await.is(200);
    let url = text(&begun["url"]);
    let rest = url.strip_prefix("http://").expect("an address");
    let (address, path) = rest.split_once('/').expect("a path");
    let asking = Asking::at(address, "GET", &format!("/{path}"));
    let redirect = asking.answered().await.header("location").to_owned();
    let given = json!({ "redirect": redirect });
    let ended = gateway.api(eve, "POST", "/api/v1/sign-ins", given).await;
    assert_eq!(ended.is(200)["signed_in"], true);
}

/// Logins of browsers: one by a key, and one by a sign-in.
async fn logs_in(world: &World, gateway: &Gateway, secrets: &mut AccountsSecrets) {
    let log_in = gateway.raw("POST", "/api/v1/login");
    let log_in = log_in.header("x-api-key", &secrets["ann-laptop"]);
    let answer = log_in.answered().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    secrets.insert("login-ann".to_owned(), cookie(answer.header("set-cookie")));
    let signed_in = signs_in(gateway, &world.openid).await;
    secrets.insert("login-sign-in".to_owned(), signed_in);
}

/// Signs in at the provider, and returns the cookie of the login.
async fn signs_in(gateway: &Gateway, provider: &ScriptedOpenId) -> String {
    let begun = gateway.get("/api/v1/login/oidc").answered().await;
    assert_eq!(begun.status, 303, "{begun:?}");
    let back = provider.sign_in(begun.header("location"));
    let place = format!("http://{}", gateway.address());
    let path = back.strip_prefix(&place).expect("this gateway");
    let answer = gateway.get(path);
    let answer = answer.header("cookie", &cookie(begun.header("set-cookie")));
    let answer = answer.answered().await;
    assert_eq!(answer.header("location"), "/", "{answer:?}");
    cookie(answer.header("set-cookie"))
}

/// Turns that end, with and without tools, and requests that are passed through.
async fn spends(gateway: &Gateway, secrets: &AccountsSecrets) {
    for name in ["ann-laptop", "carl", "dan"] {
        let body = json!({ "model": "openai/small-1", "max_tokens": 10,
            "messages": [{ "role": "user", "content": "hi" }] });
        let path = "/v1/chat/completions";
        let asking = gateway.with_key(&secrets[name], "POST", path, &body);
        let answer = asking.header("x-jackfield-tools", "none").answered().await;
        assert_eq!(answer.header("x-jackfield-path"), "passthrough");
        answer.is(200);
    }
    for (name, message, tools) in [
        ("ann-laptop", "Weather?", "team-rain/*"),
        ("carl", "Weather here?", "own-weather/*"),
    ] {
        let session = session(gateway, &secrets[name]).await;
        let turn = turn(gateway, &secrets[name], &session, message, tools).await;
        assert_eq!(turn["status"], "ended", "{turn}");
    }
    // So much text is kept apart from its step.
    let dan = &secrets["dan"];
    let session = session(gateway, dan).await;
    turn(gateway, dan, &session, &long(), "builtin/*").await;
    let title = json!({ "title": TITLE });
    gateway.api(dan, "PATCH", &session, title).await.is(200);
}

/// Turns that wait: for a person, for their client, and for room in a budget.
async fn waits(gateway: &Gateway, secrets: &AccountsSecrets) {
    for (name, message, tools) in [
        ("ann-laptop", "What is 2 * 21?", "builtin/*"),
        ("ann-laptop", "Ask my side.", "builtin/*"),
        ("ann-tight", "Weather, at little cost?", "team-rain/*"),
    ] {
        let session = session(gateway, &secrets[name]).await;
        let turn = turn(gateway, &secrets[name], &session, message, tools).await;
        assert_eq!(turn["status"], "waiting", "{message}: {turn}");
    }
}

/// A turn at work, whose gateway is killed.
async fn is_killed(journal: &AccountsJournal, secrets: &AccountsSecrets) {
    let gate = Gate::new();
    let world = World::new(Some(gate.clone())).await;
    let gateway = world.gateway(journal).await;
    let carl = &secrets["carl"];
    let session = session(&gateway, carl).await;
    let body =
        json!({ "message": "Stall.", "mode": "background", "model": MODEL, "server_tools": [] });
    let path = format!("{session}/turns");
    gateway.api(carl, "POST", &path, body).await.is(202);
    gate.reached().await;
    gateway.running.kill();
    gateway.running.end().await;
    gate.open();
}

/// A turn of a session with these server tools.
async fn turn(gateway: &Gateway, secret: &str, session: &str, message: &str, tools: &str) -> Value {
    let mine = json!({ "name": "mine", "description": "The client's own.",
        "input_schema": { "type": "object" } });
    let body =
        json!({ "message": message, "model": MODEL, "server_tools": [tools], "tools": [mine] });
    let path = format!("{session}/turns");
    gateway.api(secret, "POST", &path, body).await.is(200)
}

/// A message of more text than a step holds itself.
pub(crate) fn long() -> String {
    format!("Plan this: {}.", "more and ".repeat(8_000))
}

/// The path of a new session.
async fn session(gateway: &Gateway, secret: &str) -> String {
    let made = gateway.api(secret, "POST", "/api/v1/sessions", json!({}));
    format!("/api/v1/sessions/{}", text(&made.await.is(201)["id"]))
}

/// The name and the value of a cookie that is set.
fn cookie(set: &str) -> String {
    set.split(';').next().unwrap_or_default().to_owned()
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

/// The title that a session is given.
pub(crate) const TITLE: &str = "Plans of Dan";

/// The teams and users, with what they may use.
const PEOPLE: &[&[&str]] = &[
    &["teams", "add", "research"],
    &[
        "teams",
        "limit",
        "research",
        "--requests-per-minute",
        "600",
        "--cost-per-month",
        "500",
        "--tokens-per-month",
        "5000000",
    ],
    &["teams", "add", "support"],
    &["users", "add", "ann", "--team", "research"],
    &[
        "users",
        "limit",
        "ann",
        "--requests-per-minute",
        "120",
        "--tokens-per-day",
        "2000000",
        "--cost-per-month",
        "40",
    ],
    &["users", "add", "ann@example.com"],
    &["users", "add", "ben", "--team", "research"],
    &["users", "add", "carl"],
    &["users", "limit", "carl", "--tokens-per-month", "3000000"],
    &["users", "add", "dan"],
    &["users", "add", "eve", "--team", "support"],
    &["users", "add", "root"],
];

/// The keys, by their labels, with their users and what they may do.
const KEYS: &[(&str, &[&str])] = &[
    ("root", &["root", "--admin"]),
    (
        "ann-laptop",
        &[
            "ann",
            "--expires",
            "2999-01-01",
            "--cost-per-month",
            "10",
            "--tokens-per-day",
            "1000000",
        ],
    ),
    (
        "ann-small",
        &[
            "ann",
            "--model",
            "openai/small*",
            "--no-tools",
            "--requests-per-minute",
            "1",
            "--parallel",
            "4",
            "--tokens-per-minute",
            "100000",
        ],
    ),
    ("ann-tight", &["ann", "--tokens-per-month", "1100"]),
    (
        "ann-rotated",
        &[
            "ann",
            "--model",
            "claude/*",
            "--tool",
            "builtin/*",
            "--tool",
            "team-rain/*",
        ],
    ),
    ("ann-revoked", &["ann"]),
    ("ben", &["ben"]),
    ("carl", &["carl"]),
    ("carl-replaced", &["carl"]),
    (
        "dan",
        &[
            "dan",
            "--cost-per-day",
            "2.50",
            "--cost-per-month",
            "30",
            "--tokens-per-day",
            "100000",
            "--tokens-per-month",
            "900000",
        ],
    ),
    ("eve", &["eve"]),
];
