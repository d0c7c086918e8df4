//! MCP servers as tools, in the conversations that people have.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{McpServer, jackfield, kept, tool};

const LONDON: &str = "Temperature: 15°C, Cloudy, Wind: 10km/h";

#[tokio::test]
async fn s1_02_one_call_and_the_second_round_says_it_in_words() {
    let weather = McpServer::of("get_weather", &json!([{ "text": LONDON }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__get_weather", &json!({ "location": "London" })),
        ScriptTurn::text("It is 15 degrees and cloudy in London.").when(LONDON),
    ])
    .await;
    let ask = jackfield(["ask", "What is the weather in London?"]).at(&claude.base_url());
    let ran = ask.servers([("weather", weather.trusted())]).run().await;
    ran.answers("It is 15 degrees and cloudy in London.\n");
    ran.says("weather__get_weather(location: \"London\")\n");
    ran.says("2 rounds · 1 call ");
    kept(&claude);
    weather.kept_and_gone().await;
}

#[tokio::test]
async fn s1_03_two_calls_of_one_reply_run_in_parallel_and_go_back_in_call_order() {
    // Neither is answered before both are there, and then the last one first.
    let weather = McpServer::of("get_weather", &json!([{ "hold": 2 }]));
    let arguments = |place: &str, nth: u32| json!({ "location": place, "nth": nth });
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__get_weather", &arguments("London", 1))
            .and_call("weather__get_weather", &arguments("Paris", 2)),
        ScriptTurn::text("Much the same."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "London and Paris?"]).at(&claude.base_url());
    let ran = ask.servers([("weather", weather.trusted())]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let last = ran.last_event();
    assert_eq!(last["calls"][0]["result"], "1");
    assert_eq!(last["calls"][1]["result"], "2");
    assert_eq!(last["calls"][0]["toolbox"], "weather");
    let requests = claude.requests();
    let outcomes = &requests[1]["messages"][2]["content"];
    assert_eq!([text_of(&outcomes[0]), text_of(&outcomes[1])], ["1", "2"]);
    kept(&claude);
    weather.kept_and_gone().await;
}

#[tokio::test]
async fn s1_04_a_chain_over_two_servers_takes_three_rounds() {
    let weather = McpServer::of("get_weather", &json!([{ "text": LONDON }]));
    let github = McpServer::of("create_issue", &json!([{ "text": "Issue #123 created" }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__get_weather", &json!({ "location": "London" })),
        ScriptTurn::call("github__create_issue", &json!({ "title": LONDON })).when(LONDON),
        ScriptTurn::text("I wrote it down as #123.").when("Issue #123 created"),
    ])
    .await;
    let ask = jackfield(["ask", "Make an issue of the weather in London", "--yes"]);
    let ran = ask
        .at(&claude.base_url())
        .servers([("weather", weather.entry()), ("github", github.entry())])
        .run()
        .await;
    ran.answers("I wrote it down as #123.\n");
    ran.says("3 rounds · 2 calls ");
    kept(&claude);
    weather.kept_and_gone().await;
    github.kept_and_gone().await;
}

#[tokio::test]
async fn s1_05_a_list_first_and_then_one_of_it_in_full() {
    let notes = McpServer::new(json!({
        "era": "legacy",
        "tools": [tool("list_recent_notes"), tool("get_note")],
        "calls": {
            "list_recent_notes": [{ "text": "n-7: 机器学习 笔记\nn-3: Список покупок" }],
            "get_note": [{ "echo": true }],
        },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("notes__list_recent_notes", &json!({})),
        ScriptTurn::call("notes__get_note", &json!({ "id": "n-7" })).when("n-7: 机器学习"),
        ScriptTurn::text("Here it is."),
    ])
    .await;
    let ask = jackfield([
        "ask",
        "--json",
        "Show my recent notes, then the first one in full",
    ]);
    let ask = ask.at(&claude.base_url());
    let ran = ask.servers([("notes", notes.trusted())]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    assert_eq!(calls[1]["structured"]["arguments"], json!({ "id": "n-7" }));
    kept(&claude);
    notes.kept_and_gone().await;
}

#[tokio::test]
async fn s1_06_a_tool_that_is_not_there_and_a_server_that_goes_are_outcomes() {
    let weather = McpServer::of("get_weather", &json!([{ "die": 3 }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__get_wether", &json!({})),
        ScriptTurn::call("weather__get_weather", &json!({}))
            .when("The tools are: calculator, current_datetime, weather__get_weather."),
        ScriptTurn::text("The weather cannot be had today.").when("ended with code 3"),
    ])
    .await;
    let ask = jackfield(["ask", "What is the weather?"]).at(&claude.base_url());
    let ran = ask.servers([("weather", weather.trusted())]).run().await;
    ran.answers("The weather cannot be had today.\n");
    kept(&claude);
    weather.kept_and_gone().await;
}

#[tokio::test]
async fn s1_07_a_call_that_fails_stops_no_other() {
    let weather = McpServer::new(json!({
        "tools": [tool("get_weather"), tool("get_tide")],
        "calls": {
            "get_weather": [{ "reply": {
                "content": [{ "type": "text", "text": "no such city" }], "isError": true,
            } }],
            "get_tide": [{ "text": "high at noon" }],
        },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("weather__get_weather", &json!({ "location": "Londn" }))
            .and_call("weather__get_tide", &json!({})),
        ScriptTurn::text("The tide is high at noon."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "Weather and tide?"]).at(&claude.base_url());
    let ran = ask.servers([("weather", weather.trusted())]).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let calls = ran.last_event()["calls"].clone();
    assert_eq!(
        [&calls[0]["status"], &calls[1]["status"]],
        ["failed", "done"]
    );
    assert_eq!(calls[0]["result"], "no such city");
    assert_eq!(calls[1]["result"], "high at noon");
    kept(&claude);
    weather.kept_and_gone().await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_only_what_a_trusted_server_reads_may_run() {
    let script = json!({
        "tools": [
            tool("read"),
            { "name": "write", "inputSchema": { "type": "object" } },
        ],
    });
    let (mine, theirs) = (McpServer::new(script.clone()), McpServer::new(script));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("mine__read", &json!({}))
            .and_call("mine__write", &json!({}))
            .and_call("theirs__read", &json!({})),
        ScriptTurn::text("One of three."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "Try"]).at(&claude.base_url());
    let servers = [("mine", mine.trusted()), ("theirs", theirs.entry())];
    let ran = ask.servers(servers).run().await;
    let calls = ran.last_event()["calls"].clone();
    let statuses = [0, 1, 2].map(|nth| calls[nth]["status"].clone());
    assert_eq!(statuses, ["done", "denied", "denied"]);
    let told = calls[2]["result"].as_str().unwrap_or_default();
    assert!(told.contains("\"theirs/read\" = \"allow\""), "{told}");
    assert_eq!((mine.count("call "), theirs.count("call ")), (1, 0));
    kept(&claude);
}

#[tokio::test]
async fn what_a_server_says_about_itself_is_told_to_the_model_as_the_servers_own_words() {
    let weather = McpServer::new(json!({
        "instructions": "Give cities in English.",
        "tools": [tool("get_weather")],
    }));
    let claude =
        ScriptedClaude::start([ScriptTurn::text("Hello."), ScriptTurn::text("Hello.")]).await;
    for (arguments, told) in [(["ask", "Hello"], true), (["ask", "--no-tools"], false)] {
        let ask = jackfield(arguments).stdin("Hello").at(&claude.base_url());
        let ran = ask.servers([("weather", weather.entry())]).run().await;
        ran.answers("Hello.\n");
        let system = claude.requests().pop().unwrap_or_default()["system"].to_string();
        let words =
            "What the tool server `weather` says about its tools:\\nGive cities in English.";
        assert_eq!(system.contains(words), told, "{system}");
        assert!(system.contains("You answer the question"), "{system}");
    }
    // Without tools nothing is started.
    assert_eq!(weather.count("start "), 1);
    kept(&claude);
}

#[tokio::test]
async fn ctrl_c_in_a_call_reaches_the_server_and_leaves_nothing_of_it() {
    // It ignores the end of its input, too.
    let slow = McpServer::new(json!({
        "tools": [tool("think")], "calls": { "think": [{ "wait": true }] }, "stays": true,
    }));
    let claude = ScriptedClaude::start([ScriptTurn::call("slow__think", &json!({}))]).await;
    let ask = jackfield(["ask", "Think"]).at(&claude.base_url());
    let running = ask.servers([("slow", slow.trusted())]).start();
    slow.until("call think").await;
    running.interrupt();
    let ran = running.end().await;
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    slow.kept_and_gone().await;
    // The thread of its call may not get to log that before the server ends.
    let cancelled = slow.count("said notifications/cancelled");
    assert_eq!(cancelled, 1, "{:?} {}", slow.log(), ran.err);
}

#[tokio::test]
async fn killed_by_force_it_takes_its_servers_along() {
    let stubborn = McpServer::new(json!({
        "tools": [tool("think")], "calls": { "think": [{ "wait": true }] }, "stays": true,
    }));
    let claude = ScriptedClaude::start([ScriptTurn::call("stubborn__think", &json!({}))]).await;
    let ask = jackfield(["ask", "Think"]).at(&claude.base_url());
    let running = ask.servers([("stubborn", stubborn.trusted())]).start();
    stubborn.until("call think").await;
    running.kill();
    assert_eq!(running.end().await.code, None);
    stubborn.kept_and_gone().await;
}

#[tokio::test]
async fn after_an_error_nothing_of_a_server_stays() {
    let stubborn = McpServer::new(json!({ "tools": [tool("read")], "stays": true }));
    let refusal = json!({
        "type": "error",
        "error": { "type": "authentication_error", "message": "invalid x-api-key" },
    });
    let claude = ScriptedClaude::start([ScriptTurn::status(401, &refusal)]).await;
    let ask = jackfield(["ask", "Hello"]).at(&claude.base_url());
    let ran = ask.servers([("stubborn", stubborn.entry())]).run().await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    stubborn.kept_and_gone().await;
}

#[tokio::test]
async fn text_before_a_call_of_a_server_stays_before_it() {
    let weather = McpServer::of("get_weather", &json!([{ "text": LONDON }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First I need the weather.").and(ScriptPart::Call {
            arguments: "{}".to_owned(),
            id: None,
            name: "weather__get_weather".to_owned(),
        }),
        ScriptTurn::text("Cloudy."),
    ])
    .await;
    let ask = jackfield(["ask", "Weather?"]).at(&claude.base_url());
    let ran = ask.servers([("weather", weather.trusted())]).run().await;
    ran.answers("First I need the weather.\n\nCloudy.\n");
    kept(&claude);
}

/// The text of an outcome as a request has it.
fn text_of(outcome: &Value) -> &str {
    let content = &outcome["content"];
    let text = content.as_str().or_else(|| content[0]["text"].as_str());
    text.unwrap_or_default()
}
