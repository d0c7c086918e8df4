//! The servers themselves: how they are configured, found, tried, and what is said of those that fail.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{McpServer, Ran, jackfield, kept, tool};

#[tokio::test]
async fn s2_01_four_servers_and_a_variable_that_only_its_server_gets() {
    let seen = || McpServer::of("environment", &json!([{ "environment": true }]));
    let (weather, github, files) = (seen(), seen(), seen());
    let entry = |id: &str, server: &McpServer, more: Value| {
        let mut entry = server.with(&more);
        (entry["id"], entry["transport"]) = (json!(id), json!("stdio"));
        entry
    };
    let list = json!({ "servers": [
        entry("weather", &weather, json!({ "name": "Weather", "description": "Forecasts" })),
        entry("github", &github, json!({ "env": { "GITHUB_TOKEN": "${MY_TOKEN}" } })),
        entry("filesystem", &files, json!({ "enabled": true })),
        { "id": "trello", "enabled": false, "command": "not-there" },
    ] });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__environment", &json!({}))
            .and_call("github__environment", &json!({}))
            .and_call("filesystem__environment", &json!({})),
        ScriptTurn::text("Seen."),
    ])
    .await;
    let ask = jackfield([
        "ask",
        "Look",
        "--json",
        "--yes",
        "--mcp-config",
        "mine.json",
    ]);
    let ask = ask.at(&claude.base_url()).env("MY_TOKEN", "ghp-1234567");
    let ran = ask.in_project("mine.json", list.to_string()).run().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let calls = ran.last_event()["calls"].clone();
    for (nth, has_token) in [(0, false), (1, true), (2, false)] {
        let names = calls[nth]["result"].as_str().unwrap_or_default();
        assert_eq!(names.contains("GITHUB_TOKEN"), has_token, "{names}");
        assert!(
            names.contains("PATH") && !names.contains("ANTHROPIC"),
            "{names}"
        );
    }
    kept(&claude);
}

