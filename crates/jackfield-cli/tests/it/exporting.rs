//! A session as a document: whole, readable, and without what is private where that is wanted.

use std::sync::Arc;
use std::time::Duration;

use jackfield_cli::render::RenderEvent;
use jackfield_domain::block::{Block, CalledName, Content, RanBy, Thinking, ToolCall};
use jackfield_domain::fact::{
    AfterLoss, CallEnd, Envelope, Fact, InputKind, ModelCallEnd, ToolUse, TurnEnd,
};
use jackfield_domain::failure::{
    Disposition, ModelFailure, ModelFailureKind, Phase, ToolFailureKind,
};
use jackfield_domain::ids::{DeliveryId, ModelAttempt, SessionId, ToolAttempt, ToolCallId, WaitId};
use jackfield_domain::media::{Image, MediaSource};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::setup::Opening;
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::usage::Usage;
use jackfield_domain::wait::{Answer, Approval, Wait, WaitEnd, WaitKind};
use jackfield_export::{Format, document, without_secrets};
use jackfield_testkit::arb;
use proptest::prelude::*;
use pulldown_cmark::{Event as Mark, HeadingLevel, Parser, Tag, TagEnd};
use serde_json::Value;

use crate::scene::Scene;

/// What tools are given and give back, and nobody else is to read.
const PRIVATE: &str = "the diary of 王小明";
/// A key that somebody put into a message; of no account anywhere.
const KEY: &str = "sk-ant-api03-not0a1real2key3AAAA";

pub(crate) fn session() -> SessionId {
    SessionId::parse("s_1").unwrap()
}

const fn attempt(round: u32, attempt: u32) -> ModelAttempt {
    ModelAttempt { round, attempt }
}

fn id(id: &str) -> ToolCallId {
    ToolCallId::parse(id).unwrap()
}

fn image() -> Image {
    Image {
        detail: None,
        source: MediaSource::Base64 {
            data: "cHJpdmF0ZSBwaWN0dXJl".into(),
            media_type: "image/png".into(),
        },
    }
}

fn call(name: &str, arguments: &str) -> Block {
    Content::ToolCall(Arc::new(ToolCall {
        id: id(name),
        input: ToolInput::Json(JsonInput::parse(arguments)),
        name: CalledName::new(&format!("notes__{name}")),
        ran_by: RanBy::Engine,
        upstream: None,
    }))
    .into()
}

fn reply(round: u32, blocks: Vec<Block>, finish: FinishReason) -> Fact {
    let end = ReplyEnd {
        usage: Some(Usage {
            input: 10,
            output: 5,
            ..Usage::default()
        }),
        ..ReplyEnd::new(finish)
    };
    let message = Arc::new(Message::new(Role::Assistant, blocks));
    Fact::ReplyReceived {
        attempt: attempt(round, 1),
        reply: Arc::new(Reply { end, message }),
        first_token: None,
        settled: Vec::new(),
    }
}

fn calling(attempt: ModelAttempt) -> Fact {
    Fact::ModelCallStarted {
        active: Duration::ZERO,
        attempt,
        tools: ToolUse::Allowed,
        choice: None,
        reserved: Vec::new(),
        target: 0,
    }
}

fn started(call: &str) -> Fact {
    Fact::CallStarted {
        approval: None,
        attempt: ToolAttempt {
            call: id(call),
            attempt: 1,
        },
        edited: None,
        may_repeat: false,
        repeat_until: None,
        time_limit: Duration::from_secs(1),
    }
}

fn closed(call: &str, end: CallEnd, result: ToolResult) -> Fact {
    Fact::CallClosed {
        call: id(call),
        end,
        result: Arc::new(result),
        shown: None,
        cached: None,
        revealed: None,
    }
}

fn asked(call: &str) -> Fact {
    Fact::WaitOpened {
        wait: Wait {
            call: id(call),
            deadline: WallTime::from_millis(1_767_312_000_000),
            id: WaitId::derive(&id(call), 1),
            kind: WaitKind::Approval { subject: None },
        },
    }
}

