//! Signing in at servers of users and teams: each user for itself, by any gateway of a journal.

use std::fs;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Answer, Asking, Gateway, Kept, MASTER, McpEndpoint, kept, offered, tool};

const CHAT: &str = "/v1/chat/completions";
const MODEL: &str = "claude-sonnet-5";
const OWN: &str = "/api/v1/own-servers";
const TOOL: &str = "team-tracker__get_issue";
const SIGN_IN: &str = "/api/v1/own-servers/tracker/sign-in?team=research";

/// A team of ann and ben, and a server that wants a sign-in, which is its own.
struct Team {
    ann: String,
    ben: String,
    config: String,
    files: Kept,
    server: McpEndpoint,
}

impl Team {
    async fn new(claude: &ScriptedClaude, sign_in: Value) -> Self {
        let server = McpEndpoint::new(json!({
            "tools": [tool("get_issue")],
            "calls": { "get_issue": [{ "text": "#7 is open" }] },
            "http": { "sign_in": sign_in },
        }));
        let config = format!(
            "providers.claude.base_url = \"{}\"\n[secrets]\nkey_env = \"MASTER_OF_THE_TEST\"\n\
             [policy.tools]\n\"team-*/*\" = \"allow\"\n[own_servers]\nallow_private = [\"127.0.0.1\"]\n",
            claude.base_url()
        );
        let files = Kept::new();
        let added = files.run(&["teams", "add", "research"]).run().await;
        assert_eq!(added.code, Some(0), "{}", added.err);
        let ann = files.user("ann", &["--team", "research"]).await;
        let ben = files.user("ben", &["--team", "research"]).await;
        let team = Self {
            ann,
            ben,
            config,
            files,
            server,
        };
        team.set_server().await;
        team
    }

    async fn set_server(&self) {
        let url = self.server.server.url();
        let set = ["teams", "set-server", "research", "tracker", "--url", &url];
        self.run(&set).await;
    }

    /// Runs a command, which ends well.
    async fn run(&self, arguments: &[&str]) -> String {
        let run = self.files.run(arguments).configured(&self.config);
        let ran = run.env("MASTER_OF_THE_TEST", MASTER).run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran.out
    }

    async fn gateway(&self) -> Gateway {
        let serve = self.files.gateway().configured(&self.config);
        Gateway::listening(serve.env("MASTER_OF_THE_TEST", MASTER).start()).await
    }

    /// Signs a user in: the sign-in begins at one gateway, and ends at another.
    async fn signs_in(&self, secret: &str, begins: &Gateway, ends: &Gateway) {
        let redirect = redirect(begins, secret).await;
        let signed_in = answer(ends, secret, &redirect).await;
        assert_eq!(signed_in.is(200)["signed_in"], true);
    }
}

/// Begins a sign-in, opens its address as a browser, and returns where the browser is sent.
async fn redirect(gateway: &Gateway, secret: &str) -> String {
    let begun = gateway.api(secret, "POST", SIGN_IN, json!({})).await;
    let begun = begun.is(200);
    assert_eq!(begun["scope"], "read");
    let url = begun["url"].as_str().expect("an address");
    let rest = url
        .strip_prefix("http://")
        .expect("an address of this machine");
    let (address, path) = rest.split_once('/').expect("an address with a path");
    let asking = Asking::at(address, "GET", &format!("/{path}"));
    let answer = asking.answered().await;
    answer.headers["location"].clone()
}

async fn answer(gateway: &Gateway, secret: &str, redirect: &str) -> Answer {
    let body = json!({ "redirect": redirect });
    gateway.api(secret, "POST", "/api/v1/sign-ins", body).await
}

/// Asks as this user, and returns the answer.
async fn ask(gateway: &Gateway, secret: &str) -> String {
    ask_for(gateway, secret, "Is it open?").await
}

/// Asks this. The same question at once would be a repetition, which gets the same answer.
async fn ask_for(gateway: &Gateway, secret: &str, words: &str) -> String {
    let body = json!({ "model": MODEL, "messages": [{ "role": "user", "content": words }] });
    let asking = gateway.post(CHAT, &body).header("x-api-key", secret);
    let asking = asking.header("x-jackfield-tools", "own-*/*,team-*/*");
    let answer = asking.answered().await;
    let answer = answer.is(200);
    let content = &answer["choices"][0]["message"]["content"];
    content
        .as_str()
        .unwrap_or_else(|| panic!("no words: {answer}"))
        .to_owned()
}

fn call() -> [ScriptTurn; 2] {
    [
        ScriptTurn::call(TOOL, &json!({})),
        ScriptTurn::text("It is open.").when("#7 is open"),
    ]
}

fn no_tools() -> ScriptTurn {
    ScriptTurn::text("I cannot know.")
}

