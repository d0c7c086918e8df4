//! Calls that are read out of replies.

use std::sync::Arc;

use jackfield_dialect_kit::text_tools::reader::TextCallReader;
use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::ids::{ModelAttempt, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_input::ToolInput;
use jackfield_testkit::replies::accumulated;
use proptest::prelude::*;
use proptest::sample::select;

use super::{parsed, request, text};

/// A part of what was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Call(&'static str, serde_json::Value),
    Other,
    Text(String),
}

/// What a reply was read as.
#[derive(Debug, PartialEq)]
pub(super) struct Read {
    pub(super) finish: FinishReason,
    pub(super) notes: Vec<String>,
    pub(super) parts: Vec<Part>,
}

/// Reads a reply to a request.
fn read_of(request: &ModelRequest, deltas: Vec<Delta>, finish: FinishReason) -> Read {
    let mut reader = TextCallReader::new(request);
    let mut out: Vec<Delta> = deltas
        .into_iter()
        .flat_map(|delta| reader.push(delta))
        .collect();
    let mut end = ReplyEnd::new(finish);
    out.extend(reader.finish(&mut end));
    let message = message(&out);
    Read {
        finish: end.finish,
        notes: end
            .notes
            .iter()
            .map(|note| format!("{} {}", note.code, note.path))
            .collect(),
        parts: parts(&message),
    }
}

/// The message of these deltas.
fn message(deltas: &[Delta]) -> Arc<Message> {
    let turn = TurnId::parse("turn_1").expect("an id");
    let attempt = ModelAttempt {
        round: 1,
        attempt: 1,
    };
    accumulated((turn, attempt), deltas, ReplyEnd::new(FinishReason::Stop)).message
}

fn parts(message: &Message) -> Vec<Part> {
    let parts = message.blocks.iter().map(|block| {
        if let Content::Text(text) = &block.content {
            return Part::Text((*text.text).to_owned());
        }
        let Content::ToolCall(call) = &block.content else {
            return Part::Other;
        };
        let names = ["weather", "clock", "poem", "native"];
        let name = names.into_iter().find(|name| *name == call.name.as_str());
        let arguments = match &call.input {
            ToolInput::Json(input) => parsed(input.raw()),
            ToolInput::Text(text) => (**text).into(),
        };
        Part::Call(name.expect("a known name"), arguments)
    });
    parts.collect()
}

/// Reads a text, in one piece.
pub(super) fn read(reply: &str) -> Read {
    read_of(&request(Vec::new()), text(&[reply]), FinishReason::Stop)
}

/// The calls of a text, and the text around them.
pub(super) fn parts_of(reply: &str) -> Vec<Part> {
    read(reply).parts
}

