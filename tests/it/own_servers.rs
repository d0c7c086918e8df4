//! Servers of users and teams: each has its own, over its own connections, and nothing else of the machine.

use std::fs;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Gateway, Kept, MASTER, McpEndpoint, McpServer, kept, offered, tool};

const CHAT: &str = "/v1/chat/completions";
const MODEL: &str = "claude-sonnet-5";
const OWN: &str = "/api/v1/own-servers";
const LOOPBACK: &str = "[own_servers]\nallow_private = [\"127.0.0.0/8\"]\n";

/// A server of one tool that accepts requests with this token, and answers with this text.
fn weather(token: &str, says: &str) -> McpEndpoint {
    McpEndpoint::new(json!({
        "era": "modern",
        "tools": [tool("get_weather")],
        "calls": { "get_weather": [{ "text": says }] },
        "http": { "token": token },
    }))
}

fn config(claude: &ScriptedClaude, more: &str) -> String {
    format!(
        "providers.claude.base_url = \"{}\"\n[secrets]\nkey_env = \"MASTER_OF_THE_TEST\"\n\
         [policy.tools]\n\"own-*/*\" = \"allow\"\n\"team-*/*\" = \"allow\"\n{more}",
        claude.base_url()
    )
}

async fn gateway(files: &Kept, config: &str) -> Gateway {
    let serve = files.gateway().configured(config);
    Gateway::listening(serve.env("MASTER_OF_THE_TEST", MASTER).start()).await
}

/// Runs a command, which ends well.
async fn run(files: &Kept, config: &str, arguments: &[&str], stdin: &str) -> String {
    let run = files.run(arguments).configured(config).stdin(stdin);
    let ran = run.env("MASTER_OF_THE_TEST", MASTER).run().await;
    assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
    ran.out
}

/// Asks as this person, with all tools that there are, and returns the answer.
async fn ask(gateway: &Gateway, secret: &str) -> String {
    ask_at(gateway, secret, CHAT).await
}

/// The same in the language of this address.
async fn ask_at(gateway: &Gateway, secret: &str, path: &str) -> String {
    let messages = json!([{ "role": "user", "content": "Weather?" }]);
    let mut body = json!({ "model": MODEL, "messages": messages, "max_tokens": 1000 });
    if path == "/v1/responses" {
        body = json!({ "model": MODEL, "input": "Weather?" });
    }
    let asking = gateway.post(path, &body).header("x-api-key", secret);
    let asking = asking.header("x-jackfield-tools", "own-*/*,team-*/*");
    let answer = asking.answered().await;
    let answer = answer.is(200);
    let last = |list: &str| answer[list].as_array().and_then(|all| all.last());
    let content = match path {
        CHAT => &answer["choices"][0]["message"]["content"],
        "/v1/messages" => &last("content").expect("content")["text"],
        _ => &last("output").expect("output")["content"][0]["text"],
    };
    content
        .as_str()
        .unwrap_or_else(|| panic!("no words: {answer}"))
        .to_owned()
}

fn calls(name: &str, when: &str, says: &str) -> [ScriptTurn; 2] {
    [
        ScriptTurn::call(name, &json!({})),
        ScriptTurn::text(says).when(when),
    ]
}

