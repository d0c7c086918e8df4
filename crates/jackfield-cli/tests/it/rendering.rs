//! What is printed for which news.

use anstream::adapter::strip_str;
use jackfield_cli::exit::Exit;
use jackfield_cli::fault::CommandError;
use jackfield_cli::render::human::{HumanOptions, HumanRenderer};
use jackfield_cli::render::json::Json;
use jackfield_cli::render::screen::Screen;
use jackfield_cli::render::{PromptPlace, RenderEvent, TurnRenderer as _, called, write_fault};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{CallEnd, ToolUse, TurnEnd};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::limits::LimitKind;
use jackfield_domain::note::{Note, NoteEffect, NoteKind};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::wait::Wait;
use jackfield_engine::{AnswerFit, ToolboxProblem};
use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::scene::{Scene, report};

/// One terminal for both streams.
#[derive(Clone, Default)]
pub(crate) struct Tty(Arc<Mutex<Vec<u8>>>);

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Tty {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

pub(crate) const ON_TERMINAL: HumanOptions = HumanOptions {
    markdown: Some(true),
    spins: false,
    terminal: true,
    together: true,
    verbose: false,
};

/// What a person sees on a terminal, without the colours.
fn seen(scene: &Scene, look: HumanOptions, end: TurnEnd) -> String {
    strip_str(&written(scene, look, end)).to_string()
}

/// What is written to a terminal.
fn written(scene: &Scene, look: HumanOptions, end: TurnEnd) -> String {
    let tty = Tty::default();
    let screen = Screen::new(tty.clone(), tty.clone(), look.together);
    let mut human = HumanRenderer::new(screen, look);
    for event in &scene.news {
        human.show(event).unwrap();
    }
    human.finish(&report(end), &AnswerFit::Free).unwrap();
    tty.text()
}

fn answered() -> TurnEnd {
    TurnEnd::Answered(FinishReason::Stop)
}

/// Words, two calls in one reply, an answer.
fn two_calls() -> Scene {
    let (first, second) = (
        r#"{"expression": "15% of 2500"}"#,
        r#"{"zone": "Asia/Tokyo"}"#,
    );
    Scene::new()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["\n\nLet me ", "look."])
        .calls("c1", "calculator", first)
        .calls("c2", "clock", second)
        .replied(&[("c1", "calculator", first), ("c2", "clock", second)])
        .started("c1")
        .started("c2")
        .wait(1_200)
        .closed("c2", CallEnd::Ran, ToolResult::error("no such\nzone"))
        .closed("c1", CallEnd::Ran, ToolResult::text("375"))
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["It is ", "375.\n"])
        .replied(&[])
}

#[test]
fn calls_stand_in_their_place_between_the_words() {
    insta::assert_snapshot!(
        "calls_on_a_terminal",
        seen(&two_calls(), ON_TERMINAL, answered())
    );
}

#[test]
fn the_verbose_view_has_notes_and_whole_outcomes() {
    let look = HumanOptions {
        verbose: true,
        ..ON_TERMINAL
    };
    insta::assert_snapshot!("calls_verbosely", seen(&two_calls(), look, answered()));
}

#[test]
fn a_loss_of_meaning_is_shown_in_any_case_and_every_other_note_where_more_is_shown() {
    use NoteEffect::{Cosmetic, Cost, Meaning, Quality};
    use NoteKind::{Approximated, Carried, Dropped, Refused};
    let notes = || {
        vec![
            Note::new(
                Approximated,
                Meaning,
                "media_as_text",
                "messages[0].blocks[1]",
            ),
            Note::new(Approximated, Quality, "effort_raised", "settings.effort"),
            Note::new(Carried, Meaning, "system_message_moved", "messages[2]"),
            Note::new(
                Dropped,
                Cost,
                "too_many_cache_points",
                "tools[0].\u{1b}[31m\n.cache",
            ),
            Note::new(Dropped, Cosmetic, "blank_text", "messages[4].blocks[0]"),
            Note::new(
                Refused,
                Meaning,
                "provider_would_act",
                "settings.extensions[0]",
            ),
        ]
    };
    let scene = Scene::new()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["Let me see."])
        .replied_with(&[], notes())
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["Yes."])
        .replied_with(&[], notes());
    let verbose = HumanOptions {
        verbose: true,
        ..ON_TERMINAL
    };
    let both = [ON_TERMINAL, verbose].map(|look| seen(&scene, look, answered()));
    insta::assert_snapshot!("notes", both.join("\n---- verbosely:\n"));
}

#[test]
fn a_toolbox_that_cannot_be_had_is_said_before_the_answer() {
    let mut scene = Scene::new()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["Yes."]);
    let problem = ToolboxProblem {
        message: "it does not start\u{1b}[2J:\nno such file".to_owned(),
        toolbox: ToolboxId::parse("files").unwrap(),
    };
    scene.news.insert(0, RenderEvent::Unavailable { problem });
    let shown = seen(&scene, ON_TERMINAL, answered());
    let line = "! files: it does not start<U+001B escape>[2J: no such file\n";
    assert!(shown.starts_with(line), "{shown}");
    let mut json = Json::new(Vec::new());
    json.show(&scene.news[0]).unwrap();
    let line = String::from_utf8(json.into_inner()).unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["event"], "remark");
    assert_eq!(
        event["text"],
        "files: it does not start<U+001B escape>[2J: no such file"
    );
}