fn answered(call: &str, answer: Approval, by: &str) -> Fact {
    Fact::WaitClosed {
        end: WaitEnd::Answered {
            answer: Answer::Approval(answer),
            by: by.into(),
            delivery: DeliveryId::parse("d").unwrap(),
        },
        subject: None,
        wait: WaitId::derive(&id(call), 1),
    }
}

/// A turn with everything: a picture, thoughts, a call that was allowed, one that was denied, one of which
/// nobody knows, a failure, and an answer full of backticks.
pub(crate) fn steps() -> Vec<Envelope> {
    let scene = Scene::new();
    let Some(RenderEvent::Fact { fact, .. }) = scene.news.first() else {
        panic!("a turn begins with a fact");
    };
    let Fact::TurnOpened {
        ordinal,
        setup,
        turn,
        ..
    } = &**fact
    else {
        panic!("a turn begins with its opening");
    };
    let mut question = Message::user(format!(
        "我的笔记里有什么? My key is {KEY}.\n```\n# not closed"
    ));
    question.blocks.push(Content::Image(image()).into());
    let thoughts = Content::Thinking(Thinking {
        redacted: false,
        text: PRIVATE.into(),
    });
    let picture = ToolResult {
        content: vec![
            OutcomePart::Text(format!("{PRIVATE}\n````\n## no heading").into()),
            OutcomePart::Image(image()),
        ],
        is_error: false,
        structured: None,
    };
    let failed = ModelFailure::new(
        ModelFailureKind::Overloaded,
        Phase::MidReply,
        "too much to do",
    );
    let facts = vec![
        Fact::TurnOpened {
            opening: Opening::UserMessage(question.into()),
            ordinal: *ordinal,
            setup: Arc::clone(setup),
            turn: turn.clone(),
        },
        calling(attempt(1, 1)),
        reply(
            1,
            vec![
                thoughts.into(),
                Block::text("让我看看"),
                call("read", &format!("{{\"what\":\"{PRIVATE}\"}}")),
                call("delete", "{\"n\":1}"),
                call("write", "not JSON ``` at all"),
            ],
            FinishReason::ToolCalls,
        ),
        asked("read"),
        asked("delete"),
        answered(
            "read",
            Approval::Granted {
                edited: None,
                for_session: false,
            },
            "anna",
        ),
        started("read"),
        closed("read", CallEnd::Ran, picture),
        answered(
            "delete",
            Approval::Denied {
                reason: "never that".into(),
            },
            "boris",
        ),
        closed(
            "delete",
            CallEnd::Denied,
            ToolResult::error("denied: never that"),
        ),
        started("write"),
        Fact::CallLost {
            attempt: ToolAttempt {
                call: id("write"),
                attempt: 1,
            },
            disposition: Disposition::Unknown,
            kind: ToolFailureKind::Crashed,
            message: "the process that ran it ended".into(),
            then: AfterLoss::Report,
        },
        closed(
            "write",
            CallEnd::Reported,
            ToolResult::error("nobody knows"),
        ),
        calling(attempt(2, 1)),
        Fact::ModelCallEnded {
            attempt: attempt(2, 1),
            partial: Some(Arc::new(Message::new(
                Role::Assistant,
                vec![Block::text("In your no")],
            ))),
            retry_at: Some(WallTime::from_millis(1_767_225_601_000)),
            usage: None,
            why: ModelCallEnd::Failed(failed),
            at_once: false,
            first_token: None,
            settled: Vec::new(),
            withdrawn: false,
        },
        calling(attempt(2, 2)),
        reply(
            2,
            vec![Block::text("# It says `````so`````\n<!-- and no end")],
            FinishReason::Stop,
        ),
        Fact::TurnEnded {
            end: TurnEnd::Answered(FinishReason::Stop),
            view: None,
        },
    ];
    let steps = (0_u64..).zip(facts).map(|(step, fact)| Envelope {
        facts: vec![fact],
        input: InputKind::Woke,
        now: Now {
            mono: MonoTime::from_start(Duration::from_secs(step)),
            // The first second of 2026.
            wall: WallTime::from_millis(1_767_225_600_000 + i64::try_from(step).unwrap()),
        },
        step,
        version: 1,
    });
    steps.collect()
}

