//! What goes wrong, with kind, phase, advice and what to do.

use std::time::Duration;

use jackfield_domain::failure::{ModelFailure, ModelFailureKind as Kind, Phase, RetryAdvice};
use jackfield_domain::price::Money;
use jackfield_domain::usage::Usage;
use jackfield_ports::chat_model::ChatModel as _;
use jackfield_provider_claude_code::ClaudeCode;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Talk, World};

#[tokio::test]
async fn a_program_in_a_bad_state_says_what_to_do() {
    let before = Phase::BeforeFirstDelta;
    for (mode, kind, phase, message) in [
        (
            "garbage",
            Kind::ProtocolViolation,
            before,
            "does not speak the protocol of Claude Code: is `command` of its provider right?",
        ),
        (
            "logged-out",
            Kind::Unauthenticated,
            before,
            "Claude Code is not logged in: run `claude` as the user of this program and type `/login`, or give its \
             provider a key",
        ),
        (
            "old",
            Kind::Unsupported,
            Phase::BeforeSend,
            "Claude Code 2.0.1 is too old; version 2.1.240 is the first that works: update it with `claude update`",
        ),
        (
            "older",
            Kind::Unsupported,
            before,
            "Claude Code does not know an argument, so it is too old or `arguments` of its provider are wrong: it \
             ended with code 1: error: unknown option '--include-partial-messages'",
        ),
        (
            "dies-at-start",
            Kind::Interrupted,
            before,
            "Claude Code ended in the middle: it ended with code 3",
        ),
        (
            "dies-mid-reply",
            Kind::Interrupted,
            Phase::MidReply,
            "Claude Code ended in the middle: it ended with code 3",
        ),
        (
            "dies-before-its-child",
            Kind::Interrupted,
            Phase::MidReply,
            "Claude Code ended in the middle: it ended with code 3",
        ),
        (
            "silent",
            Kind::Timeout,
            before,
            "Claude Code was silent for 1 s, and was ended",
        ),
        (
            "stops-reading",
            Kind::Timeout,
            before,
            "Claude Code was silent for 1 s, and was ended",
        ),
    ] {
        let world = World::new([ScriptTurn::text("Hello."); 1]).await;
        let mut config = world.config(mode);
        if mode == "silent" {
            config.start_limit = Duration::from_millis(200);
        }
        if mode == "stops-reading" {
            // It does not notice the end of its input.
            config.silence = Duration::from_millis(200);
            config.grace = Duration::from_millis(200);
        }
        let failure = ask(&world, config).await;
        assert_eq!(failure.kind, kind, "{mode}: {failure:?}");
        assert_eq!(failure.phase, phase, "{mode}");
        assert_eq!(failure.advice, kind.default_advice(), "{mode}");
        assert!(failure.message.ends_with(message), "{mode}: {failure:?}");
        world.all_ended().await;
    }
}

#[tokio::test]
async fn the_list_of_models_tells_of_a_program_in_a_bad_state_without_a_message() {
    let world = World::new([]).await;
    let listed = ClaudeCode::new(world.config("")).models().await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|model| &*model.id).collect();
    assert_eq!(ids, ["sonnet", "opus"]);
    for (mode, kind) in [
        ("dies-at-start", Kind::Interrupted),
        ("garbage", Kind::ProtocolViolation),
        ("logged-out", Kind::Unauthenticated),
        ("old", Kind::Unsupported),
        ("older", Kind::Unsupported),
        ("silent", Kind::Timeout),
    ] {
        let mut config = world.config(mode);
        if mode == "silent" {
            config.start_limit = Duration::from_millis(200);
        }
        let error = ClaudeCode::new(config).models().await.unwrap_err();
        assert_eq!(error.failure.kind, kind, "{mode}: {error}");
    }
    world.all_ended().await;
}

#[tokio::test]
async fn one_process_more_than_there_may_be_is_waited_for_and_then_refused() {
    let world = World::new([ScriptTurn::text("A long answer.").stall_after(2)]).await;
    let mut config = world.config("");
    config.max_processes = 1;
    config.process_wait = Duration::ZERO;
    let model = ClaudeCode::new(config);
    let talk = Talk::new("Hello!");
    let working = talk.ask(&model);
    let refused = async {
        world.server.server().request(0).await;
        let failure = Talk::new("And me?").ask(&model).await.end.unwrap_err();
        let message = "1 processes of Claude Code work already, and none has ended within 0 s: try again later, or \
                       raise `max_processes` of its provider";
        let expected = ModelFailure::new(Kind::Overloaded, Phase::BeforeSend, message);
        assert_eq!(failure, expected);
    };
    tokio::select! {
        asked = working => panic!("{asked:?}"),
        () = refused => {}
    }
    world.all_ended().await;
}