#[test]
fn reasoning_is_for_the_verbose_view_and_apart_from_the_words() {
    let scene = Scene::new()
        .round(ToolUse::Allowed)
        .says(
            BlockStart::Thinking { redacted: false },
            &["Hm, ", "let me see."],
        )
        .says(BlockStart::Text, &["Yes."])
        .replied(&[]);
    let look = HumanOptions {
        verbose: true,
        ..ON_TERMINAL
    };
    let seen_verbosely = seen(&scene, look, answered());
    assert!(
        seen_verbosely.starts_with("Hm, let me see.\n\nYes.\n\n"),
        "{seen_verbosely}"
    );
    assert!(seen(&scene, ON_TERMINAL, answered()).starts_with("Yes.\n\n"));
}

#[test]
fn a_later_block_waits_until_the_earlier_one_has_ended() {
    let start = |index| Delta::BlockStarted {
        index,
        start: BlockStart::Text,
    };
    let text = |index, text: &str| Delta::TextAppended {
        index,
        text: text.into(),
    };
    let mut scene = Scene::new().round(ToolUse::Allowed);
    for delta in [
        start(0),
        start(7),
        text(7, "second"),
        Delta::BlockEnded { index: 7 },
        text(0, "\n first"),
        Delta::BlockEnded { index: 0 },
    ] {
        scene = scene.delta(None, delta);
    }
    let seen = seen(&scene, ON_TERMINAL, answered());
    assert!(seen.starts_with("first\n\nsecond\n"), "{seen:?}");
}

#[test]
fn with_two_streams_the_answer_is_whole_on_its_own() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let look = HumanOptions {
        markdown: None,
        spins: false,
        terminal: false,
        together: false,
        verbose: false,
    };
    let mut human = HumanRenderer::new(
        Screen::new(&mut out, anstream::StripStream::new(&mut err), false),
        look,
    );
    for event in &two_calls().news {
        human.show(event).unwrap();
    }
    human.finish(&report(answered()), &AnswerFit::Free).unwrap();
    drop(human);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "Let me look.\n\nIt is 375.\n"
    );
    assert!(err.starts_with("⚙ calculator(".as_bytes()));
}

#[test]
fn every_status_has_its_words() {
    let mut scene = Scene::new().round(ToolUse::Allowed);
    let ends = [
        ("a", CallEnd::Cancelled),
        ("b", CallEnd::Denied),
        ("c", CallEnd::NotRun),
        ("d", CallEnd::Reported),
        ("e", CallEnd::ByClient),
        ("f", CallEnd::ClientExpired),
    ];
    for (id, end) in ends {
        scene = scene.calls(id, "tool", "{not json").closed(
            id,
            end,
            ToolResult::text(format!("{end:?}")),
        );
    }
    insta::assert_snapshot!("statuses", seen(&scene, ON_TERMINAL, answered()));
}

#[test]
fn the_ends_of_turns_have_their_words() {
    let scene = Scene::new()
        .round(ToolUse::LastRound(LimitKind::Rounds))
        .says(BlockStart::Text, &["As far as I know."]);
    let ends = [
        TurnEnd::Limited {
            is_error: false,
            limit: LimitKind::Rounds,
        },
        TurnEnd::Answered(FinishReason::Length),
        TurnEnd::Answered(FinishReason::Refused),
        TurnEnd::Cancelled(jackfield_domain::wait::CancelCause::Asked),
    ];
    let seen = ends.map(|end| seen(&scene, ON_TERMINAL, end));
    insta::assert_snapshot!("ends", seen.join("--------\n"));
}

#[test]
fn a_reply_that_is_tried_again_says_what_becomes_of_what_was_said() {
    let scene = Scene::new()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["It is 3"])
        .overloaded()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &["It is 375."]);
    let seen = seen(&scene, ON_TERMINAL, answered());
    let expected = "It is 3\n\n! the provider is overloaded; retrying in 2.0 s \
                    (the text above will be repeated)\n\nIt is 375.\n\n";
    assert!(seen.starts_with(expected), "{seen}");
}