#[tokio::test]
async fn two_people_with_one_server_name_never_meet_and_a_restart_keeps_each_ones() {
    let (anns, bens) = (
        weather("Bearer of-ann-0123456789", "Cloudy over Ann"),
        weather("Bearer of-ben-0123456789", "Sunny over Ben"),
    );
    const TOOL: &str = "own-weather__get_weather";
    let both = || {
        calls(TOOL, "Cloudy over Ann", "Ann: cloudy.")
            .into_iter()
            .chain(calls(TOOL, "Sunny over Ben", "Ben: sunny."))
    };
    let nobodys = [ScriptTurn::text("I cannot know.")];
    let claude =
        ScriptedClaude::start(both().chain(nobodys).chain(both()).collect::<Vec<_>>()).await;
    let files = Kept::new();
    let config = config(&claude, LOOPBACK);
    let (ann, ben) = (files.user("ann", &[]).await, files.user("ben", &[]).await);
    let carl = files.user("carl", &[]).await;
    let url = anns.server.url();
    let set = [
        "users",
        "set-server",
        "ann",
        "weather",
        "--url",
        &url,
        "--header",
        "Authorization",
    ];
    run(&files, &config, &set, "Bearer of-ann-0123456789\n").await;
    let running = gateway(&files, &config).await;
    let given = json!({ "url": bens.server.url(), "headers": { "Authorization": "Bearer of-ben-0123456789" } });
    let path = format!("{OWN}/weather");
    let set = running.api(&ben, "PUT", &path, given).await;
    let set = set.is(200).to_string();
    assert!(!set.contains("of-ben"), "{set}");
    assert_eq!(ask(&running, &ann).await, "Ann: cloudy.");
    assert_eq!(ask(&running, &ben).await, "Ben: sunny.");
    assert_eq!(ask(&running, &carl).await, "I cannot know.");
    let requests = claude.requests();
    assert_eq!(offered(requests.last().expect("a request")), [""; 0]);
    for (secret, owner) in [(&ann, "user:ann"), (&ben, "user:ben")] {
        let listed = running.api(secret, "GET", OWN, json!({})).await;
        let listed = listed.is(200);
        assert_eq!(listed["servers"].as_array().map(Vec::len), Some(1));
        assert_eq!(listed["servers"][0]["owner"], owner);
        assert!(!listed.to_string().contains("Bearer"), "{listed}");
    }
    let listed = running.api(&carl, "GET", OWN, json!({})).await;
    assert_eq!(listed.is(200)["servers"], json!([]));
    running.end().await;
    let folder = files.file();
    for entry in fs::read_dir(folder.parent().expect("a folder")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = fs::read(&path).expect("a file");
            let has = bytes.windows(9).any(|piece| piece == b"of-ann-01");
            assert!(!has, "{}", path.display());
        }
    }
    let running = gateway(&files, &config).await;
    let (claude_language, responses) = ("/v1/messages", "/v1/responses");
    assert_eq!(
        ask_at(&running, &ann, claude_language).await,
        "Ann: cloudy."
    );
    assert_eq!(ask_at(&running, &ben, responses).await, "Ben: sunny.");
    running.end().await;
    for server in [&anns, &bens] {
        assert_eq!(server.count("call get_weather"), 2);
        assert_eq!(server.count("violation"), 0);
    }
    kept(&claude);
}

#[tokio::test]
async fn a_program_of_the_list_is_a_teams_server_until_it_is_disabled() {
    let server = McpServer::of("get_weather", &json!([{ "text": "Rain" }]));
    let entry = server.entry();
    let program = format!(
        "[own_servers.programs.weather]\ncommand = {}\narguments = {}\nvariables = [\"API_KEY\"]\n",
        entry["command"], entry["args"]
    );
    const TOOL: &str = "team-rain__get_weather";
    let script = calls(TOOL, "Rain", "It rains.").into_iter();
    let claude = ScriptedClaude::start(
        script
            .chain([ScriptTurn::text("Who knows?").again()])
            .collect::<Vec<_>>(),
    )
    .await;
    let files = Kept::new();
    let config = config(&claude, &program);
    let team = files.run(&["teams", "add", "research"]).run().await;
    assert_eq!(team.code, Some(0), "{}", team.err);
    let ann = files.user("ann", &["--team", "research"]).await;
    let ben = files.user("ben", &[]).await;
    let set = [
        "teams",
        "set-server",
        "research",
        "rain",
        "--program",
        "weather",
        "--variable",
        "API_KEY",
    ];
    run(&files, &config, &set, "key-0123456789\n").await;
    let running = gateway(&files, &config).await;
    assert_eq!(ask(&running, &ann).await, "It rains.");
    assert_eq!(ask(&running, &ben).await, "Who knows?");
    // A user of the team sees it, and does not change it.
    let of_team = format!("{OWN}?team=research");
    let listed = running.api(&ann, "GET", &of_team, json!({})).await;
    assert_eq!(listed.is(200)["servers"][0]["toolbox"], "team-rain");
    running.api(&ben, "GET", &of_team, json!({})).await.is(403);
    let edit = format!("{OWN}/rain?team=research");
    let off = json!({ "enabled": false });
    running.api(&ann, "PATCH", &edit, off).await.is(403);
    run(
        &files,
        &config,
        &["teams", "disable-server", "research", "rain"],
        "",
    )
    .await;
    assert_eq!(ask(&running, &ann).await, "Who knows?");
    running.end().await;
    let log = run(&files, &config, &["users", "log"], "").await;
    assert!(log.contains("disabled server team:research/rain"), "{log}");
    assert!(!log.contains("key-0123456789"), "{log}");
}

