//! Bad input: what answers in the provider's place, or what the provider says.

use jackfield_testkit::server::{RefusingPort, Response};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::harness::{KEY, Ran, jackfield, kept};

#[tokio::test]
async fn a_wrong_key_is_told_and_never_shown_even_if_the_server_repeats_it() {
    let refusal = error("authentication_error", &format!("invalid x-api-key: {KEY}"));
    let help = "check the key of `claude`";
    for arguments in [["ask", "hello"], ["ask", "--verbose"], ["ask", "--json"]] {
        let claude = ScriptedClaude::start([ScriptTurn::status(401, &refusal)]).await;
        let ask = jackfield(arguments).stdin("hello").at(&claude.base_url());
        // The log is held to it, too.
        let ran = ask.env("JACKFIELD_LOG", "trace").run().await;
        ran.fails(3, "invalid x-api-key", help);
        assert_eq!(claude.requests().len(), 1);
        assert_eq!(
            claude.server().request(0).await.header("x-api-key"),
            Some(KEY)
        );
        kept(&claude);
    }
}

#[tokio::test]
async fn a_key_that_a_proxy_repeats_in_words_of_its_own_is_not_shown() {
    let page = Response::text(403, format!("who is {KEY}?\n"));
    let ran = ask_once(ScriptTurn::wire(page)).await;
    ran.fails(4, "answered 403: who is [redacted]?", "look at the rights");
}