#[test]
fn everything_is_in_the_json() {
    insta::assert_snapshot!(document(&session(), &steps(), &[], Format::Json, false));
}

#[test]
fn the_markdown_can_be_read() {
    insta::assert_snapshot!(document(&session(), &steps(), &[], Format::Markdown, false));
}

#[test]
fn what_is_private_is_in_neither_once_it_is_redacted() {
    let json = document(&session(), &steps(), &[], Format::Json, true);
    let markdown = document(&session(), &steps(), &[], Format::Markdown, true);
    for text in [&json, &markdown] {
        for private in [
            PRIVATE,
            "王小明",
            KEY,
            "not0a1real",
            "cHJpdmF0ZSBwaWN0dXJl",
            "not JSON",
        ] {
            assert!(!text.contains(private), "{private} in:\n{text}");
        }
        // What was said and done can still be followed.
        for kept in ["我的笔记里有什么", "notes__delete", "boris", "never that"] {
            assert!(text.contains(kept), "no {kept} in:\n{text}");
        }
    }
    insta::assert_snapshot!(markdown);
}

/// The headings outside quotes: ours.
fn headings(markdown: &str) -> Vec<HeadingLevel> {
    let (mut quotes, mut headings) = (0, Vec::new());
    for mark in Parser::new(markdown) {
        if let Mark::Start(Tag::BlockQuote(_)) = mark {
            quotes += 1;
        } else if let Mark::End(TagEnd::BlockQuote(_)) = mark {
            quotes -= 1;
        } else if let Mark::Start(Tag::Heading { level, .. }) = mark
            && quotes == 0
        {
            headings.push(level);
        }
    }
    headings
}

