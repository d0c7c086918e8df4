//! Notes: what cannot be told to a provider is said, or refused before anything is sent.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Gateway, Jackfield, Kept, Ran, jackfield, kept};

/// Claude has no place for it, and answers the worse for it.
const SEED: &str = "settings.seed = 1\n";

/// The line that says so.
const NOTE: &str = "note: settings.seed is not sent (setting_not_supported; quality)";

#[tokio::test]
async fn strict_about_quality_refuses_before_anything_is_sent() {
    let ran = refused(jackfield(["ask", "--strict=quality", "hello"]), SEED).await;
    ran.stops(
        4,
        "settings.seed would be left out (setting not supported; quality)",
    );
    ran.stops(4, "be strict about meaning only");
    ran.says_line("help: ", "`--strict=false` lets everything pass");
    assert_eq!(
        ran.err
            .lines()
            .filter(|line| line.starts_with("error: "))
            .count(),
        1
    );
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn what_is_configured_refuses_and_the_flag_wins_over_it() {
    let configured = format!("{SEED}settings.strict = \"quality\"\n");
    let ran = refused(jackfield(["ask", "hello"]), &configured).await;
    ran.stops(4, "strict about quality");
    for weaker in ["--strict", "--strict=meaning", "--strict=false"] {
        answered(jackfield(["ask", weaker, "hello"]), &configured).await;
    }
}

#[tokio::test]
async fn a_loss_of_meaning_is_said_in_any_case_and_refused_by_the_bare_flag() {
    // Claude would go on in a place of its own, and is not told to.
    let container = "settings.extensions.claude.container = \"c-1\"\n";
    let ran = answered(jackfield(["ask", "hello"]), container).await;
    ran.says_line(
        "! note: ",
        "settings.extensions.claude.container is not passed on (provider_would_act; meaning)",
    );
    let ran = refused(jackfield(["ask", "--strict", "hello"]), container).await;
    ran.stops(
        4,
        "settings.extensions.claude.container would not be passed on (provider would act; meaning)",
    );
    ran.stops(4, "leave that out or change it, or do not be strict");
}

#[tokio::test]
async fn a_form_that_claude_cannot_be_held_to_is_a_loss_of_meaning_and_a_schema_is_none() {
    let any_object = "settings.response_format = \"json_object\"\n";
    let ran = answered_by(jackfield(["ask", "hello"]), any_object, "{}").await;
    ran.says_line(
        "! note: ",
        "settings.response_format is not sent (json_object_not_supported; meaning)",
    );
    refused(jackfield(["ask", "--strict", "hello"]), any_object)
        .await
        .stops(4, "settings.response_format would be left out");
    let schema = "[settings.response_format]\n\
                  schema = { type = \"object\", properties = {}, additionalProperties = false }\n";
    let ran = answered_by(
        jackfield(["ask", "--strict=quality", "hello"]),
        schema,
        "{}",
    )
    .await;
    assert!(!ran.err.contains("note"), "{}", ran.err);
}

#[tokio::test]
async fn a_field_that_only_claude_knows_is_sent_to_claude() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello!")]).await;
    let fields = "providers.claude.betas = [\"fast-mode-2026-02-01\"]\n\
                  settings.extensions.claude.speed = \"fast\"\n\
                  settings.extensions.openai-chat.logprobs = true\n";
    let ask = jackfield(["ask", "--strict=quality", "hello"]);
    let ran = ask.at_with(&claude.base_url(), fields).run().await;
    ran.answers("Hello!\n");
    kept(&claude);
    assert_eq!(claude.requests()[0]["speed"], "fast");
    assert!(claude.requests()[0].get("logprobs").is_none());
}

#[tokio::test]
async fn a_refusal_is_an_event_like_other_failures() {
    let ran = refused(
        jackfield(["ask", "--json", "--strict=quality", "hello"]),
        SEED,
    )
    .await;
    let end = &ran.last_event()["end"];
    assert_eq!(end["kind"], "failed", "{end}");
    assert_eq!(end["failure"]["kind"], "unsupported", "{end}");
    // It would fail again, and is not tried again.
    let retries = ran
        .events()
        .iter()
        .filter(|event| event["event"] == "retry")
        .count();
    assert_eq!(retries, 0);
}

#[tokio::test]
async fn strict_about_looks_says_which_setting_to_make() {
    let ran = refused(jackfield(["ask", "--strict=cosmetic", "hello"]), "").await;
    ran.stops(
        4,
        "settings.max_output_tokens would be changed (max tokens defaulted; cosmetic)",
    );
    let made = "settings.max_output_tokens = 1000\n";
    // Claude has no place for what the tools say of their outcomes.
    let ask = jackfield(["ask", "--strict=cosmetic", "--no-tools", "hello"]);
    answered(ask, made).await;
}

