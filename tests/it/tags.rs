//! Tags of requests, with the real binary: of turns and of requests that are passed through, and what sums by them.

use std::collections::BTreeMap;

use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Asking, Gateway, Kept, McpServer, tool};

const TAGS: &str =
    "[tags]\nnames = [\"agent\", \"class\", \"feature\", \"session\", \"team\", \"user\"]\n";

/// The usage by a tag, once it has so many replies: what is passed through is recorded after its reply.
async fn usage(gateway: &Gateway, name: &str, replies: u64) -> Value {
    let path = format!("/api/v1/usage?by=tag:{name}");
    let reading = async {
        loop {
            let report = gateway.get(&path).answered().await.is(200);
            if report["total"]["replies"] == replies {
                return report;
            }
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(60);
    let found = tokio::time::timeout(limit, reading).await;
    found.expect("as many replies")
}

/// How many of so many replies there are of each value of a tag, by the API. They are the total.
async fn by(gateway: &Gateway, name: &str, replies: u64) -> BTreeMap<String, u64> {
    let report = usage(gateway, name, replies).await;
    let lines = report["lines"].as_array().expect("lines");
    let sum = |field: fn(&Value) -> &Value| {
        let values = lines.iter().map(|line| field(line).as_u64());
        values.sum::<Option<u64>>().expect("numbers")
    };
    let total = &report["total"];
    for field in [
        (|sums| &sums["replies"]) as fn(&Value) -> &Value,
        |sums| &sums["usage"]["input_tokens"],
        |sums| &sums["usage"]["output_tokens"],
        |sums| &sums["turns"],
    ] {
        assert_eq!(sum(field), field(total).as_u64().expect("a number"));
    }
    let line = |line: &Value| {
        let about = line["about"].as_str().expect("a label");
        (about.to_owned(), line["replies"].as_u64().expect("replies"))
    };
    lines.iter().map(line).collect()
}

fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    let counts = counts.into_iter();
    counts
        .map(|(about, replies)| (about.to_owned(), replies))
        .collect()
}

/// The requests of an SDK of each kind: with our header, with `metadata`, and of Claude Code with an end user.
fn requests(gateway: &Gateway) -> [Asking; 3] {
    let messages = json!([{ "role": "user", "content": "hi" }]);
    let post = |path: &str, body: &Value| gateway.post(path, body);
    let chat = json!({ "model": "gpt", "messages": messages, "user": "ann" });
    let metadata = json!({
        "model": "gpt", "messages": messages,
        "metadata": { "team": "ads", "feature": "summary", "ticket": "PX-7" },
    });
    let claude = json!({
        "model": "opus", "messages": messages, "max_tokens": 64,
        "metadata": { "user_id": "bob" },
    });
    [
        post("/v1/chat/completions", &chat)
            .header("x-jackfield-tags", "team=search, feature=chat,"),
        post("/v1/chat/completions", &metadata).header("x-jackfield-tags", "team = search"),
        post("/v1/messages", &claude)
            .header("x-claude-code-session-id", "0f3c")
            .header("x-claude-code-agent-id", "scout")
            .header("x-claude-code-request-class", "subagent"),
    ]
}

/// What the tags of [`requests`] sum to.
async fn requests_are_counted(gateway: &Gateway) {
    let of = async |name| by(gateway, name, 3).await;
    assert_eq!(of("team").await, counts([("search", 2), ("untagged", 1)]));
    let features = counts([("chat", 1), ("summary", 1), ("untagged", 1)]);
    assert_eq!(of("feature").await, features);
    assert_eq!(of("session").await, counts([("0f3c", 1), ("untagged", 2)]));
    assert_eq!(of("agent").await, counts([("scout", 1), ("untagged", 2)]));
    assert_eq!(
        of("class").await,
        counts([("subagent", 1), ("untagged", 2)])
    );
    let users = counts([("ann", 1), ("bob", 1), ("untagged", 1)]);
    assert_eq!(of("user").await, users);
    // No name that is listed.
    assert_eq!(of("ticket").await, counts([("untagged", 3)]));
}

#[tokio::test]
async fn tags_of_passed_requests_are_summed_also_after_a_kill_and_stay_here() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let url = server.base_url();
    let config = format!(
        "model = \"openai/gpt\"\n[aliases]\ngpt = \"openai/gpt\"\nopus = \"claude/opus\"\n[providers.claude]\nbase_url = \"{url}\"\n[providers.openai]\nbase_url = \"{url}/v1\"\n{TAGS}"
    );
    let start = || {
        let gateway = kept.gateway().plain().configured(&config);
        gateway.env("OPENAI_API_KEY", "sk-of-openai-0123").start()
    };
    let gateway = Gateway::listening(start()).await;
    for (nth, request) in requests(&gateway).into_iter().enumerate() {
        let usage = match nth {
            2 => "{\"input_tokens\":7,\"output_tokens\":3}",
            _ => "{\"prompt_tokens\":7,\"completion_tokens\":3}",
        };
        server.answer(Response::json(200, format!("{{\"usage\":{usage}}}")));
        let answer = request.answered().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-jackfield-path"), "passthrough");
        let seen = server.request(nth).await;
        assert_eq!(seen.header("x-jackfield-tags"), None);
        assert_eq!(
            seen.header("x-claude-code-session-id").is_some(),
            nth == 2,
            "a client's own headers go on"
        );
    }
    requests_are_counted(&gateway).await;
    let report = gateway.get("/api/v1/usage").answered().await.is(200);
    let names = ["agent", "class", "feature", "session", "team", "user"];
    assert_eq!(report["tags"], json!(names));
    let csv = gateway
        .get("/api/v1/usage?by=tag:team&format=csv")
        .answered();
    let csv = csv.await;
    let begins = |line: &str| csv.text().lines().any(|one| one.starts_with(line));
    assert!(begins("search,,0,2,2,0,14,"), "{}", csv.text());
    gateway.running.kill();
    gateway.running.end().await;
    let gateway = Gateway::listening(start()).await;
    requests_are_counted(&gateway).await;
    gateway.end().await;
}