/// Text that would like to be more than it is.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        arb::text().prop_map(|text| text.to_string()),
        proptest::sample::select(vec![
            "```",
            "````",
            "~~~",
            "\n",
            "\r",
            "\r\n",
            "# no",
            "## Turn 9",
            "<!--",
            "<pre>",
            "> ",
            "- ",
            "`",
            "\n===\n",
            "\n---\n",
            "    ",
            "\t",
            "[a]: b",
            "<script>",
            "\\",
            "![a](https://x.example/p)",
            "![",
            "](",
            ")",
            "[a](javascript:b)",
            "<javascript:a>",
            "[c]: data:x",
            "[c]",
            "<img src=x>",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn nothing_that_was_said_passes_for_ours(said in hostile(), given in hostile(), gave in hostile(), named in hostile()) {
        let mut steps = steps();
        let blocks = vec![Block::text(said.as_str()), {
            let mut block = call("read", &given);
            if let Content::ToolCall(call) = &mut block.content {
                Arc::make_mut(call).name = CalledName::new(&named);
            }
            block
        }];
        steps[2].facts = vec![reply(1, blocks, FinishReason::ToolCalls)];
        steps[7].facts = vec![closed("read", CallEnd::Ran, ToolResult::text(gave.as_str()))];
        let markdown = document(&session(), &steps, &[], Format::Markdown, false);
        let found = headings(&markdown);
        use HeadingLevel::{H1, H2, H3, H4};
        prop_assert_eq!(found, [H1, H2, H3, H3, H4, H3], "{}", markdown);
    }

    #[test]
    fn nothing_is_fetched_or_run_by_reading(said in hostile(), given in hostile(), gave in hostile()) {
        let mut steps = steps();
        steps[2].facts = vec![reply(1, vec![Block::text(said.as_str()), call("read", &given)], FinishReason::ToolCalls)];
        steps[7].facts = vec![closed("read", CallEnd::Ran, ToolResult::text(gave.as_str()))];
        let markdown = document(&session(), &steps, &[], Format::Markdown, false);
        for mark in Parser::new(&markdown) {
            let does = if let Mark::Start(Tag::Link { dest_url, .. }) = &mark {
                dest_url.starts_with("javascript:") || dest_url.starts_with("data:")
            } else {
                matches!(&mark, Mark::Html(_) | Mark::InlineHtml(_) | Mark::Start(Tag::Image { .. }))
            };
            prop_assert!(!does, "{mark:?} in\n{markdown}");
        }
    }

    #[test]
    fn any_session_is_a_document(steps in arb::envelopes(0, 6), redacted in any::<bool>()) {
        let json = document(&session(), &steps, &[], Format::Json, redacted);
        let read: Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(&read["format"], "jackfield.session");
        prop_assert!(document(&session(), &steps, &[], Format::Markdown, redacted).starts_with("# Conversation"));
    }

    #[test]
    fn what_is_no_key_stays(words in "[a-z ,.!?。你好я]{0,60}") {
        prop_assert_eq!(without_secrets(&words), words);
    }
}

#[test]
fn what_looks_like_a_key_is_taken_out() {
    for (text, safe) in [
        (format!("use {KEY}, please"), "use [redacted: key], please"),
        ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[redacted: key]"),
        ("ghp_0123456789abcdefghij.".to_owned(), "[redacted: key]"),
        ("password=hunter2!".to_owned(), "password=[redacted: key]"),
        (
            "PASSWORD: p@ss#w0rd now".to_owned(),
            "PASSWORD: [redacted: key] now",
        ),
        ("password=!x".to_owned(), "password=[redacted: key]"),
        (
            r#"{"password": "correct \"horse\" battery", "n": 1}"#.to_owned(),
            r#"{"password": "[redacted: key]", "n": 1}"#,
        ),
        (
            "Authorization: Basic dXNlcjpwYXNz".to_owned(),
            "Authorization: Basic [redacted: key]",
        ),
        (
            "postgres://me:p!s@s:w$rd@host/db".to_owned(),
            "postgres://me:[redacted: key]@host/db",
        ),
        (
            "\"api_key\": \"x1\"".to_owned(),
            "\"api_key\": \"[redacted: key]\"",
        ),
        (
            "Authorization: Bearer abcdef0123".to_owned(),
            "Authorization: Bearer [redacted: key]",
        ),
        (
            "https://me:secret1@host/".to_owned(),
            "https://me:[redacted: key]@host/",
        ),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc".to_owned(),
            "[redacted: key]",
        ),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb".to_owned(),
            "a\n[redacted: key]\nb",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIE".to_owned(),
            "[redacted: key]",
        ),
        (
            "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MEFC".to_owned(),
            "[redacted: key]",
        ),
    ] {
        assert_eq!(without_secrets(&text), safe);
    }
    for text in [
        "sk-learn and sk-",
        "the token bucket: a basic understanding of bearer shares",
        "call_0123456789abcdef01234567",
        "2026-01-01T00:00:00.000Z",
        "https://host:8080/path?x=1",
        "https://host:8080/a@b",
        "password:",
        "-----BEGIN CERTIFICATE-----",
    ] {
        assert_eq!(without_secrets(text), text);
    }
}

#[test]
fn code_is_not_changed_to_be_safe_to_read() {
    let mut steps = steps();
    let code = "so: `vec![1]` and ![p](https://x.example/p) and [home](https://x.example)\n\n```rust\nlet a = vec![b(c)];\nprintln!(\"<b>\");\n```";
    steps[16].facts = vec![reply(2, vec![Block::text(code)], FinishReason::Stop)];
    let markdown = document(&session(), &steps, &[], Format::Markdown, false);
    for kept in [
        "> so: `vec![1]` and \\![p](https://x.example/p) and [home](https://x.example)\n",
        "> let a = vec![b(c)];\n",
        "> println!(\"<b>\");\n",
    ] {
        assert!(markdown.contains(kept), "no {kept} in:\n{markdown}");
    }
}