#[tokio::test]
async fn s2_02_two_servers_with_the_same_tool_can_both_be_called() {
    let mine = McpServer::of("search", &json!([{ "text": "from mine" }]));
    let shared = McpServer::of("search", &json!([{ "text": "from shared" }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("mine__search", &json!({})).and_call("shared_search", &json!({})),
        ScriptTurn::text("Both."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "Search"]).at(&claude.base_url());
    let prefixed = json!({ "prefix": "shared_", "trust": true });
    let servers = [("mine", mine.trusted()), ("other", shared.with(&prefixed))];
    let ran = ask.servers(servers).run().await;
    let calls = ran.last_event()["calls"].clone();
    assert_eq!(calls[0]["result"], "from mine");
    assert_eq!(calls[1]["result"], "from shared");
    assert_eq!(calls[1]["toolbox"], "other");
    kept(&claude);
}

#[tokio::test]
async fn s2_02_where_two_names_are_the_same_the_second_is_left_out_and_told_of() {
    let server = || McpServer::of("search", &json!([]));
    let (one, two, three) = (server(), server(), server());
    let bare = |server: &McpServer| server.with(&json!({ "prefix": "" }));
    let posing = McpServer::of("three__search", &json!([]));
    let servers = [
        ("one", bare(&one)),
        ("posing", bare(&posing)),
        ("three", three.entry()),
        ("two", bare(&two)),
    ];
    let ran = jackfield(["tools", "list", "--json"])
        .servers(servers)
        .run()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let tools = json(&ran);
    let origin = |name: &str| {
        let mut tools = tools.as_array().into_iter().flatten();
        let tool = tools.find(|tool| tool["name"] == name);
        tool.map(|tool| tool["toolbox"].clone())
    };
    assert_eq!(origin("search"), Some(json!("one")));
    // A name by id goes before one that was given.
    assert_eq!(origin("three__search"), Some(json!("three")));
    ran.says("two: skipped tool `search`: the name `search` is taken by a tool of `one`");
    ran.says("posing: skipped tool `three__search`");
}

#[tokio::test]
async fn s2_03_a_dash_stays_and_the_call_comes_back_under_its_own_name() {
    let files = McpServer::of("read_file", &json!([{ "text": "the text" }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("filesystem-data__read_file", &json!({ "path": "a" })),
        ScriptTurn::text("Read.").when("the text"),
    ])
    .await;
    let ask = jackfield(["ask", "Read a"]).at(&claude.base_url());
    let ran = ask
        .servers([("filesystem-data", files.trusted())])
        .run()
        .await;
    ran.answers("Read.\n");
    assert_eq!(files.count("call read_file"), 1);
    kept(&claude);
}

#[tokio::test]
async fn s2_05_a_lazy_server_is_offered_as_it_was_and_started_by_the_first_call() {
    let cache = tempfile::tempdir().expect("a folder can be made");
    let weather = McpServer::new(json!({
        "instructions": "Give cities in English.",
        "tools": [tool("get_weather")],
        "calls": { "get_weather": [{ "text": "Cloudy" }] },
    }));
    let servers = || {
        [(
            "weather",
            weather.with(&json!({ "lazy": true, "trust": true })),
        )]
    };
    let offered = |starts: usize| {
        let list = jackfield(["tools", "list"]).servers(servers());
        let list = list.env("XDG_CACHE_HOME", cache.path());
        let weather = &weather;
        async move {
            let ran = list.run().await;
            assert!(ran.out.contains("weather/get_weather"), "{}", ran.out);
            assert_eq!(weather.count("start "), starts);
        }
    };
    offered(1).await;
    offered(1).await;
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello."),
        ScriptTurn::call("weather__get_weather", &json!({})),
        ScriptTurn::text("Cloudy."),
    ])
    .await;
    for (question, answer, starts) in [("Hello", "Hello.\n", 1), ("Weather?", "Cloudy.\n", 2)] {
        let ask = jackfield(["ask", question]).at(&claude.base_url());
        let ask = ask.env("XDG_CACHE_HOME", cache.path());
        let ran = ask.servers(servers()).run().await;
        ran.answers(answer);
        assert_eq!(weather.count("start "), starts);
        let system = claude.requests().pop().unwrap_or_default()["system"].to_string();
        assert!(system.contains("Give cities in English."), "{system}");
    }
    // What cannot be read is not remembered.
    let kept_there = std::fs::read_dir(cache.path().join("jackfield/mcp"));
    for file in kept_there.expect("it was remembered") {
        let file = file.expect("a folder can be read").path();
        std::fs::write(file, "{\"tools\": [").expect("a file can be written");
    }
    offered(3).await;
    // Configured in another way, it is another server.
    let other = weather.with(&json!({ "lazy": true, "tools": ["get_*"] }));
    let list = jackfield(["tools", "list"]).env("XDG_CACHE_HOME", cache.path());
    let ran = list.servers([("weather", other)]).run().await;
    assert!(ran.out.contains("weather/get_weather"), "{}", ran.out);
    assert_eq!(weather.count("start "), 4);
    kept(&claude);
    weather.kept_and_gone().await;
}

/// Servers that fail, each in its way, and one that does not.
fn troubled(
    good: &McpServer,
    hanging: &McpServer,
    noisy: &McpServer,
) -> [(&'static str, Value); 6] {
    [
        ("absent", json!({ "command": "no-such-program-anywhere" })),
        (
            "early",
            json!({ "command": "sh", "args": ["-c", "echo 'starting' >&2; echo 'no database at x' >&2; exit 3"] }),
        ),
        ("good", good.entry()),
        (
            "hanging",
            hanging.with(&json!({ "start_timeout": "500ms" })),
        ),
        ("noisy", noisy.entry()),
        (
            "unset",
            json!({ "command": "x", "env": { "T": "${NO_SUCH_TOKEN}" } }),
        ),
    ]
}

#[tokio::test]
async fn s2_06_each_problem_of_a_server_is_told_apart_with_what_to_do() {
    let good = McpServer::of("read", &json!([]));
    let hanging = McpServer::new(json!({ "hang": true, "stays": true }));
    let noisy = McpServer::new(json!({ "garbage": ["Welcome!"], "tools": [tool("read")] }));
    let test = jackfield(["mcp", "test"]).servers(troubled(&good, &hanging, &noisy));
    let ran = test.run().await;
    assert_eq!(ran.code, Some(8), "{}\n{}", ran.out, ran.err);
    let told = |begin: &str, parts: &[&str]| {
        let from = ran.out.find(begin).unwrap_or(ran.out.len());
        let text = ran.out.get(from..).unwrap_or_default();
        let end = text.find("\n✗ ").into_iter().chain(text.find("\n✓ ")).min();
        let text = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
        for part in parts {
            assert!(
                text.contains(part),
                "{begin} does not say {part:?}:\n{}",
                ran.out
            );
        }
    };
    told(
        "✗ absent: ",
        &[
            "there is no program `no-such-program-anywhere` in PATH",
            "help: install it, or give its whole path",
        ],
    );
    told(
        "✗ early: ",
        &[
            "it ended with code 3",
            "it said last:\n    starting\n    no database at x",
            "help: run the command by hand",
        ],
    );
    told(
        "✓ good in ",
        &[
            "1 tool · MCP 2026-07-28, stateless · scripted-mcp 1.0",
            "\n  read",
        ],
    );
    told(
        "✗ hanging: ",
        &[
            "it did not answer within 0.5 s",
            "help: check that this command",
        ],
    );
    told(
        "✓ noisy in ",
        &["it writes to standard output what is not the protocol"],
    );
    told(
        "✗ unset: ",
        &[
            "its `env.T` cannot be filled in: the environment variable NO_SUCH_TOKEN is not set",
            "help: correct it in ",
        ],
    );
    good.kept_and_gone().await;
    hanging.kept_and_gone().await;
}

#[tokio::test]
async fn s2_06_servers_that_fail_are_told_of_and_stop_neither_the_others_nor_the_turn() {
    let good = McpServer::of("read", &json!([{ "text": "the text" }]));
    let hanging = McpServer::new(json!({ "hang": true, "stays": true }));
    let noisy = McpServer::new(json!({ "garbage": ["Welcome!"], "tools": [tool("read")] }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("good__read", &json!({})).and_call("noisy__read", &json!({})),
        ScriptTurn::text("Read.").when("the text"),
    ])
    .await;
    let ask = jackfield(["ask", "Read", "--allow=*/read"]).at(&claude.base_url());
    let ran = ask.servers(troubled(&good, &hanging, &noisy)).run().await;
    ran.answers("Read.\n");
    ran.says("absent: the server `absent` is not available: there is no program");
    ran.says("early: the server `early` is not available: it ended before it had answered");
    ran.says("hanging: the server `hanging` is not available: it did not answer within 0.5 s");
    ran.says("the environment variable NO_SUCH_TOKEN is not set");
    kept(&claude);
    hanging.kept_and_gone().await;
}

#[tokio::test]
async fn the_list_has_every_server_with_its_state_its_era_and_its_tools() {
    let new = McpServer::new(json!({ "tools": [tool("a"), tool("b")] }));
    let old = McpServer::new(json!({
        "era": "legacy", "version": "2024-11-05", "tools": [tool("a"), tool("b")],
    }));
    let servers = || {
        [
            ("absent", json!({ "command": "no-such-program-anywhere" })),
            ("new", new.trusted()),
            ("off", json!({ "command": "x", "enabled": false })),
            (
                "old",
                old.with(&json!({ "name": "Old", "tools": { "deny": ["b"] } })),
            ),
        ]
    };
    let ran = jackfield(["mcp", "list"]).servers(servers()).run().await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(
        lines[0].starts_with("absent  failed  there is no program"),
        "{}",
        ran.out
    );
    let about = "2 tools · MCP 2026-07-28, stateless · scripted-mcp 1.0 · trusted";
    assert_eq!(lines[1], format!("new     ready   {about}"));
    assert_eq!(lines[2].trim_end(), "off     off");
    let about = "1 tool · MCP 2024-11-05, with a handshake · scripted-mcp 1.0 · Old";
    assert_eq!(lines[3], format!("old     ready   {about}"));
    let ran = jackfield(["mcp", "list", "--json"])
        .servers(servers())
        .run()
        .await;
    let list = json(&ran);
    let states = [0, 1, 2, 3].map(|nth| list[nth]["state"].clone());
    assert_eq!(states, ["failed", "ready", "off", "ready"]);
    assert_eq!(list[1]["tools"], json!(["a", "b"]));
    assert_eq!(
        (&list[1]["stateless"], &list[3]["stateless"]),
        (&json!(true), &json!(false))
    );
    assert!(
        list[0]["advice"]
            .as_str()
            .is_some_and(|advice| advice.contains("install"))
    );
    new.kept_and_gone().await;
    old.kept_and_gone().await;
}

#[tokio::test]
async fn the_log_of_a_server_is_shown_and_keys_are_not_in_it() {
    let server = json!({
        "command": "sh",
        "args": ["-c", "echo starting >&2; echo \"the key is $API_KEY\" >&2; exit 1"],
        "env": { "API_KEY": "${MY_KEY}" },
    });
    let logs = |arguments: [&'static str; 4]| {
        let logs = jackfield(arguments).env("MY_KEY", "sk-very-secret");
        logs.servers([("x", server.clone())])
    };
    let ran = logs(["mcp", "logs", "x", "--color=never"]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.out.contains("starting\nthe key is [redacted]\n"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("very-secret"), "{}", ran.out);
    let ran = logs(["mcp", "logs", "x", "--json"]).run().await;
    assert_eq!(json(&ran)["lines"][0], "starting");
    let ran = logs(["mcp", "logs", "y", "--json"]).run().await;
    ran.fails(
        2,
        "there is no MCP server `y`; there are: x",
        "`jackfield mcp list`",
    );
}

#[tokio::test]
async fn a_file_that_was_merely_found_starts_nothing_and_is_told_of() {
    let found = McpServer::of("read", &json!([]));
    let file = json!({ "mcpServers": { "found": found.entry() } }).to_string();
    let list = jackfield(["tools", "list"]).in_project("mcp-servers.json", &file);
    let ran = list.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.says("mcp-servers.json: not used: a file that was merely found does not start commands");
    ran.says("`--mcp-config mcp-servers.json`");
    assert!(!ran.out.contains("found"), "{}", ran.out);
    assert_eq!(found.count("start"), 0);
    let named = [
        "tools",
        "show",
        "found__read",
        "--mcp-config=mcp-servers.json",
    ];
    let ran = jackfield(named)
        .in_project("mcp-servers.json", &file)
        .run()
        .await;
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("found/read · ask"), "{}", ran.out);
    let digest = ran
        .out
        .lines()
        .find_map(|line| line.strip_prefix("definition "));
    assert_eq!(digest.map(str::len), Some(64), "{}", ran.out);
    found.kept_and_gone().await;
}

#[tokio::test]
async fn a_tool_of_a_server_is_called_by_hand() {
    let weather = McpServer::of("get_weather", &json!([{ "text": "Cloudy" }]));
    let call = jackfield(["tools", "call", "weather__get_weather", "location=London"]);
    let ran = call.servers([("weather", weather.entry())]).run().await;
    ran.answers("Cloudy\n");
    weather.kept_and_gone().await;
}

/// The document of a run with `--json`.
#[track_caller]
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|fault| panic!("{fault}\n{}", ran.out))
}

#[tokio::test]
async fn a_server_is_asked_for_its_tools_once_if_it_announces_changes_and_else_at_most_every_few_seconds()
 {
    let cases = [
        // A list from before the subscription counts no longer: a change may have come between.
        (true, "mcp.list_lifetime = \"1ms\"", 1..=2),
        (false, "", 1..=1),
        (false, "mcp.list_lifetime = \"1ms\"", 3..=4),
    ];
    for (announces, setting, lists) in cases {
        let server = McpServer::new(json!({ "tools": [tool("look")], "list_changed": announces }));
        let claude = ScriptedClaude::start(["One.", "Two.", "Three."].map(ScriptTurn::text)).await;
        let chat = jackfield(["chat"]).at_with(&claude.base_url(), setting);
        let chat = chat.servers([("eye", server.entry())]);
        let ran = chat.stdin("a\nb\nc\n").run().await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "One.\nTwo.\nThree.\n"),
            "{}",
            ran.err
        );
        let counted = server.count("said tools/list");
        assert!(lists.contains(&counted), "{announces} {setting}: {counted}");
        kept(&claude);
    }
}
