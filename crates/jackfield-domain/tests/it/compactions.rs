//! What a summary replaces, how it is asked for, and when.

use std::sync::Arc;

use jackfield_domain::block::{Block, CalledName, Content, RanBy, ToolCall};
use jackfield_domain::compaction::{
    CompactionPlan, CompactionPolicy, CompactionRoom, WindowList, summary_of,
};
use jackfield_domain::fact::{Compaction, Fact};
use jackfield_domain::ids::{ForkPlace, ModelAttempt, SessionId, ToolCallId, TurnId};
use jackfield_domain::message::{Message, Messages, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::request::ModelRef;
use jackfield_domain::session::Session;
use jackfield_domain::settings::{CacheMode, Settings, ThinkingMode};
use jackfield_domain::tool_input::{JsonInput, ToolInput};

fn user(text: &str) -> Message {
    Message::user(text)
}

fn assistant(text: &str) -> Message {
    Message::new(Role::Assistant, vec![Block::text(text)])
}

/// A round with one call: the reply and its outcome.
fn round(nth: u32, result: &str) -> [Message; 2] {
    let id = ToolCallId::parse(&format!("call_{nth}")).expect("an id");
    let call = Content::ToolCall(Arc::new(ToolCall {
        id: id.clone(),
        input: ToolInput::Json(JsonInput::parse("{}")),
        name: CalledName::new("read"),
        ran_by: RanBy::Engine,
        upstream: None,
    }));
    let outcome = Content::ToolOutcome(Arc::new(ToolOutcome {
        call: id,
        opaque: Vec::new(),
        result: ToolResult::text(result),
    }));
    [
        Message::new(Role::Assistant, vec![call.into()]),
        Message::new(Role::Tool, vec![outcome.into()]),
    ]
}

fn plan(messages: Vec<Message>, keeps_rounds: bool) -> Option<CompactionPlan> {
    CompactionPlan::new(&messages.into_iter().collect::<Messages>(), keeps_rounds)
}

fn model() -> ModelRef {
    ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    }
}

/// The text of the request for a summary of a plan, if so many of 1000 tokens fit.
fn request(plan: &CompactionPlan, room: u64) -> String {
    let room = CompactionRoom { room, size: 1000 };
    let request = plan.request(&model(), &Settings::default(), room, false);
    request.messages.last().expect("a message").to_text()
}

#[test]
fn the_last_user_message_and_what_follows_it_stay() {
    let long = "x".repeat(400);
    let rounds = |result: &str| {
        let [call, outcome] = round(1, result);
        let [again, other] = round(2, result);
        [call, outcome, again, other]
    };
    let before = || vec![user(&long), assistant("yes")];
    for (messages, keeps_rounds, replaced) in [
        (vec![], false, None),
        (vec![user("a")], false, None),
        // One message alone is not worth a summary.
        (vec![user(&long), user("b")], false, None),
        ([before(), vec![user("b")]].concat(), false, Some(2)),
        ([before(), vec![user("b")]].concat(), true, Some(2)),
        (
            [before(), vec![user("b")], rounds("short").to_vec()].concat(),
            false,
            Some(2),
        ),
        // The turn is most of it: its last round stays.
        (
            [before(), vec![user("b")], rounds(&long.repeat(4)).to_vec()].concat(),
            false,
            Some(5),
        ),
        (
            [vec![user("b")], rounds(&long).to_vec()].concat(),
            false,
            Some(3),
        ),
        (
            [vec![user("b")], rounds(&long).to_vec()].concat(),
            true,
            None,
        ),
        // The beginning is too short to matter.
        (
            [before(), vec![user(&long.repeat(9))]].concat(),
            false,
            None,
        ),
    ] {
        let length = messages.len();
        let plan = plan(messages, keeps_rounds);
        let found = plan.map(|plan| plan.replaced);
        assert_eq!(found, replaced, "{length} messages, {keeps_rounds}");
    }
}

#[test]
fn the_message_of_the_turn_stays_when_its_rounds_are_replaced() {
    let [call, outcome] = round(1, &"result ".repeat(99));
    let [again, other] = round(2, "last");
    let messages = vec![user("do it"), call, outcome, again, other];
    let plan = plan(messages, false).expect("a plan");
    let text = request(&plan, 1000);
    assert!(text.contains("(calls read with {})\n") && text.contains("(result) result"));
    assert!(
        !text.contains("do it") && !text.contains("last\n"),
        "{text}"
    );
    let put = plan.replacement("It is done.");
    let texts: Vec<String> = put.iter().map(|message| message.to_text()).collect();
    assert!(texts[0].ends_with("It is done."), "{texts:?}");
    assert_eq!(texts[1..], ["do it"]);
}