#[tokio::test]
async fn tags_of_turns_are_summed_by_the_api_and_by_the_command_line() {
    let replies: Vec<_> = (0..5).map(|_| ScriptTurn::text("yes")).collect();
    let claude = ScriptedClaude::start(replies).await;
    let kept = Kept::new();
    let config = format!(
        "[serve]\npassthrough = \"never\"\nmetrics = true\n[aliases]\ngpt = \"claude/claude-opus-5-5\"\nopus = \"claude/claude-opus-5-5\"\n{TAGS}"
    );
    let gateway = kept.gateway().at_with(&claude.base_url(), &config);
    let gateway = Gateway::listening(gateway.start()).await;
    for request in requests(&gateway) {
        let answer = request.answered().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-jackfield-path"), "turn");
    }
    requests_are_counted(&gateway).await;
    // A turn of a session, whose usage is in its facts.
    let made = gateway.post("/api/v1/sessions", &json!({})).answered();
    let session = made.await.is(201)["id"].as_str().expect("an id").to_owned();
    let path = format!("/api/v1/sessions/{session}/turns");
    // The header wins over the body, name by name.
    let tags =
        json!({ "team": "ads", "feature": "api", "ticket": "PX-7", "user": 7, "session": null });
    let turn = gateway.post(
        &path,
        &json!({ "message": "hi", "user": "cy", "tags": tags }),
    );
    let turn = turn.header("x-jackfield-tags", "team=search").answered();
    turn.await.is(200);
    let features = counts([("api", 1), ("chat", 1), ("summary", 1), ("untagged", 1)]);
    assert_eq!(by(&gateway, "feature", 4).await, features);
    let teams = counts([("search", 3), ("untagged", 1)]);
    assert_eq!(by(&gateway, "team", 4).await, teams);
    assert_eq!(by(&gateway, "user", 4).await["cy"], 1);
    let series = [
        "jackfield_ledger_tag_tokens_total{tag=\"team\",value=\"search\",gen_ai_token_type=\"output\"}",
        "jackfield_ledger_tag_tokens_total{tag=\"session\",value=\"0f3c\",gen_ai_token_type=\"input_uncached\"}",
    ];
    gateway.metrics_with(&series).await;
    gateway.end().await;
    // The command line tags its own turns.
    let ask = |tag: &str| {
        let ask = kept.run(&["ask", "--tag", tag, "hi"]);
        ask.at_with(&claude.base_url(), TAGS).run()
    };
    ask("team=shell").await.answers("yes\n");
    ask("project=x")
        .await
        .fails(2, "--tag project=x", "the names are agent");
    let ran = kept
        .run(&["usage", "--by", "tag:team", "--json"])
        .run()
        .await;
    let report: Value = serde_json::from_str(&ran.out).expect(&ran.err);
    let lines = report["lines"].as_array().expect("lines").iter();
    let lines = lines.map(|line| json!([line["tag:team"], line["replies"]]));
    let expected = json!([["search", 3], ["shell", 1], ["untagged", 1]]);
    assert_eq!(lines.collect::<Value>(), expected, "{report:#}");
}

