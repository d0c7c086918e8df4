//! `jackfield ask` as a process, in front of a scripted Claude.

use jackfield_testkit::server::Gate;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{ScriptPart, ScriptTurn};
use serde_json::{Value, json};

use crate::process::jackfield;

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_goes_to_standard_output_and_the_rest_to_standard_error() {
    let claude = ScriptedClaude::start([
        ScriptTurn::reply([ScriptPart::Text("First I need to calculate.".to_owned())])
            .and_call("calculator", &json!({ "expression": "15% of 2500" })),
        ScriptTurn::text("It is 375."),
    ])
    .await;
    let ran = jackfield(["ask", "15%", "of", "2500?"])
        .at(&claude.base_url())
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out, "First I need to calculate.\n\nIt is 375.\n");
    assert!(
        ran.err
            .starts_with("🧮 calculator(expression: \"15% of 2500\")\n  ✓ calculator · done in "),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("claude/claude-opus-5-5 · 2 rounds · 1 call · 200 tokens in, 40 out · "),
        "{}",
        ran.err
    );
    let request = &claude.requests()[0];
    assert_eq!(request["model"], "claude-opus-5-5");
    assert!(
        request["system"]
            .to_string()
            .contains("data, not instructions"),
        "{request}"
    );
    assert_eq!(request["messages"][0]["content"][0]["text"], "15% of 2500?");
    assert_eq!(claude.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_and_piped_text_reach_the_model() {
    let claude = ScriptedClaude::start([ScriptTurn::text("ok")]).await;
    let ran = jackfield([
        "ask",
        "-m",
        "quick",
        "--system",
        "Be brief.",
        "--no-tools",
        "explain",
    ])
    .configured_at(
        &claude.base_url(),
        "[aliases]\nquick = 'claude/claude-haiku-5-5'",
    )
    .stdin("a diff\n")
    .run_beside()
    .await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "ok\n"),
        "{}",
        ran.err
    );
    let request = &claude.requests()[0];
    assert_eq!(request["model"], "claude-haiku-5-5");
    assert!(
        request["system"].to_string().contains("Be brief."),
        "{request}"
    );
    assert_eq!(
        request["messages"][0]["content"][0]["text"],
        "explain\n\na diff"
    );
    assert!(
        request.get("tools").is_none_or(|tools| tools == &json!([])),
        "{request}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_call_is_shown_and_the_model_is_told_which_rule_it_was() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("I may not calculate."),
    ])
    .await;
    let ran = jackfield(["ask", "--deny=calculator", "--deny=rm", "1+1?"])
        .at(&claude.base_url())
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.starts_with("warning: --deny 'rm' fits no tool; ")
            && !ran.err.contains("--deny 'calculator'"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("  ✗ calculator · denied · "),
        "{}",
        ran.err
    );
    assert!(
        ran.err
            .contains("denied by the rule `\"calculator\" = \"deny\"`"),
        "{}",
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_the_denial_names_the_setting_and_yes_answers() {
    let script = || {
        [
            ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
            ScriptTurn::text("done"),
        ]
    };
    let policy = "[policy.tools]\n'*' = 'ask'";
    let claude = ScriptedClaude::start(script()).await;
    let ran = jackfield(["ask", "1+1?"])
        .configured_at(&claude.base_url(), policy)
        .run_beside()
        .await;
    assert!(
        ran.err
            .contains("set `\"builtin/calculator\" = \"allow\"` under [policy.tools]"),
        "{}",
        ran.err
    );
    for flag in ["--yes", "--allow=builtin/*"] {
        let claude = ScriptedClaude::start(script()).await;
        let run = jackfield(["ask", flag, "1+1?"]).configured_at(&claude.base_url(), policy);
        let ran = run.run_beside().await;
        assert!(
            ran.err.contains("  ✓ calculator · done in "),
            "{flag}: {}",
            ran.err
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_of_a_provider_says_what_to_do() {
    let error = |kind: &str, message: &str| json!({ "type": "error", "error": { "type": kind, "message": message } });
    let too_long = "prompt is too long: 250000 tokens > 200000 maximum";
    for (turn, code, expected) in [
        (
            ScriptTurn::status(401, &error("authentication_error", "invalid x-api-key")),
            3,
            "help: check the key of `claude`",
        ),
        (
            ScriptTurn::status(404, &error("not_found_error", "model: claude-opus-5-5")),
            4,
            "help: look at the name `claude-opus-5-5`",
        ),
        (
            ScriptTurn::status(403, &error("permission_error", "no")),
            4,
            "help: look at the rights",
        ),
        (
            ScriptTurn::status(400, &error("invalid_request_error", too_long)),
            4,
            "help: shorten the question",
        ),
        (
            ScriptTurn::status(400, &error("invalid_request_error", "temperature: no")),
            4,
            "help: look at [settings]",
        ),
        (
            ScriptTurn::status(
                400,
                &error("invalid_request_error", "llama-1 does not support tools"),
            ),
            4,
            "help: set `tools = \"text\"` under [providers.claude], or give --no-tools",
        ),
        (
            ScriptTurn::html(200, "<html><h1>Please log in</h1></html>"),
            4,
            "help: look at `base_url` under [providers.claude]",
        ),
    ] {
        let claude = ScriptedClaude::start([turn]).await;
        let ran = jackfield(["ask", "hello"])
            .at(&claude.base_url())
            .run_beside()
            .await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(code), ""),
            "{}",
            ran.err
        );
        let lines: Vec<&str> = ran.err.lines().collect();
        assert!(lines[0].starts_with("error: "), "{lines:?}");
        assert!(lines[1].starts_with(expected), "{lines:?}");
        assert!(!ran.err.contains("sk-test-key"), "{lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_tried_again_and_then_told() {
    let port = jackfield_testkit::server::RefusingPort::reserve();
    let ran = jackfield(["ask", "hello"])
        .configured_at(&port.base_url(), "[limits]\nmodel_retries = 1")
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(ran.err.contains("; retrying in "), "{}", ran.err);
    assert!(
        ran.err
            .contains("help: check the network, proxies, and `base_url`"),
        "{}",
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_kept_and_told() {
    let claude =
        ScriptedClaude::start([ScriptTurn::text(WORDS.repeat(400)).cut_after(2_500)]).await;
    let ran = jackfield(["ask", "hello"])
        .at(&claude.base_url())
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(6), "{} {}", ran.out, ran.err);
    assert!(
        !ran.out.trim().is_empty() && WORDS.repeat(400).starts_with(ran.out.trim_end()),
        "{}",
        ran.out
    );
    assert!(
        ran.err.contains("error: the answer broke off: "),
        "{}",
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_an_answer_or_an_error_as_it_is_set() {
    let call = || ScriptTurn::call("calculator", &json!({ "expression": "1+1" })).when("hello");
    let claude = ScriptedClaude::start([call(), ScriptTurn::text("as far as I know")]).await;
    let ran = jackfield(["ask", "--max-rounds=2", "hello"])
        .at(&claude.base_url())
        .run_beside()
        .await;
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "as far as I know\n"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("the turn had all its rounds"),
        "{}",
        ran.err
    );
    let claude = ScriptedClaude::start([call()]).await;
    let run = jackfield(["ask", "--max-rounds=1", "hello"]);
    let ran = run
        .configured_at(&claude.base_url(), "[limits]\non_limit = 'error'")
        .run_beside()
        .await;
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(
        ran.err
            .contains("help: raise `rounds` under [limits], or --max-rounds"),
        "{}",
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_json_lines_and_the_last_one_has_everything() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("nonsense", &json!({})),
        ScriptTurn::text("There is no such tool."),
    ])
    .await;
    let ran = jackfield(["ask", "--json", "hello"])
        .at(&claude.base_url())
        .run_beside()
        .await;
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(last["calls"][0]["status"], "not_run");
    assert_eq!(last["calls"][0]["is_error"], true);
    assert_eq!(last["answer"], "There is no such tool.");
    assert_eq!(last["usage"]["input_tokens"], 200);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_the_turn_in_one_step_and_keeps_what_was_said() {
    use std::io::Read as _;

    let claude =
        ScriptedClaude::start([ScriptTurn::text(WORDS.repeat(400)).stall_after(2_500)]).await;
    let mut run = jackfield(["ask", "hello"]).at(&claude.base_url());
    let (code, out, err) = tokio::task::spawn_blocking(move || {
        let mut child = run.spawn();
        let mut out = child.stdout.take().unwrap();
        let mut first = [0; 1];
        // Something was said, so the turn is under way.
        out.read_exact(&mut first).unwrap();
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args(["-INT", &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        let out = format!("{}{rest}", char::from(first[0]));
        (
            output.status.code(),
            out,
            String::from_utf8(output.stderr).unwrap(),
        )
    })
    .await
    .unwrap();
    assert_eq!(code, Some(130), "{err}");
    assert!(WORDS.repeat(400).starts_with(out.trim_end()), "{out}");
    assert!(
        err.contains("cancelling; Ctrl-C again leaves at once\n"),
        "{err}"
    );
    assert!(err.contains("! cancelled\n"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_reader_goes_away_the_turn_is_cancelled_and_nothing_is_said() {
    use std::io::Read as _;

    let gate = Gate::new();
    let claude =
        ScriptedClaude::start([ScriptTurn::text(WORDS.repeat(400)).pause_after(2_500, &gate)])
            .await;
    let mut run = jackfield(["ask", "hello"]).at(&claude.base_url());
    let ran = tokio::task::spawn_blocking(move || {
        let mut child = run.spawn();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 4]).unwrap();
        drop(out);
        gate.open();
        let output = child.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    });
    assert_eq!(ran.await.unwrap(), (Some(0), String::new()));
}

/// Said again and again, it is longer than what the servers here send before they break off.
const WORDS: &str = "word after ";