#[tokio::test]
async fn a_program_that_is_missing_says_how_to_get_it() {
    let world = World::new([]).await;
    let mut config = world.config("");
    config.command = "claude-that-is-nowhere".to_owned();
    let failure = ask(&world, config).await;
    let message = "Claude Code cannot be started: there is no program `claude-that-is-nowhere` in PATH; install it \
                   with `npm install -g @anthropic-ai/claude-code`, or set `command` of its provider (now \
                   `claude-that-is-nowhere`) to its path";
    let mut expected = ModelFailure::new(Kind::Transport, Phase::BeforeSend, message);
    expected.advice = RetryAdvice::Never;
    assert_eq!(failure, expected);
}

#[tokio::test]
async fn failures_of_its_api_keep_their_kind() {
    for (status, kind, expected) in [
        (400, "invalid_request_error", Kind::InvalidRequest),
        (401, "authentication_error", Kind::Unauthenticated),
        (404, "not_found_error", Kind::ModelNotFound),
        (429, "rate_limit_error", Kind::RateLimited),
        (500, "api_error", Kind::ServerError),
        (529, "overloaded_error", Kind::Overloaded),
    ] {
        let error = json!({ "type": kind, "message": "it did not work" });
        let body = json!({ "type": "error", "error": error });
        let world = World::new([ScriptTurn::status(status, &body)]).await;
        let failure = ask(&world, world.config("")).await;
        assert_eq!(failure.kind, expected, "{status}");
        assert_eq!(failure.phase, Phase::BeforeFirstDelta, "{status}");
        assert!(failure.message.contains("it did not work"), "{failure:?}");
        // The loop decides about retries.
        assert_eq!(world.server.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_context_that_is_full_is_told_as_that() {
    let error = json!({
        "type": "invalid_request_error",
        "message": "prompt is too long: 250000 tokens > 200000 maximum",
    });
    let body = json!({ "type": "error", "error": error });
    let world = World::new([ScriptTurn::status(400, &body)]).await;
    let failure = ask(&world, world.config("")).await;
    let kind = Kind::ContextTooLong {
        limit: Some(200_000),
        requested: Some(250_000),
    };
    assert_eq!(failure.kind, kind);
}

#[tokio::test]
async fn a_question_that_we_do_not_know_is_refused_and_the_turn_goes_on() {
    let world = World::new([ScriptTurn::text("Hello.")]).await;
    let model = ClaudeCode::new(world.config("odd-question"));
    Talk::new("Hello!").ask(&model).await.end.unwrap();
}

#[tokio::test]
async fn a_turn_with_too_many_rounds_of_its_own_ends() {
    let call = || ScriptTurn::call("Read", &json!({}));
    let world = World::new([call(), call(), call()]).await;
    let mut config = world.config("");
    config.max_turns = Some(1);
    let model = ClaudeCode::new(config);
    let asked = Talk::new("Hello!").ask(&model).await;
    let _unused = world.server.violations();
    let failure = asked.end.unwrap_err();
    let message = "Claude Code made as many rounds as `limits.rounds`, or `max_turns` of its provider, allows, without an answer";
    let mut expected = ModelFailure::new(Kind::UnusableReply, Phase::MidReply, message);
    expected.advice = RetryAdvice::Never;
    assert_eq!(failure, expected);
    // What it used and cost counts all the same.
    let requests = u64::try_from(world.server.requests().len()).unwrap();
    let used = Usage {
        billed: Money::parse("0.001").ok(),
        input: 100 * requests,
        output: 20 * requests,
        ..Usage::default()
    };
    assert_eq!(asked.counted, Some(used));
}

async fn ask(
    world: &World,
    config: jackfield_provider_claude_code::ClaudeCodeConfig,
) -> ModelFailure {
    let model = ClaudeCode::new(config);
    let asked = Talk::new("Hello!").ask(&model).await;
    let failure = asked.end.unwrap_err();
    // Some of the scripts are not used up, and some requests are refused on purpose.
    let _looked_at = world.server.violations();
    failure
}