/// A call that waits for a person, the message that its server asks for, and the end of the turn have the tags of the
/// request that began it; a summary and a question of an MCP client have their own.
#[tokio::test]
async fn model_calls_have_the_tags_of_the_request_that_caused_them() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("box__judge", &json!({})),
        ScriptTurn::text("It is spam.").when("Buy now!"),
        ScriptTurn::text("Spam."),
        ScriptTurn::text("Still spam."),
        ScriptTurn::text("They judged.").when("Summarize the conversation above"),
        ScriptTurn::text("42."),
    ])
    .await;
    let wanted = json!({
        "maxTokens": 50,
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Buy now!" } }],
    });
    let script = json!({ "tools": [tool("judge")], "calls": { "judge": [{ "sample": wanted }] }, "era": "legacy" });
    let server = McpServer::new(script);
    let kept = Kept::new();
    let config = format!(
        "[serve]\napprovals = \"wait\"\nask = true\n[policy.tools]\n\"box/*\" = \"ask\"\n{TAGS}"
    );
    let run = kept.gateway().at_with(&claude.base_url(), &config);
    let run = run.servers([("box", server.entry())]);
    let gateway = Gateway::listening(run.start()).await;
    let made = gateway.post("/api/v1/sessions", &json!({})).answered();
    let session = made.await.header("location").to_owned();
    let turns = format!("{session}/turns");
    let turn = json!({ "message": "Judge.", "mode": "background" });
    let turn = gateway.post(&turns, &turn);
    let turn = turn.header("x-jackfield-tags", "team=search").answered();
    turn.await.is(202);
    for asked in ["approval", "elicitation"] {
        let mut events = gateway.get("/api/v1/approvals/events").sent().await;
        events.until(&format!("\"kind\":\"{asked}\"")).await;
        let open = gateway.get("/api/v1/approvals").answered().await.is(200);
        let id = open["approvals"][0]["id"].as_str().expect("an id");
        let allowed = gateway.post(&format!("/api/v1/approvals/{id}/allow"), &json!({}));
        allowed.answered().await.is(200);
    }
    let rest = gateway.get(&format!("{session}/events?until=rest"));
    rest.answered().await;
    assert_eq!(by(&gateway, "team", 3).await, counts([("search", 3)]));
    let again = gateway.post(&turns, &json!({ "message": "Sure?" }));
    again.answered().await.is(200);
    let summary = gateway.post(&format!("{session}/compact"), &json!({}));
    let summary = summary.header("x-jackfield-tags", "team=tidy").answered();
    summary.await.is(201);
    let params = json!({ "name": "ask", "arguments": { "message": "6*7?" } });
    let ask = gateway.modern(1, "tools/call", params);
    let ask = ask.header("x-jackfield-tags", "team=agents").answered();
    let answer = ask.await.is(200);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    let teams = counts([("agents", 1), ("search", 3), ("tidy", 1), ("untagged", 1)]);
    assert_eq!(by(&gateway, "team", 6).await, teams);
    gateway.end().await;
}

/// What a client sends for its own use, or by mistake, is no tag, and no fault of its request.
#[tokio::test]
async fn junk_in_place_of_tags_is_dropped_and_the_request_is_answered() {
    let (kept, server) = (Kept::new(), TestServer::start().await);
    let url = server.base_url();
    let config =
        format!("model = \"openai/gpt\"\n[providers.openai]\nbase_url = \"{url}/v1\"\n{TAGS}");
    let gateway = kept.gateway().plain().configured(&config);
    let gateway = gateway.env("OPENAI_API_KEY", "sk-of-openai-0123");
    let gateway = gateway.env("JACKFIELD_LOG", "jackfield_gateway=debug");
    let gateway = Gateway::listening(gateway.start()).await;
    let many: BTreeMap<String, Value> = (0..10_000)
        .map(|nth| (format!("name{nth}"), json!("value")))
        .collect();
    let long = "x".repeat(65);
    let far = format!("{}team=search", "other=value,".repeat(400));
    let junk: [(&str, Value); 8] = [
        ("", json!(many)),
        ("", json!("team=search")),
        ("", json!({ "team": 7, "feature": ["a"], "session": null })),
        ("", json!({ "team": "two\nlines", "feature": long })),
        ("team", json!({})),
        ("team=,=search,,;team=a", json!({})),
        ("Team=search", json!({})),
        (&far, json!(null)),
    ];
    for (nth, (header, metadata)) in junk.iter().enumerate() {
        server.answer(Response::json(200, "{\"usage\":{\"prompt_tokens\":7}}"));
        let body = json!({ "model": "openai/gpt", "messages": [], "metadata": metadata });
        let asking = gateway.post("/v1/chat/completions", &body);
        let asking = if header.is_empty() {
            asking
        } else {
            asking.header("x-jackfield-tags", header)
        };
        let answer = asking.answered().await;
        assert_eq!(answer.status, 200, "{nth}: {}", answer.text());
    }
    for name in ["team", "feature", "session"] {
        assert_eq!(by(&gateway, name, 8).await, counts([("untagged", 8)]));
    }
    gateway
        .get("/api/v1/usage?by=tag:Team")
        .answered()
        .await
        .is(400);
    gateway.running.terminate();
    let log = gateway.running.end().await.err;
    let told = log.lines().filter(|line| line.contains("cannot be a tag"));
    let told: Vec<&str> = told.collect();
    // One line for a request, of which `metadata` that is no object says nothing, with names and without values.
    assert_eq!(told.len(), 6, "{log}");
    assert!(told[0].ends_with(", \"name1003\"]"), "{}", told[0]);
    assert!(told[2].ends_with("[\"team\", \"feature\"]"), "{}", told[2]);
    assert!(
        told.iter()
            .all(|line| !line.contains("value") && !line.contains("two"))
    );
}