#[tokio::test]
async fn a_word_that_is_no_effect_is_told_with_the_nearest() {
    let ran = refused(jackfield(["ask", "--strict=qualty", "hello"]), "").await;
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    ran.says("'quality'");
    let ran = refused(
        jackfield(["ask", "hello"]),
        "settings.strict = \"qualty\"\n",
    )
    .await;
    ran.stops(3, "`qualty` is unknown; did you mean `quality`?");
}

#[tokio::test]
async fn a_note_is_one_line_a_turn_where_more_is_to_be_shown() {
    let claude = calling().await;
    let ask = jackfield(["ask", "-v", "1+1?"]).at_with(&claude.base_url(), SEED);
    let ran = ask.run().await;
    kept(&claude);
    ran.answers("It is 2.\n");
    let lines = ran.err.lines().filter(|line| *line == NOTE).count();
    assert_eq!(lines, 1, "{}", ran.err);
}

#[tokio::test]
async fn without_that_nothing_is_said_of_it() {
    let ran = answered(jackfield(["ask", "hello"]), SEED).await;
    assert!(!ran.err.contains("note"), "{}", ran.err);
}

#[tokio::test]
async fn notes_are_events_and_in_the_last_one_once_a_turn() {
    let claude = calling().await;
    let ask = jackfield(["ask", "--json", "--strict", "1+1?"]).at_with(&claude.base_url(), SEED);
    let ran = ask.run().await;
    kept(&claude);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let note = json!({
        "code": "setting_not_supported", "effect": "quality", "kind": "dropped",
        "path": "settings.seed",
    });
    let of_seed = |note: &&Value| note["path"] == "settings.seed";
    let last = ran.last_event();
    assert_eq!(last["rounds"], 2);
    let listed: Vec<&Value> = last["notes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(of_seed)
        .collect();
    assert_eq!(listed, [&note]);
    let mut told: Vec<Value> = ran.events();
    told.retain(|event| event["event"] == "note" && of_seed(&event));
    for event in &mut told {
        event.as_object_mut().map(|event| event.remove("event"));
    }
    assert_eq!(told, [note]);
}

#[tokio::test]
async fn a_later_round_is_as_strict_and_what_was_done_until_then_is_told() {
    // The calculator says more in the structured form of its outcome, for which Claude has no place.
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("It is 2."),
    ])
    .await;
    let ask = jackfield(["ask", "--json", "--strict=quality", "1+1?"]).at(&claude.base_url());
    let ran = ask.run().await;
    ran.stops(
        4,
        "messages[2].blocks[0].result.structured would be left out",
    );
    ran.stops(4, "be strict about meaning only");
    assert_eq!((claude.requests().len(), claude.unused()), (1, 1));
    let last = ran.last_event();
    assert_eq!(last["calls"][0]["result"], "2", "{last}");
    assert_eq!(last["calls"][0]["status"], "done", "{last}");
}

/// The run, of which the server has seen nothing.
async fn refused(ask: Jackfield, configuration: &str) -> Ran {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello!")]).await;
    let ran = ask.at_with(&claude.base_url(), configuration).run().await;
    assert_eq!(claude.requests(), [Value::Null; 0]);
    ran
}

/// The run, which has its answer and nothing else on standard output.
async fn answered(ask: Jackfield, configuration: &str) -> Ran {
    answered_by(ask, configuration, "Hello!").await
}

/// The run, which has this answer and nothing else on standard output.
async fn answered_by(ask: Jackfield, configuration: &str, answer: &str) -> Ran {
    let claude = ScriptedClaude::start([ScriptTurn::text(answer)]).await;
    let ran = ask.at_with(&claude.base_url(), configuration).run().await;
    ran.answers(&format!("{answer}\n"));
    kept(&claude);
    ran
}

/// A turn of two rounds.
async fn calling() -> ScriptedClaude {
    ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "1+1" })),
        ScriptTurn::text("It is 2."),
    ])
    .await
}

#[tokio::test]
async fn a_client_of_the_gateway_is_told_its_own_field() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let sessions = Kept::new();
    let gateway = Gateway::listening(sessions.gateway().at(&claude.base_url()).start()).await;
    let asked = json!({
        "model": "claude-sonnet-5",
        "max_tokens": 9,
        "messages": [{ "role": "user", "content": "hi" }],
        "logit_bias": { "5": 1 },
        "with\u{7f}control": 1,
    });
    let path = "settings.extensions.openai-chat.logit_bias";
    let asking = || gateway.post("/v1/chat/completions", &asked);
    let answer = asking().answered().await;
    answer.is(200);
    let notes: Value =
        serde_json::from_str(answer.header("x-jackfield-notes")).expect("a header of JSON");
    let paths: Vec<&str> = notes
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|note| note["path"].as_str())
        .collect();
    assert!(paths.contains(&path), "{notes}");
    assert!(
        paths.contains(&"settings.extensions.openai-chat.with\u{7f}control"),
        "{notes}"
    );
    let refused = asking().header("x-jackfield-strict", "quality");
    let told = refused.answered().await.is(400)["error"]["message"].to_string();
    assert!(told.contains(path), "{told}");
    gateway.end().await;
    kept(&claude);
}