#[tokio::test]
async fn an_unknown_model_is_told_with_its_name() {
    let refusal = error("not_found_error", "model: claude-nonsense-9");
    let claude = ScriptedClaude::start([ScriptTurn::status(404, &refusal)]).await;
    let ask = jackfield(["ask", "--model", "claude/claude-nonsense-9", "hello"]);
    let ran = ask.at(&claude.base_url()).run().await;
    let help = "look at the name `claude-nonsense-9`; take another with --model";
    ran.fails(4, "model: claude-nonsense-9", help);
    kept(&claude);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_its_address() {
    let port = RefusingPort::reserve();
    let ask = jackfield(["ask", "hello"]).at_with(&port.base_url(), ONCE);
    let ran = ask.run().await;
    let address = port.base_url().replace("http://", "");
    let help = "check the network, proxies, and `base_url` under [providers.claude]";
    ran.fails(4, &format!("{address} refused the connection"), help);
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn html_in_place_of_json_is_told_with_the_address() {
    let page = "<!doctype html><html><h1>Please log in</h1></html>";
    let ran = ask_once(ScriptTurn::html(200, page)).await;
    let help = "look at `base_url` under [providers.claude]";
    ran.fails(4, "/v1/messages answered with a web page (200)", help);
    let ran = ask_once(ScriptTurn::html(404, page)).await;
    ran.fails(4, "answered with a web page (404)", "");
    let ran = ask_once(ScriptTurn::html(502, page)).await;
    ran.fails(4, "answered with a web page (502)", "");
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn an_answer_that_is_not_the_providers_is_told() {
    let help = "look at `base_url` under [providers.claude]";
    let ran = ask_once(ScriptTurn::status(200, &json!({ "answer": 42 }))).await;
    ran.fails(4, "the provider's answer cannot be read", help);
    let garbage = Response::event_stream("event: content_block_delta\ndata: {\"index\": \n\n");
    let ran = ask_once(ScriptTurn::wire(garbage)).await;
    ran.fails(4, "", help);
    let ran = ask_once(ScriptTurn::wire(Response::text(200, "OK"))).await;
    ran.fails(4, "answered with text/plain", help);
}

#[tokio::test]
async fn a_model_that_says_nothing_is_not_waited_for_for_ever() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello!").stall_after(0)]).await;
    let limits = "[limits]\nmodel_retries = 0\nmodel_idle = \"300ms\"";
    let ask = jackfield(["ask", "hello"]).at_with(&claude.base_url(), limits);
    let ran = ask.run().await;
    ran.fails(4, "", "ask again, or raise `model_idle` under [limits]");
    claude.server().closed_by_client(0).await;
    kept(&claude);
}

#[tokio::test]
async fn arguments_that_are_not_json_are_an_outcome_and_the_model_can_correct_them() {
    let broken = ScriptPart::Call {
        arguments: "{\"expression\": \"15% of 25".to_owned(),
        id: None,
        name: "calculator".to_owned(),
    };
    check_corrected(
        ScriptTurn::reply([broken]),
        "Send the call again with valid JSON",
    )
    .await;
}

#[tokio::test]
async fn arguments_that_are_no_object_are_an_outcome_and_the_model_can_correct_them() {
    let list = ScriptTurn::call("calculator", &json!(["15% of 2500"]));
    check_corrected(list, "Send the call again with valid JSON").await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_schema_are_an_outcome_that_names_the_place() {
    let number = ScriptTurn::call("calculator", &json!({ "expression": 375 }));
    check_corrected(number, "`/expression`: 375 is not of type \"string\"").await;
}

#[tokio::test]
async fn a_context_that_is_too_long_is_told_by_how_much() {
    let refusal = "prompt is too long: 250000 tokens > 200000 maximum";
    let ran = ask_once(ScriptTurn::status(
        400,
        &error("invalid_request_error", refusal),
    ))
    .await;
    let help = "shorten the question or what is piped in by at least 50000 tokens";
    ran.fails(4, "250000 tokens > 200000 maximum", help);
}

#[tokio::test]
async fn s4_02_the_way_out_of_a_session_that_is_too_long_is_named_and_leads_out() {
    let refusal = "prompt is too long: 250000 tokens > 200000 maximum";
    let too_long = || ScriptTurn::status(400, &error("invalid_request_error", refusal));
    let other = error("invalid_request_error", "no such setting");
    let claude = ScriptedClaude::start([
        ScriptTurn::text("Hello."),
        too_long(),
        ScriptTurn::status(400, &other),
        too_long(),
        ScriptTurn::text("Short.").when("Shorter?"),
    ])
    .await;
    let folder = tempfile::tempdir().expect("a folder can be made");
    // A summary would be another way out.
    let run = |arguments: &[&str]| {
        let run = jackfield([]).more(arguments);
        let run = run.env("JACKFIELD_DB", folder.path().join("kept.db"));
        run.at_with(&claude.base_url(), "compaction.at = 0\n").run()
    };
    let ran = run(&["ask", "--session", "trip", "Hi."]).await;
    ran.answers("Hello.\n");
    // What was too long is sent again with a shorter question, so the place is the same.
    let way_out = "session trip keeps what is too long: `jackfield sessions fork trip --at 1`";
    for (question, why, help) in [
        (
            "A long question.",
            "250000 tokens > 200000 maximum",
            way_out,
        ),
        // That fails in another way, which proves nothing.
        ("Another question.", "no such setting", "look at [settings]"),
        (
            "A shorter question.",
            "250000 tokens > 200000 maximum",
            way_out,
        ),
    ] {
        let ran = run(&["ask", "--session", "trip", question]).await;
        ran.fails(4, why, help);
    }
    let forked = run(&["sessions", "fork", "trip", "--at", "1"]).await;
    let ran = run(&["ask", "--session", forked.out.trim(), "Shorter?"]).await;
    ran.answers("Short.\n");
    let sent = claude.requests()[4]["messages"].to_string();
    assert!(
        sent.contains("Hi.") && !sent.contains("question."),
        "{sent}"
    );
    kept(&claude);
}

#[tokio::test]
async fn a_session_of_which_nothing_fits_is_left_for_another_one() {
    let refusal = "prompt is too long: 250000 tokens > 200000 maximum";
    let too_long = ScriptTurn::status(400, &error("invalid_request_error", refusal));
    let claude = ScriptedClaude::start([too_long]).await;
    let chat = jackfield(["chat"]).stdin("A long question.\n");
    let ran = chat.at(&claude.base_url()).run().await;
    let help = "keeps what is too long: /clear begins another one";
    ran.fails(4, "250000 tokens > 200000 maximum", help);
    kept(&claude);
}

/// The model calls wrongly, is told so, calls again and answers.
async fn check_corrected(wrong: ScriptTurn, told: &str) {
    let claude = ScriptedClaude::start([
        wrong,
        ScriptTurn::call("calculator", &json!({ "expression": "15% of 2500" })).when(told),
        ScriptTurn::text("It is 375.").when("375"),
    ])
    .await;
    let ask = jackfield(["ask", "15% of 2500?"]).at(&claude.base_url());
    let ran = ask.run().await;
    ran.answers("It is 375.\n");
    ran.says_line("  - calculator · not run", "The call was not run: ");
    ran.says_line("  ✓ calculator · done", "375");
    kept(&claude);
}

/// A question that is answered by this, and not asked again.
async fn ask_once(turn: ScriptTurn) -> Ran {
    let claude = ScriptedClaude::start([turn]).await;
    let ask = jackfield(["ask", "hello"]).at_with(&claude.base_url(), ONCE);
    let ran = ask.run().await;
    assert_eq!(claude.requests().len(), 1);
    kept(&claude);
    ran
}

fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// No model call is tried again.
const ONCE: &str = "limits.model_retries = 0";