#[test]
fn a_question_names_the_call() {
    let (scene, wait) = Scene::new()
        .round(ToolUse::Allowed)
        .calls("c1", "remove", r#"{"path": "a.txt"}"#)
        .asked("c1");
    let tty = Tty::default();
    let screen = Screen::new(tty.clone(), tty.clone(), true);
    let mut human = HumanRenderer::new(screen, ON_TERMINAL);
    for event in &scene.news {
        human.show(event).unwrap();
    }
    human
        .show_question(&wait, &PromptPlace::Inline.into())
        .unwrap();
    assert!(strip_str(&tty.text()).to_string().ends_with(
        "? Run ⚙ remove(path: \"a.txt\")? [y]es  [a]lways this session  [e]dit  [n]o, because … "
    ));
}

#[test]
fn a_call_that_was_edited_is_asked_about_as_it_runs() {
    let (scene, wait) = Scene::new()
        .round(ToolUse::Allowed)
        .calls("c1", "remove", r#"{"path": "a.txt"}"#)
        .started_with("c1", Some(r#"{"path": "b.txt"}"#))
        .asked("c1");
    let shown = question_shown(&scene, &wait);
    assert!(
        shown.contains("? Run ⚙ remove(path: \"b.txt\")?"),
        "{shown}"
    );
}

#[test]
fn a_terminal_is_never_told_what_to_do() {
    let bad = "\u{1b}]0;owned\u{7}\u{202e}x";
    let arguments = serde_json::json!({ "a": bad }).to_string();
    let scene = Scene::new()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &[bad])
        .calls("c1", bad, &arguments)
        .closed("c1", CallEnd::Ran, ToolResult::text(bad));
    for verbose in [false, true] {
        let seen = written(
            &scene,
            HumanOptions {
                verbose,
                ..ON_TERMINAL
            },
            answered(),
        );
        assert!(
            !seen.contains("\u{1b}]") && !seen.contains(['\u{7}', '\u{202e}']),
            "{seen:?}"
        );
    }
}

#[test]
fn json_says_what_a_terminal_would_obey_in_escapes_of_its_own() {
    let bad = "\u{1b}[2J\u{9b}31m\u{202e}\u{7f}";
    let scene = Scene::new()
        .round(ToolUse::Allowed)
        .says(BlockStart::Text, &[bad]);
    let mut json = Json::new(Vec::new());
    for event in &scene.news {
        json.show(event).unwrap();
    }
    let lines = String::from_utf8(json.into_inner()).unwrap();
    assert!(
        lines.contains(r"\u001b[2J\u009b31m\u202e\u007f"),
        "{lines:?}"
    );
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["text"], bad);
}

#[test]
fn what_a_tool_says_is_kept_for_a_file_and_obeyed_by_no_terminal() {
    let result = ToolResult::text("\u{1b}[31mred\u{1b}[0m");
    for (terminal, expected) in [
        (false, "\u{1b}[31mred\u{1b}[0m\n"),
        (true, "<U+001B escape>[31mred<U+001B escape>[0m\n"),
    ] {
        let mut out = Vec::new();
        called(&mut out, &result, terminal).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

/// A stream whose reader is gone.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _bytes: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn the_answer_is_whole_where_nobody_reads_the_rest() {
    let look = HumanOptions {
        markdown: None,
        spins: false,
        terminal: false,
        together: false,
        verbose: true,
    };
    let mut out = Vec::new();
    let mut human = HumanRenderer::new(Screen::new(&mut out, Gone, false), look);
    for event in &two_calls().news {
        human.show(event).unwrap();
    }
    human.finish(&report(answered()), &AnswerFit::Free).unwrap();
    drop(human);
    assert_eq!(out, b"Let me look.\n\nIt is 375.\n");
    let mut human = HumanRenderer::new(Screen::new(Gone, Vec::new(), false), look);
    let shown = two_calls()
        .news
        .iter()
        .try_for_each(|event| human.show(event));
    assert!(shown.is_err());
}

#[test]
fn the_events_are_the_documented_ones() {
    let (scene, _) = two_calls().overloaded().asked("c1");
    let mut json = Json::new(Vec::new());
    for event in &scene.news {
        json.show(event).unwrap();
    }
    json.finish(&report(answered()), &AnswerFit::Free).unwrap();
    insta::assert_snapshot!("events", String::from_utf8(json.into_inner()).unwrap());
}

#[test]
fn a_fault_is_its_messages_its_causes_and_what_to_do() {
    let cause = std::io::Error::other("the disk is full");
    let fault = CommandError::new(Exit::Internal, "it cannot be written")
        .with_cause(&cause)
        .with_help("make room");
    let mut plain = anstream::StripStream::new(Vec::new());
    write_fault(&mut plain, &fault).unwrap();
    let expected = "error: it cannot be written\n  caused by: the disk is full\nhelp: make room\n";
    assert_eq!(String::from_utf8(plain.into_inner()).unwrap(), expected);
    let mut coloured = Vec::new();
    write_fault(&mut coloured, &fault).unwrap();
    assert!(
        String::from_utf8(coloured)
            .unwrap()
            .starts_with("\u{1b}[1m\u{1b}[31merror\u{1b}[0m: ")
    );
}

/// What a terminal shows of a scene and the question after it, without colours.
pub(crate) fn question_shown(scene: &Scene, wait: &Wait) -> String {
    let tty = Tty::default();
    let screen = Screen::new(tty.clone(), tty.clone(), true);
    let mut human = HumanRenderer::new(screen, ON_TERMINAL);
    for event in &scene.news {
        human.show(event).unwrap();
    }
    human
        .show_question(wait, &PromptPlace::Inline.into())
        .unwrap();
    strip_str(&tty.text()).to_string()
}