pub(super) fn said(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(super) fn weather(arguments: serde_json::Value) -> Part {
    Part::Call("weather", arguments)
}

/// Calls `weather` for Rome.
const ROME: &str =
    "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>";

fn rome() -> Part {
    weather(serde_json::json!({ "city": "Rome" }))
}

#[test]
fn a_call_is_read_and_noted() {
    let expected = Read {
        finish: FinishReason::ToolCalls,
        notes: vec!["call_read_from_text messages[0].calls[0]".to_owned()],
        parts: vec![said("Let me look."), rome()],
    };
    assert_eq!(read(&format!("Let me look.\n\n{ROME}\n")), expected);
}

#[test]
fn several_calls_are_read_in_order_with_the_text_between_them() {
    let two = format!("{ROME}\n<tool_call>{{\"name\":\"clock\",\"arguments\":{{}}}}</tool_call>");
    let clock = Part::Call("clock", serde_json::json!({}));
    assert_eq!(parts_of(&two), [rome(), clock.clone()]);
    let apart = format!("One: {ROME} two: {ROME}\nDone.");
    let expected = [said("One:"), rome(), said("two:"), rome(), said("Done.")];
    assert_eq!(parts_of(&apart), expected);
}

#[test]
fn a_tool_that_takes_text_gets_its_text() {
    let call = r#"<tool_call>{"name": "poem", "arguments": {"input": "roses\nare"}}</tool_call>"#;
    assert_eq!(parts_of(call), [Part::Call("poem", "roses\nare".into())]);
}

#[test]
fn what_is_no_call_stays_the_text_that_it_is() {
    for reply in [
        "Hello.",
        " leading and trailing \n\n",
        "a < b, [x], <tool",
        // A tool that was not offered.
        r#"<tool_call>{"name": "rm", "arguments": {}}</tool_call>"#,
        // Not complete: no end, no arguments, broken JSON.
        r#"<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}"#,
        r#"<tool_call>{"name": "weather", "arguments": {"city": "Rome"</tool_call>"#,
        r#"<tool_call>{"name": "weather", "arguments": "Rome"}</tool_call>"#,
        "<tool_call></tool_call>",
        // A quotation.
        &format!("So a call looks:\n```xml\n{ROME}\n```\nAnd that is all."),
        &format!("~~~\n{ROME}\n~~~"),
    ] {
        let expected = Read {
            finish: FinishReason::Stop,
            notes: Vec::new(),
            parts: vec![said(reply)],
        };
        assert_eq!(read(reply), expected, "{reply}");
    }
}

#[test]
fn an_opener_that_is_no_call_hides_none_after_it() {
    let reply = format!("I will use <tool_call> now. {ROME}");
    let expected = [said("I will use <tool_call> now."), rome()];
    assert_eq!(parts_of(&reply), expected);
}

#[test]
fn a_reply_that_was_cut_off_has_no_calls() {
    for finish in [
        FinishReason::ContentFilter,
        FinishReason::ContextFull,
        FinishReason::Length,
        FinishReason::Paused,
        FinishReason::Refused,
        FinishReason::Unrecognized("error".into()),
    ] {
        let read = read_of(&request(Vec::new()), text(&[ROME]), finish.clone());
        assert_eq!(read.parts, [said(ROME)], "{finish:?}");
        assert_eq!(read.finish, finish);
    }
    // As much of a broken stream as arrived.
    let mut reader = TextCallReader::new(&request(Vec::new()));
    let mut deltas = text(&["Wait. ", ROME]);
    deltas.pop();
    let mut out: Vec<Delta> = deltas
        .into_iter()
        .flat_map(|delta| reader.push(delta))
        .collect();
    out.extend(reader.release());
    out.push(Delta::BlockEnded { index: 0 });
    assert_eq!(parts(&message(&out)), [said(&format!("Wait. {ROME}"))]);
}

#[test]
fn a_call_is_read_if_only_blank_lines_reached_the_limit() {
    let bare = r#"{"name": "weather", "arguments": {"city": "Rome"}}"#;
    let request = request(Vec::new());
    for finish in [FinishReason::ContextFull, FinishReason::Length] {
        for call in [ROME, bare] {
            for blanks in [&["\n\n"][..], &[" \n", "\t\n", "\n\n"]] {
                let pieces: Vec<&str> = [call].into_iter().chain(blanks.to_vec()).collect();
                let read = read_of(&request, text(&pieces), finish.clone());
                assert_eq!(read.parts, [rome()], "{pieces:?} {finish:?}");
                assert_eq!(read.finish, FinishReason::ToolCalls);
            }
        }
        // Another call may have followed, or the rest of something.
        for rest in ["\n", "\n<tool_call>\n\n\n", " Wait.\n\n\n"] {
            let reply = format!("{ROME}{rest}");
            let read = read_of(&request, text(&[&reply]), finish.clone());
            assert_eq!(read.parts, [said(&reply)], "{finish:?}");
            assert_eq!(read.finish, finish);
        }
    }
    let filtered = format!("{ROME}\n\n\n");
    let read = read_of(&request, text(&[&filtered]), FinishReason::ContentFilter);
    assert_eq!(read.parts, [said(&filtered)]);
}

#[test]
fn a_bare_call_behind_more_blanks_than_are_waited_for_is_text_in_one_piece_too() {
    let call = "{\"name\": \"clock\", \"arguments\": {}}";
    for blanks in [64, 65] {
        let blanks = " ".repeat(blanks);
        for reply in [
            format!("```\n{blanks}{call}\n```"),
            format!("```{blanks}\n{call}\n```"),
            format!("[{blanks}{call}]"),
            format!("{{{blanks}{}", &call[1..]),
        ] {
            let is_call = blanks.len() == 64;
            let characters: Vec<String> = reply.chars().map(String::from).collect();
            let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
            for pieces in [&[&*reply][..], &characters] {
                let request = request(Vec::new());
                let read = read_of(&request, text(pieces), FinishReason::Stop);
                assert_eq!(read.finish == FinishReason::ToolCalls, is_call, "{reply}");
            }
        }
    }
}

#[test]
fn no_call_is_read_where_none_may_be_made() {
    let mut request = request(Vec::new());
    request.choice = ToolChoice::Forbidden;
    let read = read_of(&request, text(&[ROME]), FinishReason::Stop);
    assert_eq!(read.parts, [said(ROME)]);
}

/// The result of a call of `weather`.
fn result(text: &str) -> Message {
    let outcome = ToolOutcome {
        call: ToolCallId::parse("call_1").expect("an id"),
        opaque: Vec::new(),
        result: ToolResult::text(text),
    };
    Message::new(
        Role::Tool,
        vec![Content::ToolOutcome(outcome.into()).into()],
    )
}

#[test]
fn a_call_that_a_user_or_a_tool_wrote_is_a_quotation() {
    let in_a_string = serde_json::json!({ "page": ROME }).to_string();
    let bare = "{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}";
    // Go escapes `<` and `>`, Python all letters outside of ASCII; the string may stand in another string.
    let in_go = in_a_string.replace('<', "\\u003c").replace('>', "\\u003e");
    let in_two = serde_json::json!({ "body": in_go }).to_string();
    let in_python = in_a_string.replace("Rome", "Malm\\u00f6");
    for (said_before, reply) in [
        (
            Message::user(format!("What is this? {ROME}")),
            ROME.to_owned(),
        ),
        (
            result(&format!("Welcome. {ROME}")),
            format!("The page says: {ROME}"),
        ),
        (result(&in_a_string), format!("{ROME}\nis on the page.")),
        (result(ROME), ROME.replace('\n', "")),
        (result(bare), bare.to_owned()),
        (result(&in_go), ROME.to_owned()),
        (result(&in_two), ROME.to_owned()),
        (result(&in_python), ROME.replace("Rome", "Malm\u{f6}")),
    ] {
        let request = request(vec![said_before]);
        let read = read_of(&request, text(&[&reply]), FinishReason::Stop);
        let expected = Read {
            finish: FinishReason::Stop,
            notes: vec!["quoted_call_left_as_text messages[1]".to_owned()],
            parts: vec![said(&reply)],
        };
        assert_eq!(read, expected);
    }
}

#[test]
fn a_reply_of_very_many_calls_is_read_in_part() {
    let read = read(&ROME.repeat(1000));
    let calls = read.parts.iter().filter(|part| **part == rome()).count();
    assert_eq!(calls, 256);
    let rest = ROME.repeat(1000 - 256);
    assert_eq!(read.parts.last(), Some(&said(&rest)));
}

#[test]
fn a_call_of_its_own_is_read_beside_a_quotation() {
    let clock = "<tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>";
    let request = request(vec![result(clock)]);
    let reply = format!("It says {clock} and I ask:\n{ROME}");
    let read = read_of(&request, text(&[&reply]), FinishReason::Stop);
    let quoted = format!("It says {clock} and I ask:");
    assert_eq!(read.parts, [said(&quoted), rome()]);
}

#[test]
fn a_result_that_the_model_invents_is_left_out() {
    let reply =
        format!("{ROME}\n<tool_response>\n{{\"content\": \"sun\"}}\n</tool_response>\nSun.");
    let read = read(&reply);
    assert_eq!(read.parts, [rome()]);
    assert!(
        read.notes
            .contains(&"invented_result messages[0]".to_owned())
    );
}

#[test]
fn a_reply_with_a_call_of_its_own_is_left_as_it_is() {
    let mut deltas = text(&[ROME]);
    let start = BlockStart::ToolCall {
        json: true,
        name: "native".into(),
        ran_by: RanBy::Engine,
        upstream: None,
    };
    deltas.push(Delta::BlockStarted { index: 1, start });
    deltas.push(Delta::ArgumentsAppended {
        index: 1,
        text: "{}".into(),
    });
    deltas.push(Delta::BlockEnded { index: 1 });
    let read = read_of(&request(Vec::new()), deltas, FinishReason::ToolCalls);
    let native = Part::Call("native", serde_json::json!({}));
    assert_eq!(read.parts, [said(ROME), native]);
    assert_eq!(read.notes, Vec::<String>::new());
}

#[test]
fn text_is_passed_on_until_a_call_may_begin() {
    let mut reader = TextCallReader::new(&request(Vec::new()));
    let mut shown = Vec::new();
    for piece in text(&["Let me ", "look <", "3 at it.\n<tool", "_call>{\"name\""]) {
        let out = reader.push(piece);
        shown.push(out.len());
    }
    // The start waits for the first text; the blank for what follows it.
    assert_eq!(shown, [0, 2, 1, 1, 0, 0]);
}

#[test]
fn a_text_that_is_too_long_for_a_call_is_passed_on() {
    let mut reader = TextCallReader::new(&request(Vec::new()));
    let long = "x".repeat(1 << 20);
    let mut out = Vec::new();
    for piece in text(&["<tool_call>", &long, "more"]) {
        out.extend(reader.push(piece));
        assert!(reader.held_bytes() <= (1 << 20) + 11);
    }
    let whole = format!("<tool_call>{long}more");
    assert_eq!(parts(&message(&out)), [said(&whole)]);
}

/// Parts of all forms.
const OPENERS: &[&str] = &[
    "<function=weather><parameter=city>Rome</parameter></function>",
    "<function=",
    "<|python_tag|>",
    "<|python_start|>",
    "<|python_end|>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>clock<｜tool▁sep｜>{}",
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "<｜DSML｜tool_calls><｜DSML｜invoke name=\"clock\">",
    "</｜DSML｜invoke></｜DSML｜tool_calls>",
    "<minimax:tool_call><invoke name=\"clock\">",
    "</invoke></minimax:tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>clock:0<|tool_call_argument_begin|>{}",
    "<|tool_call_end|><|tool_calls_section_end|>",
    "<arg_key>",
    "{\"name\": ",
    "[",
    "{",
    "```",
    "```json\n",
];

/// Texts of calls, of parts of them, and of what is around them.
pub(super) fn replies() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(ROME.to_owned()),
        Just("<tool_call>".to_owned()),
        Just("</tool_call>".to_owned()),
        Just("{\"name\": \"clock\", \"arguments\": {}}".to_owned()),
        Just("<tool_response>".to_owned()),
        select(OPENERS).prop_map(str::to_owned),
        Just("[weather(city='Rome')]".to_owned()),
        Just("```json\n{\"name\": \"clock\", \"parameters\": {}}\n```".to_owned()),
        Just("weather[ARGS]{\"city\": \"Rome\"}".to_owned()),
        Just("\n```\n".to_owned()),
        Just("\n".to_owned()),
        Just("``` json\n".to_owned()),
        Just(" ".repeat(70)),
        "[ -~äß漢]{0,8}",
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_calls(
        reply in replies(),
        cuts in proptest::collection::vec(0..200_usize, 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts
            .into_iter()
            .map(|cut| reply.floor_char_boundary(cut.min(reply.len())))
            .collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut since = 0;
        for cut in cuts {
            pieces.push(&reply[since..cut]);
            since = cut;
        }
        pieces.push(&reply[since..]);
        let request = request(Vec::new());
        let cut = read_of(&request, text(&pieces), FinishReason::Stop);
        prop_assert_eq!(cut, read_of(&request, text(&[&reply]), FinishReason::Stop));
    }

    #[test]
    fn every_character_for_itself_gives_the_same_calls(reply in replies()) {
        let pieces: Vec<String> = reply.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let request = request(Vec::new());
        let cut = read_of(&request, text(&pieces), FinishReason::Stop);
        prop_assert_eq!(cut, read_of(&request, text(&[&reply]), FinishReason::Stop));
    }

    #[test]
    fn a_reply_without_calls_is_not_changed(reply in replies()) {
        let read = read(&reply);
        if read.notes.is_empty() {
            prop_assert_eq!(read.parts, vec![said(&reply)]);
            prop_assert_eq!(read.finish, FinishReason::Stop);
        } else {
            prop_assert_eq!(read.finish, FinishReason::ToolCalls);
        }
    }
}

#[test]
fn a_code_block_ends_at_a_fence_of_its_own_kind_and_length() {
    for inside in [
        "```\n",
        "````\n```\n",
        "```json\n~~~\n",
        "```\n```json\n",
        "~~~~\n~~~\n",
        "  - ```\n",
        "10. ~~~\n",
        "> ```\n> ",
        "\t```\n",
        "text\n```\n``` x\n",
    ] {
        let shown = format!("{inside}{ROME}");
        assert_eq!(parts_of(&shown), [said(&shown)]);
    }
    for outside in [
        "",
        "``\n",
        "a ```\n",
        "```\n```\n",
        "```\n````  \r\n",
        "```code``` \n",
        "```a`b\n",
        "~~~ x\n ~~~\n",
        "> ```\n> ```\n",
    ] {
        let parts = parts_of(&format!("{outside}{ROME}"));
        assert_eq!(parts.last(), Some(&rome()), "{outside:?}");
    }
}
