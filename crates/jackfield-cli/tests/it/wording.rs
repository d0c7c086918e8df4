//! Texts, arguments and times as they are shown.

use std::time::Duration;

use jackfield_cli::render::words::{
    arguments, help, printable, progress, shortened, time, typed, whole_arguments,
};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::request::ModelRef;
use jackfield_domain::tool_input::{JsonInput, ToolInput};

#[test]
fn texts_are_shortened_between_characters_and_made_one_line() {
    assert_eq!(shortened("a\n b\t\tc", 10), "a b c");
    assert_eq!(shortened("机器学习 и ещё", 4), "机器学习…");
    assert_eq!(shortened(&"x".repeat(1_000_000), 3), "xxx…");
    assert_eq!(
        printable("a\u{1b}[31mb\n\tc\u{9b}"),
        "a\u{fffd}[31mb\n\tc\u{fffd}"
    );
    assert_eq!(printable("one\r\ntwo\r"), "one\ntwo");
    let long = ToolInput::Text("y".repeat(500).into());
    assert_eq!(arguments(&long).chars().count(), 161);
    assert_eq!(arguments(&ToolInput::Json(JsonInput::parse(""))), "");
}

/// Whoever says yes has to have seen what runs, whatever names and values a model chooses.
#[test]
fn arguments_are_shown_as_what_they_are() {
    let json = |raw: &str| ToolInput::Json(JsonInput::parse(raw));
    for (raw, shown) in [
        (r#"{"path": "a", "n-1.x": 2}"#, "path: \"a\"\nn-1.x: 2"),
        // A name that looks like other arguments.
        (
            r#"{"path: \"safe.txt\"\nx": 1}"#,
            r#""path: \"safe.txt\"\nx": 1"#,
        ),
        (r#"{"": 1, "a b": 2}"#, "\"\": 1\n\"a b\": 2"),
        // What is not seen, turns text around, or is a space that is none.
        (
            "{\"p\u{200b}\": \"a\u{a0}b\u{202e}c\u{9b}\u{e0041}\"}",
            "\"p<U+200B zero-width space>\": \"a<U+00A0 no-break space>b<U+202E right-to-left override>\
             c<U+009B control character><U+E0041 tag letter>\"",
        ),
        // What is sent, where more was written.
        (r#"{"path": "safe", "path": "rm"}"#, "path: \"rm\""),
        ("{\"n\": 9007199254740993}", "n: 9007199254740993"),
        ("{\"n\": 1e2}", "n: 100.0"),
    ] {
        assert_eq!(whole_arguments(&json(raw), "\n"), shown, "{raw}");
    }
    let text = ToolInput::Text("\tone\r\n\u{2066}two".into());
    let shown = "\tone<U+000D carriage return>\n<U+2066 left-to-right isolate>two";
    assert_eq!(whole_arguments(&text, "\n"), shown);
    // In one line, too.
    let spaces = json("{\"a\": \"b\u{2003}c\"}");
    assert_eq!(arguments(&spaces), "a: \"b<U+2003 unusual space>c\"");
}

#[test]
fn arguments_are_edited_as_what_is_sent_with_nothing_hidden() {
    let raw = "{\"a\": 1, \"a\": \"x\u{200b}\u{e0041}\u{202e}\", \"b\": 1.0}";
    let input = JsonInput::parse(raw);
    let fields = input.object().unwrap();
    let shown = typed(fields);
    assert_eq!(shown, r#"{"a":"x\u200b\udb40\udc41\u202e","b":1.0}"#);
    assert_eq!(JsonInput::parse(&shown).object().unwrap(), fields);
}

#[test]
fn a_model_server_of_this_machine_that_does_not_run_is_started() {
    let unreachable = ModelFailure::new(ModelFailureKind::Transport, Phase::BeforeSend, "refused");
    for (provider, start) in [
        ("ollama", "start it with `ollama serve`"),
        ("vllm", "start it with `vllm serve MODEL`"),
        ("claude", "check the network"),
    ] {
        let model = ModelRef {
            model: "any".into(),
            provider: provider.into(),
        };
        let help = help(&unreachable, &model);
        assert!(help.starts_with(start), "{help}");
    }
}

#[test]
fn the_help_for_claude_code_is_about_a_program() {
    let failure = |kind| {
        let mut failure = ModelFailure::new(kind, Phase::BeforeSend, "no");
        failure.advice = RetryAdvice::Never;
        failure
    };
    let model = ModelRef {
        model: "sonnet".into(),
        provider: "claude-code".into(),
    };
    for (kind, start) in [
        (
            ModelFailureKind::Transport,
            "install the program, or set `command`",
        ),
        (
            ModelFailureKind::Unauthenticated,
            "run `claude` and type `/login`",
        ),
        (ModelFailureKind::ProtocolViolation, "look at `command`"),
    ] {
        let help = help(&failure(kind), &model);
        assert!(help.starts_with(start), "{help}");
    }
    // Its own server may be out of reach.
    let unreachable = ModelFailure::new(ModelFailureKind::Transport, Phase::MidReply, "refused");
    assert!(help(&unreachable, &model).starts_with("check the network"));
}

#[test]
fn progress_is_as_exact_as_the_tool_says() {
    for (done, total, message, words) in [
        (
            3.0,
            Some(10.0),
            Some("reading\nfiles"),
            "3 of 10 (30%) · reading files",
        ),
        (3.5, None, None, "3.5"),
        (1.0, Some(0.0), Some(""), "1"),
        (20.0, Some(10.0), None, "20 of 10 (100%)"),
    ] {
        assert_eq!(progress(done, total, message), words);
    }
}

#[test]
fn times_are_as_exact_as_people_want_them() {
    for (millis, words) in [
        (0, "<1 ms"),
        (17, "17 ms"),
        (1_249, "1.2 s"),
        (61_000, "1 min 1 s"),
    ] {
        assert_eq!(time(Duration::from_millis(millis)), words);
    }
}