#[tokio::test]
async fn each_user_signs_in_for_itself_and_a_restart_keeps_each_sign_in() {
    let script = [no_tools()].into_iter().chain(call());
    let script = script.chain([no_tools()]).chain(call()).chain(call());
    let claude = ScriptedClaude::start(script.collect::<Vec<_>>()).await;
    let team = Team::new(&claude, json!({})).await;
    let (ann, ben) = (team.ann.as_str(), team.ben.as_str());
    let running = team.gateway().await;
    assert_eq!(ask(&running, ann).await, "I cannot know.");
    assert_eq!(offered(&claude.requests()[0]), [""; 0]);
    let listed = running.api(ann, "GET", "/api/v1/tools", json!({})).await;
    let problems = listed.is(200)["problems"].to_string();
    assert!(
        problems.contains("own-servers/tracker/sign-in?team=research"),
        "{problems}"
    );
    let redirect = redirect(&running, ann).await;
    // The answer is ann's alone, whole, and used once.
    let bens = answer(&running, ben, &redirect).await;
    bens.is(404);
    let other = redirect.replace("state=", "state=x");
    answer(&running, ann, &other).await.is(404);
    let signed_in = answer(&running, ann, &redirect).await;
    let signed_in = signed_in.is(200);
    assert_eq!(signed_in["toolbox"], "team-tracker");
    assert_eq!(signed_in["signed_in"], true);
    assert!(!signed_in.to_string().contains("access-"), "{signed_in}");
    answer(&running, ann, &redirect).await.is(404);
    assert_eq!(ask(&running, ann).await, "It is open.");
    // No request for ben has a token of ann's.
    let before = team.server.server.requests().len();
    assert_eq!(ask(&running, ben).await, "I cannot know.");
    let requests = team.server.server.requests();
    let of_ben = requests.get(before..).expect("no request is gone");
    assert!(!of_ben.is_empty());
    for (_, headers) in of_ben {
        assert_eq!(headers.get("authorization"), None);
    }
    for (secret, is_signed_in) in [(ann, true), (ben, false)] {
        let listed = running.api(secret, "GET", OWN, json!({})).await;
        let listed = listed.is(200);
        assert_eq!(listed["servers"][0]["signed_in"], is_signed_in, "{listed}");
    }
    team.signs_in(ben, &running, &running).await;
    running.end().await;
    let folder = team.files.file();
    for entry in fs::read_dir(folder.parent().expect("a folder")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            for secret in [&b"access-"[..], b"refresh-", b"verifier"] {
                let has = bytes.windows(secret.len()).any(|piece| piece == secret);
                assert!(!has, "{}", path.display());
            }
        }
    }
    let running = team.gateway().await;
    assert_eq!(ask(&running, ann).await, "It is open.");
    assert_eq!(ask(&running, ben).await, "It is open.");
    running.end().await;
    let tokens = team.server.server.requests().into_iter();
    let mut tokens: Vec<_> = tokens
        .filter_map(|(_, headers)| headers.get("authorization").cloned())
        .collect();
    tokens.sort();
    tokens.dedup();
    assert_eq!(tokens.len(), 2, "{tokens:?}");
    let log = team.run(&["users", "log"]).await;
    for user in ["ann", "ben"] {
        let created = format!("created sign-in team:research/tracker/{user}");
        assert!(log.contains(&created), "{log}");
    }
    assert_eq!(team.server.count("gives authorization_code"), 2);
    assert_eq!(team.server.count("gives refresh_token"), 0);
    assert_eq!(team.server.count("call get_issue"), 3);
    assert_eq!(team.server.count("violation"), 0);
    kept(&claude);
}

