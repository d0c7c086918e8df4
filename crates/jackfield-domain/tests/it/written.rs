//! Calls that a client is shown while the model writes them, by example: what stands against one, and what
//! becomes of a turn whose client was shown one that it is not to run.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::RanBy;
use jackfield_domain::caller::{Caller, Display};
use jackfield_domain::client_view::{ClientEvent, ClientView, SegmentEnd};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{CallEnd, Envelope, Fact, InputKind, TurnEnd};
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::ids::{ModelAttempt, SessionId};
use jackfield_domain::limits::{Allowance, Limits};
use jackfield_domain::message::Message;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::send_message::SendMessageUseCase;
use jackfield_domain::session::Session;
use jackfield_domain::session_events::EventStream;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::time::Now;
use jackfield_domain::tool::ToolChoice;
use jackfield_domain::tool_loop::{Input, LOOP_VERSION};

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

fn setup() -> Setup {
    let caller = Caller {
        body: None,
        dialect: "claude".into(),
        display: Display {
            calls_as_written: true,
            server_tools: false,
        },
        echo: None,
        key: None,
        model: "m".into(),
        principal: "ann".into(),
        view: None,
    };
    Setup {
        caller: Some(Arc::new(caller)),
        ..crate::world::setup(Limits::default())
    }
}

/// Calls, by the names of their tools, with these arguments.
fn calls(calls: &[(&str, &str)]) -> Vec<Delta> {
    let mut deltas = Vec::new();
    for (index, (name, arguments)) in (0..).zip(calls) {
        let start = BlockStart::ToolCall {
            json: true,
            name: (*name).into(),
            ran_by: RanBy::Engine,
            upstream: None,
        };
        let text = (*arguments).into();
        deltas.extend([
            Delta::BlockStarted { index, start },
            Delta::ArgumentsAppended { index, text },
            Delta::BlockEnded { index },
        ]);
    }
    deltas
}

/// What is shown of a turn whose first reply has these pieces and this end: a word for each piece while it is
/// under way, the same when all is known, and the facts.
struct Seen {
    end: Option<SegmentEnd>,
    facts: Vec<Fact>,
    later: Vec<String>,
    live: Vec<String>,
}

fn see(setup: Setup, deltas: &[Delta], finish: FinishReason) -> Seen {
    let now = Now::default();
    let base = Session::new(SessionId::parse("s").expect("an id")).next_turn();
    let opening = Opening::UserMessage(Arc::new(Message::user("go")));
    let (mut machine, step) = SendMessageUseCase::begin(base, opening, Arc::new(setup), now);
    let turn = machine.turn().id().clone();
    let envelope = |facts, input, step| Envelope {
        facts,
        input,
        now,
        step,
        version: LOOP_VERSION,
    };
    let opened = envelope(step.facts, InputKind::Began, 0);
    let mut reply = ReplyAccumulator::new(turn.clone(), FIRST);
    let mut teller = EventStream::new(Cursor::START);
    let mut viewer = ClientView::new(turn.clone(), 0);
    let (mut live, mut end) = (Vec::new(), None);
    let mut hear = |shown: Vec<ClientEvent>, words: &mut Vec<String>| {
        for shown in shown {
            match shown {
                ClientEvent::Retried(_) => {}
                ClientEvent::End(ended) => end = Some(ended),
                ClientEvent::Piece { delta, .. } => words.push(word(&delta)),
            }
        }
    };
    teller.feed(opened.clone());
    while let Some((_, told)) = teller.next() {
        hear(viewer.apply(&told), &mut live);
    }
    for delta in deltas {
        assert_eq!(reply.push(delta), Ok(()));
        while let Some((_, told)) = teller.next_live_piece(opened.facts.len() as u64, &reply) {
            hear(viewer.apply(&told), &mut live);
        }
        let input = Input::ReplyDelta {
            attempt: FIRST,
            delta: delta.clone(),
        };
        drop(machine.handle(input, now));
    }
    let under_way = live.clone();
    let input = Input::ReplyEnded {
        attempt: FIRST,
        end: Box::new(ReplyEnd::new(finish)),
    };
    let step = machine.handle(input, now);
    let ended = envelope(step.facts, InputKind::ReplyEnded, 1);
    teller.feed(ended.clone());
    while let Some((_, told)) = teller.next() {
        hear(viewer.apply(&told), &mut live);
    }
    let mut teller = EventStream::new(Cursor::START);
    let mut viewer = ClientView::new(turn, 0);
    let mut later = Vec::new();
    teller.feed(opened);
    teller.feed(ended.clone());
    while let Some((_, told)) = teller.next() {
        hear(viewer.apply(&told), &mut later);
    }
    assert_eq!(live, later);
    Seen {
        end,
        facts: ended.facts,
        later,
        live: under_way,
    }
}