#[test]
fn what_does_not_fit_into_the_request_is_shortened_and_then_left_out() {
    let mut messages = vec![user("the task")];
    messages.extend((0..40).map(|n| assistant(&format!("{n} {}", "word ".repeat(2000)))));
    messages.extend([assistant("the state"), user("now?")]);
    let plan = plan(messages, false).expect("a plan");
    let whole = request(&plan, 1000);
    let shortened = request(&plan, 100);
    let least = request(&plan, 1);
    assert!(whole.len() > 400_000, "{}", whole.len());
    assert!(!whole.contains("left out here"));
    assert!(
        (10_000..60_000).contains(&shortened.len()),
        "{}",
        shortened.len()
    );
    assert!(shortened.contains("bytes are left out here"));
    assert!(least.len() < 4000, "{}", least.len());
    assert!(least.contains("messages are left out here"), "{least}");
    for text in [whole, shortened] {
        assert!(text.contains("the task") && text.contains("the state"));
        assert!(!text.contains("now?"));
    }
}

#[test]
fn the_request_has_the_settings_of_the_turn_that_fit_a_summary() {
    let plan = plan(vec![user("a"), assistant("b"), user("c")], false).expect("a plan");
    let settings = Settings {
        max_output_tokens: Some(10),
        parallel_calls: Some(true),
        stop: vec!["x".into()],
        temperature: Some(0.5),
        thinking: Some(ThinkingMode::Budget(9000)),
        ..Settings::default()
    };
    for (room, output) in [(400, 50), (1_000_000, 4096), (0, 1)] {
        let room = CompactionRoom { room, size: 10 };
        let request = plan.request(&model(), &settings, room, true);
        let expected = Settings {
            cache: Some(CacheMode::Off),
            max_output_tokens: Some(output),
            temperature: Some(0.5),
            ..Settings::default()
        };
        assert_eq!(*request.settings, expected);
        assert!(request.tools.is_empty() && request.whole);
    }
}

#[test]
fn only_a_whole_text_is_a_summary() {
    let reply = |finish, text: &str| Reply {
        end: ReplyEnd::new(finish),
        message: Arc::new(assistant(text)),
    };
    let summary = |finish, text| summary_of(&reply(finish, text));
    assert_eq!(summary(FinishReason::Stop, " so \n").as_deref(), Some("so"));
    let own = FinishReason::Unrecognized("eos".into());
    assert_eq!(summary(own, "so").as_deref(), Some("so"));
    assert_eq!(summary(FinishReason::Stop, " \n"), None);
    for finish in [
        FinishReason::Length,
        FinishReason::Refused,
        FinishReason::ToolCalls,
    ] {
        assert_eq!(summary(finish, "so"), None);
    }
}

#[test]
fn a_share_is_reached_at_its_percentage() {
    for (at_percent, tokens, window, is_reached) in [
        (80, 799, 1000, false),
        (80, 800, 1000, true),
        (100, 999, 1000, false),
        (80, u64::MAX, u64::MAX, true),
        (80, 0, u64::MAX, false),
    ] {
        let policy = CompactionPolicy { at_percent };
        assert_eq!(
            policy.is_reached(tokens, window),
            is_reached,
            "{tokens} of {window}"
        );
    }
    assert_eq!(CompactionPolicy::at_share(f64::NAN), None);
    let mut windows = WindowList::default();
    let mut any = model();
    any.model = "*".into();
    windows.set(any, 10);
    assert_eq!(windows.get(&model()), Some(10));
    windows.set(model(), 20);
    assert_eq!(windows.get(&model()), Some(20));
}

#[test]
fn a_fork_may_begin_with_a_summary() {
    let session = SessionId::parse("fork").expect("an id");
    let messages = ["one", "two", "three"].map(|text| Arc::new(user(text)));
    let forked = Fact::SessionForked {
        at: ForkPlace {
            ordinal: 1,
            round: None,
            turn: TurnId::derive(&session, 1),
        },
        from: SessionId::parse("other").expect("an id"),
        messages: Arc::new(messages.to_vec()),
        revealed: Vec::new(),
    };
    let compacted = |replaced| {
        Fact::Compacted(Arc::new(Compaction {
            attempt: ModelAttempt::compaction(0),
            failure: None,
            messages: vec![Arc::new(user("short"))],
            model: None,
            replaced,
            usage: None,
        }))
    };
    for (replaced, left) in [(2, &["short", "three"][..]), (4, &["one", "two", "three"])] {
        let facts = [forked.clone(), compacted(replaced)];
        let messages = Session::fold(session.clone(), &facts).messages();
        let texts: Vec<String> = messages.iter().map(|message| message.to_text()).collect();
        assert_eq!(texts, left);
    }
}
