//! What a person does on the page.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::openid::{CLIENT_ID, CLIENT_SECRET, ScriptedOpenId};
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::json;

use crate::browser::Browser;
use crate::harness::{Gateway, Kept, MASTER, McpEndpoint, McpServer, kept, tool};

/// Every call of a tool asks a person.
const ASKS: &str = "[policy.tools]\n\"*\" = \"ask\"\n";

fn calculation(expression: &str) -> ScriptTurn {
    ScriptTurn::reply([ScriptPart::Text("Let me calculate.".to_owned())])
        .and_call("calculator", &json!({ "expression": expression }))
}

#[tokio::test]
async fn two_cards_an_approval_allowed_and_one_denied_and_nothing_of_the_model_runs() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([
        calculation("15% of 2500").and_call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text(HOSTILE),
        calculation("1+1"),
        ScriptTurn::text("Edited: 4"),
        ScriptTurn::text("The fork answers."),
    ])
    .await;
    let config = format!("{ASKS}[tags]\nnames = [\"team\"]\n");
    let running = files.gateway().at_with(&claude.base_url(), &config).start();
    let gateway = Gateway::listening(running).await;
    Browser::start("cards", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_failure_is_told_once_with_what_to_do() {
    let files = Kept::new();
    let boom = json!({ "type": "error", "error": { "type": "api_error", "message": "Boom" } });
    let claude = ScriptedClaude::start([ScriptTurn::status(500, &boom).again()]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("failed", gateway.address()).ends().await;
    gateway.end().await;
}

#[tokio::test]
async fn the_page_keeps_what_is_written_and_chosen() {
    let files = Kept::new();
    let code = "```rust\nfn main() {}\n```";
    let claude = ScriptedClaude::start([ScriptTurn::text(code)]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("kept", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn messages_written_during_a_turn_follow_its_answer() {
    let files = Kept::new();
    let (first, second) = (Gate::new(), Gate::new());
    let long = "A word after the other. ".repeat(200);
    let claude = ScriptedClaude::start([
        ScriptTurn::text(long.clone()).pause_after(4_000, &first),
        ScriptTurn::text(long).pause_after(4_000, &second),
        ScriptTurn::text("One answer more.").again(),
    ])
    .await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let mut browser = Browser::start("queued", gateway.address());
    for (gate, reached, answered) in [
        (&first, "first", "answer to the first"),
        (&second, "second", "answer to the second"),
    ] {
        browser.asks_for(reached).await;
        gate.reached().await;
        browser.done().await;
        browser.asks_for(answered).await;
        gate.open();
        browser.done().await;
    }
    browser.ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn an_answer_is_made_again_in_place_and_the_one_before_stays() {
    let files = Kept::new();
    let server = McpServer::of("pay", &json!([{ "text": "paid" }]));
    let claude = ScriptedClaude::start([
        ScriptTurn::text("First answer."),
        ScriptTurn::text("Second answer."),
        ScriptTurn::text("Third answer."),
        ScriptTurn::call("bank__pay", &json!({ "sum": 7 })),
        ScriptTurn::text("It is paid."),
        ScriptTurn::text("It was paid before."),
        ScriptTurn::text("Not at all."),
    ])
    .await;
    let config = "[policy.tools]\n\"*\" = \"allow\"\n";
    let run = files.gateway().servers([("bank", server.entry())]);
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), config).start()).await;
    Browser::start("versions", gateway.address()).ends().await;
    assert_eq!(server.count("call pay"), 1, "{:?}", server.log());
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn eight_tabs_follow_their_sessions_over_kill_9() {
    let files = Kept::new();
    let answer = |nth: u32| ScriptTurn::text(format!("Answer {nth}."));
    let mut turns: Vec<ScriptTurn> = (1..=8).map(answer).collect();
    turns.push(ScriptTurn::call(
        "calculator",
        &json!({ "expression": "6*7" }),
    ));
    turns.push(ScriptTurn::text("It is 42."));
    turns.extend((9..=31).map(answer));
    let claude = ScriptedClaude::start(turns).await;
    let running = files.gateway().at_with(&claude.base_url(), ASKS).start();
    let gateway = Gateway::listening(running).await;
    let address = gateway.address().to_owned();
    let mut browser = Browser::start("tabs", &address);
    browser.asks_for("kill").await;
    gateway.running.kill();
    gateway.running.end().await;
    browser.done().await;
    browser.asks_for("start").await;
    let again = files.run(&["serve", "--bind", &address]);
    let again = again.at(&claude.base_url()).start();
    let gateway = Gateway::listening(again).await;
    browser.done().await;
    browser.ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn the_page_works_where_the_browser_stores_nothing() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Good day.")]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("nothing_stored", gateway.address())
        .ends()
        .await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn the_focus_goes_from_an_answer_to_the_next_question() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([
        calculation("1+1").and_call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("Done."),
    ])
    .await;
    let running = files.gateway().at_with(&claude.base_url(), ASKS).start();
    let gateway = Gateway::listening(running).await;
    Browser::start("keyboard", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_reload_and_kill_9_in_the_middle_of_a_stream_lose_nothing() {
    let files = Kept::new();
    let (first, second) = (Gate::new(), Gate::new());
    let long = "A word after the other. ".repeat(40);
    let claude = ScriptedClaude::start([
        ScriptTurn::text(format!("# Rain\n\n{long}The end of the first."))
            .pause_after(4_000, &first),
        ScriptTurn::text(format!("{long}Lost.")).pause_after(4_000, &second),
        ScriptTurn::text("The reply after the restart."),
    ])
    .await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let address = gateway.address().to_owned();
    let mut browser = Browser::start("streams", &address);
    browser.asks_for("first stream").await;
    first.reached().await;
    browser.done().await;
    browser.asks_for("rest of the first stream").await;
    first.open();
    browser.done().await;
    browser.asks_for("kill").await;
    second.reached().await;
    gateway.running.kill();
    gateway.running.end().await;
    browser.done().await;
    browser.asks_for("start").await;
    let again = files.run(&["serve", "--bind", &address]);
    let again = again.at(&claude.base_url()).start();
    let gateway = Gateway::listening(again).await;
    browser.done().await;
    browser.ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn what_a_tool_gives_is_shown_as_what_it_is_and_esc_stops_a_turn() {
    let files = Kept::new();
    let gate = Gate::new();
    let stuck = ScriptTurn::text("It never stops. ".repeat(200)).pause_after(4_000, &gate);
    let mut turns: Vec<ScriptTurn> = Vec::new();
    for _ in 0..4 {
        turns.push(ScriptTurn::call("mine", &json!({})));
        turns.push(ScriptTurn::text("I see."));
    }
    turns.push(stuck);
    turns.push(ScriptTurn::text("It stops."));
    turns.push(ScriptTurn::text("A dot and a list."));
    turns.push(ScriptTurn::text("Again a dot and a list."));
    let claude = ScriptedClaude::start(turns).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let mut browser = Browser::start("hostile", gateway.address());
    browser.asks_for("stuck").await;
    gate.reached().await;
    browser.done().await;
    browser.ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_card_with_the_result_of_an_equal_call_says_so() {
    let files = Kept::new();
    let server = McpServer::of("search", &json!([{ "text": "found" }]));
    let mut turns = Vec::new();
    for _ in 0..2 {
        turns.push(ScriptTurn::call("shop__search", &json!({ "for": "tea" })));
        turns.push(ScriptTurn::text("There."));
    }
    let claude = ScriptedClaude::start(turns).await;
    let config = "[policy.tools]\n\"*\" = \"allow\"\n[tool_cache.ttl_of]\n\"shop/*\" = \"1h\"\n";
    let run = files.gateway().servers([("shop", server.trusted())]);
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), config).start()).await;
    Browser::start("cached", gateway.address()).ends().await;
    assert_eq!(server.count("call search"), 1, "{:?}", server.log());
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_call_of_unknown_outcome_asks_whether_it_runs_again() {
    let files = Kept::new();
    let server = McpServer::new(json!({
        "tools": [{ "name": "pay", "description": "Pays.", "inputSchema": { "type": "object" } }],
        "calls": { "pay": [{ "die": 3 }] },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("bank__pay", &json!({ "sum": 7 })),
        ScriptTurn::text("It is unknown whether it was paid."),
    ])
    .await;
    let policy = "[policy]\nunknown = \"ask\"\n[policy.tools]\n\"*\" = \"allow\"\n\
                  [routes.best]\ntargets = [\"claude/claude-opus-5-5\", \"claude/claude-haiku-5\"]\n";
    let gone = json!({ "command": "no-such-program-anywhere" });
    let run = files.gateway();
    let run = run.servers([("bank", server.entry()), ("gone", gone)]);
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), policy).start()).await;
    Browser::start("unknown", gateway.address()).ends().await;
    assert_eq!(server.count("call pay"), 2, "{:?}", server.log());
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn what_a_server_asks_is_a_form() {
    let files = Kept::new();
    let schema = json!({
        "type": "object",
        "required": ["day", "seats"],
        "properties": {
            "day": { "type": "string", "format": "date", "title": "Day <b>of</b> travel" },
            "seats": { "type": "integer", "minimum": 1, "maximum": 9 },
            "class": { "type": "string", "enum": ["1", "2"], "enumNames": ["First", "Second"] },
            "window": { "type": "boolean", "default": true },
            "meals": { "type": "array", "items": { "type": "string", "enum": ["fish", "rice"] } },
        },
    });
    let question = json!({ "method": "elicitation/create", "params": {
        "message": "When do you <i>travel</i>?", "requestedSchema": schema,
    } });
    let ask = json!({ "ask": { "requests": { "when": question }, "state": "signed: 1" } });
    let server = McpServer::new(json!({
        "tools": [{ "name": "book", "description": "Books.", "inputSchema": { "type": "object" } }],
        "calls": { "book": [ask, { "text": "booked" }] },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("train__book", &json!({ "to": "Porto" })),
        ScriptTurn::text("It is booked."),
    ])
    .await;
    let policy = "[policy.tools]\n\"*\" = \"allow\"\n";
    let run = files.gateway().servers([("train", server.entry())]);
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), policy).start()).await;
    Browser::start("form", gateway.address()).ends().await;
    let answers = server
        .log()
        .into_iter()
        .filter(|line| line.starts_with("answers"));
    let answers: Vec<String> = answers.collect();
    let content = json!({ "day": "2026-12-24", "seats": 2, "class": "2", "window": false, "meals": ["rice"] });
    let expected = json!({ "when": { "action": "accept", "content": content } });
    assert_eq!(answers, [format!("answers {expected}")]);
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_running_call_says_how_far_it_is_also_after_a_reload() {
    let files = Kept::new();
    let server = McpServer::new(json!({
        "tools": [{ "name": "index", "description": "Reads.", "inputSchema": { "type": "object" } }],
        "calls": { "index": [{ "progress": [3, 10, "reading <b>page</b> 3"] }, { "hold": null }] },
    }));
    let claude = ScriptedClaude::start([ScriptTurn::call("books__index", &json!({}))]).await;
    let policy = "[policy.tools]\n\"*\" = \"allow\"\n";
    let run = files.gateway().servers([("books", server.entry())]);
    let gateway = Gateway::listening(run.at_with(&claude.base_url(), policy).start()).await;
    Browser::start("progress", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_session_of_1000_messages_opens_at_once() {
    let files = Kept::new();
    let answer =
        ScriptTurn::text("An answer with **some** Markdown, and `code`.\n\n- one\n- two\n");
    let claude = ScriptedClaude::start([answer.again()]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("long", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn the_link_opens_the_page_and_nothing_else_does() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Good day")]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("link", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_key_signs_in_and_is_stored_nowhere() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Good day")]).await;
    let tokens = "[serve.tokens.page]\nenv = \"PAGE\"\n";
    let run = files.gateway().at_with(&claude.base_url(), tokens);
    let run = run.env("PAGE", "page-0123456789abcdef");
    let gateway = Gateway::listening(run.start()).await;
    Browser::start("login", gateway.address()).ends().await;
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn a_person_signs_in_at_a_server_of_its_own() {
    let files = Kept::new();
    let server = McpEndpoint::new(json!({
        "tools": [tool("get_issue")],
        "calls": { "get_issue": [{ "text": "#7 is open" }] },
        "http": { "sign_in": {} },
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("own-tracker__get_issue", &json!({})),
        ScriptTurn::text("It is open.").when("#7 is open"),
    ])
    .await;
    let config = "[secrets]\nkey_env = \"MASTER_OF_THE_TEST\"\n[policy.tools]\n\"own-*/*\" = \"allow\"\n\
                  [own_servers]\nallow_private = [\"127.0.0.1\"]\n";
    let key = files.user("ann", &[]).await;
    let run = files.gateway().at_with(&claude.base_url(), config);
    let run = run.env("MASTER_OF_THE_TEST", MASTER);
    let gateway = Gateway::listening(run.start()).await;
    let given = json!({ "url": server.server.url() });
    let set = gateway.with_key(&key, "PUT", "/api/v1/own-servers/tracker", &given);
    set.answered().await.is(200);
    Browser::start_with_key("server_sign_in", gateway.address(), &key)
        .ends()
        .await;
    assert_eq!(server.count("call get_issue"), 1);
    assert_eq!(server.count("revokes"), 1);
    kept(&claude);
    gateway.end().await;
}

#[tokio::test]
async fn an_administrator_makes_a_user_and_a_key_and_the_user_finds_its_own_things() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([]).await;
    let config = "[serve.tokens.page]\nenv = \"PAGE\"\nadmin = true\n\
                  [secrets]\nkey_env = \"MASTER_OF_THE_TEST\"\n";
    let run = files.gateway().at_with(&claude.base_url(), config);
    let run = run
        .env("PAGE", "page-0123456789abcdef")
        .env("MASTER_OF_THE_TEST", MASTER);
    let gateway = Gateway::listening(run.start()).await;
    Browser::start("people", gateway.address()).ends().await;
    gateway.end().await;
}

#[tokio::test]
async fn a_person_who_makes_the_first_key_is_signed_in_with_it_and_administers() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    Browser::start("first_key", gateway.address()).ends().await;
    gateway.end().await;
}

#[tokio::test]
async fn a_browser_signs_in_at_a_provider_and_is_told_why_not() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([]).await;
    let provider = ScriptedOpenId::start().await;
    let config = format!(
        "[serve.oidc]\nissuer = \"{}\"\nclient_id = \"{CLIENT_ID}\"\nname = \"Example\"\n\
         client_secret_env = \"SECRET_THERE\"\n",
        provider.issuer()
    );
    let run = files.gateway().at_with(&claude.base_url(), &config);
    let run = run.env("SECRET_THERE", CLIENT_SECRET).start();
    let gateway = Gateway::listening(run).await;
    let mut browser = Browser::start("sign_in", gateway.address());
    browser.asks_for("user").await;
    let added = files.run(&["users", "add", "ann@example.com"]).run().await;
    assert_eq!(added.code, Some(0), "{}", added.err);
    browser.done().await;
    browser.asks_for("end of the provider").await;
    drop(provider);
    browser.done().await;
    browser.ends().await;
    gateway.end().await;
}

/// What a model may say to run something, and Markdown that is shown.
const HOSTILE: &str = "# The results\n\n- 15% of 2500 is **375**\n- `6*7` was denied\n\n\
    <script>document.title = 'run'</script><img src=x onerror=\"document.title = 'run'\">\n\n\
    [a link](https://example.com/a?b=1&c=2) [a trap](javascript:document.title='run') \
    ![a picture](https://example.com/leak.png)\n\n\
    | tool | result |\n|---|--:|\n| calculator | 375 |\n\n```python\nprint('a line of code that is longer than the width of a phone has room for')\n```\n";