#[tokio::test]
async fn what_reaches_into_the_machine_is_refused_by_name() {
    let claude = ScriptedClaude::start([]).await;
    let files = Kept::new();
    let program = "[own_servers]\nper_user = 2\n[own_servers.programs.files]\ncommand = \"files\"\nvariables = [\"K\"]\n";
    let config = config(&claude, program);
    let (ann, ben) = (files.user("ann", &[]).await, files.user("ben", &[]).await);
    let running = gateway(&files, &config).await;
    let url = "https://mcp.example/mcp";
    let path = format!("{OWN}/a");
    for (given, why) in [
        (json!({ "url": "https://127.0.0.1/mcp" }), "127.0.0.1 is "),
        (json!({ "url": "https://[::1]/mcp" }), "::1 is "),
        (
            json!({ "url": "https://169.254.169.254/latest" }),
            "169.254.169.254 is ",
        ),
        (json!({ "url": "https://10.0.0.7/mcp" }), "10.0.0.7 is "),
        (json!({ "url": "http://mcp.example/mcp" }), "not encrypted"),
        (json!({ "url": "file:///etc/passwd" }), "no host"),
        (
            json!({ "url": "https://me:secret@mcp.example/" }),
            "a user in it",
        ),
        (json!({ "url": "https://mcp.example/${HOME}" }), "`${`"),
        (
            json!({ "url": url, "headers": { "K": "{{env.HOME}}" } }),
            "`{{`",
        ),
        (json!({ "url": url, "headers": { "K": "$(id)" } }), "`$(`"),
        (json!({ "url": url, "headers": { "a b": "c" } }), "`a b`"),
        (json!({ "program": "sh" }), "no program `sh`"),
        (json!({ "program": "/bin/sh" }), "no program `/bin/sh`"),
        (
            json!({ "program": "files", "variables": { "LD_PRELOAD": "x" } }),
            "no variable `LD_PRELOAD`",
        ),
        (json!({ "program": "files", "url": url }), "either `url`"),
        (json!({ "command": "sh", "url": url }), "command"),
        (json!({ "program": "files", "args": ["-c"] }), "args"),
        (json!({ "program": "files", "env": { "PATH": "/" } }), "env"),
    ] {
        let answer = running.api(&ann, "PUT", &path, given.clone()).await;
        let answer = answer.is(400).to_string();
        assert!(answer.contains(why), "{given}: {answer}");
    }
    for name in ["A", "a%2Fb", &"a".repeat(33)] {
        let path = format!("{OWN}/{name}");
        let answer = running.api(&ann, "PUT", &path, json!({ "url": url })).await;
        answer.is(400);
    }
    for name in ["one", "two"] {
        let path = format!("{OWN}/{name}");
        running
            .api(&ann, "PUT", &path, json!({ "url": url }))
            .await
            .is(200);
    }
    let third = running.api(&ann, "PUT", &path, json!({ "url": url })).await;
    assert!(third.is(409).to_string().contains("has 2 servers"));
    // A user cannot change, remove or see a server of another one.
    let one = format!("{OWN}/one");
    running.api(&ben, "DELETE", &one, json!({})).await.is(404);
    for (verb, body) in [("PUT", json!({ "url": url })), ("DELETE", json!({}))] {
        let of_ann = format!("{one}?user=ann");
        running.api(&ben, verb, &of_ann, body).await.is(403);
    }
    let of_ann = format!("{OWN}?user=ann");
    running.api(&ben, "GET", &of_ann, json!({})).await.is(403);
    let removed = running.api(&ann, "DELETE", &one, json!({})).await;
    assert_eq!(removed.status, 204, "{removed:?}");
    running
        .api(&ann, "PUT", &path, json!({ "url": url }))
        .await
        .is(200);
    running.end().await;
    kept(&claude);
}