#[tokio::test]
async fn two_gateways_share_a_sign_in_and_renew_its_token_once() {
    let script = (0..4).flat_map(|_| call()).collect::<Vec<_>>();
    let claude = ScriptedClaude::start(script).await;
    let team = Team::new(&claude, json!({ "holds_renewals": true })).await;
    let ann = team.ann.as_str();
    let (first, second) = (team.gateway().await, team.gateway().await);
    team.signs_in(ann, &first, &second).await;
    assert_eq!(ask_for(&first, ann, "Is it?").await, "It is open.");
    assert_eq!(ask_for(&second, ann, "It is?").await, "It is open.");
    let calls = team.server.count("call get_issue");
    team.server.server.end_access();
    let release = async {
        team.server.until("gives refresh_token").await;
        team.server.server.release_renewals();
    };
    let (one, other, ()) = tokio::join!(
        ask_for(&first, ann, "Is it open here?"),
        ask_for(&second, ann, "Is it open there?"),
        release
    );
    assert_eq!((&*one, &*other), ("It is open.", "It is open."));
    assert_eq!(team.server.count("gives refresh_token"), 1);
    assert_eq!(team.server.count("refuses refresh_token"), 0);
    assert_eq!(team.server.count("call get_issue"), calls + 2);
    first.end().await;
    second.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_sign_in_goes_with_its_server_and_with_the_servers_address() {
    let script = [no_tools().again()];
    let claude = ScriptedClaude::start(script).await;
    let team = Team::new(&claude, json!({})).await;
    let ann = team.ann.as_str();
    let running = team.gateway().await;
    let token = |requests: &[(String, std::collections::HashMap<String, String>)]| {
        let mut all = requests.iter();
        all.any(|(_, headers)| headers.contains_key("authorization"))
    };
    let removals: [&[&str]; 2] = [
        &["teams", "remove-server", "research", "tracker"],
        &[
            "teams",
            "set-server",
            "research",
            "tracker",
            "--url",
            "http://127.0.0.1:1/mcp",
        ],
    ];
    for removal in removals {
        team.signs_in(ann, &running, &running).await;
        team.run(removal).await;
        // The same server again is one where nobody has signed in.
        team.set_server().await;
        let before = team.server.server.requests().len();
        assert_eq!(ask(&running, ann).await, "I cannot know.");
        let requests = team.server.server.requests();
        assert!(requests.len() > before);
        assert!(!token(requests.get(before..).unwrap_or_default()));
    }
    // A user may end it, too, and its tokens are revoked.
    team.signs_in(ann, &running, &running).await;
    let ended = running.api(ann, "DELETE", SIGN_IN, json!({})).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    assert_eq!(team.server.count("revokes"), 1);
    running.api(ann, "DELETE", SIGN_IN, json!({})).await.is(404);
    assert_eq!(ask(&running, ann).await, "I cannot know.");
    running.end().await;
}

#[tokio::test]
async fn a_sign_in_is_refused_where_it_cannot_be_one() {
    let claude = ScriptedClaude::start([]).await;
    let team = Team::new(&claude, json!({})).await;
    let ann = team.ann.as_str();
    let carl = team.files.user("carl", &[]).await;
    let running = team.gateway().await;
    // No server of the user's own or of its team.
    running.api(&carl, "POST", SIGN_IN, json!({})).await.is(404);
    let none = format!("{OWN}/tracker/sign-in");
    running.api(ann, "POST", &none, json!({})).await.is(404);
    // A browser comes back to this gateway, or to the user's own machine.
    for elsewhere in [
        "https://evil.example/",
        "http://evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://me@127.0.0.1:1/",
        "http://127.0.0.1:1/#a",
        "no address",
    ] {
        let given = json!({ "redirect_uri": elsewhere });
        let refused = running.api(ann, "POST", SIGN_IN, given).await;
        let refused = refused.is(400).to_string();
        assert!(refused.contains("your own machine"), "{refused}");
    }
    let given = json!({ "redirect_uri": "http://127.0.0.1:1/callback" });
    let begun = running.api(ann, "POST", SIGN_IN, given).await;
    let begun = begun.is(200).to_string();
    assert!(begun.contains("127.0.0.1%3A1%2Fcallback"), "{begun}");
    // The name by which a request came counts only on this machine.
    let bearer = format!("Bearer {ann}");
    let named = |gateway: &Gateway, host: &str| {
        let asking = gateway
            .raw("POST", SIGN_IN)
            .header("authorization", &bearer);
        asking.host(host).body("{}".to_owned())
    };
    let refused = named(&running, "evil.example").answered().await;
    let refused = refused.is(409).to_string();
    assert!(refused.contains("`serve.public_url`"), "{refused}");
    let public = team.config.replacen(
        '\n',
        "\nserve.public_url = \"https://gateway.example\"\n",
        1,
    );
    let serve = team.files.gateway().configured(&public);
    let behind = Gateway::listening(serve.env("MASTER_OF_THE_TEST", MASTER).start()).await;
    let begun = named(&behind, "evil.example").answered().await;
    let begun = begun.is(200).to_string();
    assert!(
        begun.contains("redirect_uri=https%3A%2F%2Fgateway.example%2F&"),
        "{begun}"
    );
    behind.end().await;
    // A key in a header is used instead.
    let path = format!("{OWN}/keyed");
    let url = team.server.server.url();
    let given = json!({ "url": url, "headers": { "authorization": "Bearer a-token" } });
    running.api(ann, "PUT", &path, given).await.is(200);
    let refused = running
        .api(ann, "POST", &format!("{path}/sign-in"), json!({}))
        .await;
    let refused = refused.is(400).to_string();
    assert!(refused.contains("`Authorization`"), "{refused}");
    let long = json!({ "redirect": format!("http://127.0.0.1/?code={}", "a".repeat(20_000)) });
    let refused = running.api(ann, "POST", "/api/v1/sign-ins", long).await;
    refused.is(400);
    running.end().await;
}