fn word(delta: &Delta) -> String {
    match delta {
        Delta::ArgumentsAppended { text, .. } => text.to_string(),
        Delta::BlockEnded { .. } => "end".to_owned(),
        Delta::BlockStarted { .. } => "start".to_owned(),
        other => format!("{other:?}"),
    }
}

/// How the calls were closed of which nobody was asked anything.
fn closed(facts: &[Fact]) -> Vec<CallEnd> {
    let ends = facts.iter().filter_map(|fact| match fact {
        Fact::CallClosed { end, .. } => Some(*end),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_call_is_shown_while_it_is_written() {
    let deltas = calls(&[("client", "{\"n\":1}"), ("client", "{}")]);
    let seen = see(setup(), &deltas, FinishReason::ToolCalls);
    assert_eq!(
        seen.live,
        ["start", "{\"n\":1}", "end", "start", "{}", "end"]
    );
    assert_eq!(seen.later, seen.live);
    assert!(matches!(seen.end, Some(SegmentEnd::Whole(_))));
    assert_eq!(closed(&seen.facts), []);
}

#[test]
fn a_call_whose_arguments_nobody_can_read_never_ends_and_ends_the_turn() {
    let deltas = calls(&[("client", "{}"), ("client", "{\"n\":"), ("read", "{}")]);
    let seen = see(setup(), &deltas, FinishReason::ToolCalls);
    let shown = ["start", "{}", "end", "start", "{\"n\":"];
    assert_eq!(seen.live, shown);
    assert_eq!(seen.later, shown);
    let Some(SegmentEnd::Failed(TurnEnd::Failed(failure))) = seen.end else {
        panic!("{:?}", seen.end);
    };
    assert_eq!(failure.kind, ModelFailureKind::ProtocolViolation);
    // Nothing is run, nobody is asked, and every call has an outcome.
    assert_eq!(closed(&seen.facts), [CallEnd::NotRun; 3]);
    let asks = |fact: &Fact| matches!(fact, Fact::WaitOpened { .. } | Fact::CallStarted { .. });
    assert!(!seen.facts.iter().any(asks));
}

#[test]
fn a_reply_that_was_cut_off_within_a_call_ends_as_cut_off() {
    let deltas = calls(&[("client", "{}"), ("client", "{\"n\":")]);
    let seen = see(setup(), &deltas, FinishReason::Length);
    assert_eq!(seen.live, ["start", "{}", "end", "start", "{\"n\":"]);
    assert_eq!(seen.later.last().map(String::as_str), Some("end"));
    let Some(SegmentEnd::Whole(end)) = seen.end else {
        panic!("{:?}", seen.end);
    };
    assert_eq!(end.finish, FinishReason::Length);
    assert_eq!(closed(&seen.facts), [CallEnd::NotRun; 2]);
}

#[test]
fn a_call_against_which_something_stands_is_shown_when_it_is_decided() {
    let one = |name: &str| calls(&[(name, "{\"n\":1}")]);
    let mut forbidden = setup();
    forbidden.choice = ToolChoice::Forbidden;
    let mut paid = setup();
    paid.allowance = Allowance {
        tokens: Some(1_000_000),
        ..Allowance::default()
    };
    let mut last = setup();
    last.limits.rounds = 1;
    let mut whole = setup();
    whole.caller = None;
    for (setup, name, is_shown) in [
        (setup(), "client", true),
        (setup(), "read", false),
        (setup(), "gone", false),
        (forbidden, "client", false),
        (paid, "client", false),
        (last, "client", false),
        (whole, "client", false),
    ] {
        let seen = see(setup, &one(name), FinishReason::ToolCalls);
        assert_eq!(!seen.live.is_empty(), is_shown, "{name}: {:?}", seen.live);
    }
    // What could not be shown early and is broken is told to the model, as ever.
    let mut paid = setup();
    paid.allowance.active = Some(Duration::from_secs(9));
    paid.allowance.tokens = Some(1_000_000);
    let broken = calls(&[("client", "{\"n\":")]);
    let seen = see(paid, &broken, FinishReason::ToolCalls);
    assert_eq!(seen.end, None);
    assert_eq!(closed(&seen.facts), [CallEnd::NotRun]);
    let next =
        |fact: &Fact| matches!(fact, Fact::ModelCallStarted { attempt, .. } if attempt.round == 2);
    assert!(seen.facts.iter().any(next));
}
