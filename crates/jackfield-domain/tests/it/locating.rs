//! Locating: a client that sends its whole history again is recognised by it, and by nothing else.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content, RanBy, Text, ToolCall};
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::locate::{
    self, HistoryKeys, Located, ResultsRefused, SessionIndex, chain, locate_in, opening, results,
};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_domain::reply::FinishReason;
use jackfield_domain::rules::RuleViolation;
use jackfield_domain::setup::Opening;
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::WaitEnd;
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::talk::{ANN, Part, Talk};

/// What a client says, and the rounds in which it is answered.
type Script = (Arc<str>, Vec<Vec<Part>>);

fn locate(principal: &str, history: &[Message], sessions: &[SessionIndex]) -> Located {
    locate::locate(principal, &HistoryKeys::from_history(history), sessions)
}

fn scripts() -> impl Strategy<Value = Vec<Script>> {
    let call = prop_oneof![
        2 => arb::json_object().prop_map(|fields| Part::Client(Value::Object(fields).to_string())),
        1 => Just(Part::Server("read")),
        1 => Just(Part::Server("write")),
        1 => Just(Part::Server("denied")),
        1 => Just(Part::Server("gone")),
        1 => Just(Part::Client("{\"broken\":".to_owned())),
    ];
    let words = || arb::words().prop_map(Part::Text);
    let beside = prop_oneof![2 => words(), 1 => arb::words().prop_map(Part::Thinking)];
    let round = (
        vec(beside.clone(), 0..2),
        vec(call, 1..4),
        vec(beside, 0..2),
    )
        .prop_map(|(before, calls, after)| [before, calls, after].concat());
    let rounds = (vec(round, 0..3), vec(words(), 1..3)).prop_map(|(mut rounds, last)| {
        rounds.push(last);
        rounds
    });
    vec((arb::words(), rounds), 1..4)
}

fn played(session: &str, scripts: &[Script], server_tools: bool) -> Talk {
    let mut talk = Talk::new(session, server_tools);
    for (words, rounds) in scripts {
        talk.say(words, rounds);
        assert_eq!(talk.view(), chain(&talk.history).last().copied());
    }
    talk
}

/// Numbers to decide by.
struct Choices(Vec<u8>, usize);

impl Choices {
    fn below(&mut self, end: usize) -> usize {
        self.1 += 1;
        let choice = self.0.get(self.1 % self.0.len());
        usize::from(choice.copied().unwrap_or(0)) % end.max(1)
    }
}

/// The same conversation, as another client might keep it.
fn retold(history: &[Message], choices: &mut Choices) -> Vec<Message> {
    let mut told = Vec::new();
    for message in history {
        let mut blocks: Vec<Block> = Vec::new();
        for block in &message.blocks {
            match &block.content {
                Content::Text(text) => {
                    let places: Vec<usize> = text.text.char_indices().map(|(at, _)| at).collect();
                    let (one, two) = text.text.split_at(places[choices.below(places.len())]);
                    let blank = [" ", "\n\n", "", "\u{3000}", "\t\u{b}"][choices.below(5)];
                    blocks.push(Block::text(format!("{blank}{one}{blank}")));
                    blocks.push(Block::text(two));
                }
                Content::ToolCall(call) if call.ran_by != RanBy::Provider => {
                    blocks.push(Content::ToolCall(Arc::new(rewritten(call))).into());
                }
                Content::ToolOutcome(_) if message.role == Role::Tool => {
                    let place = choices.below(blocks.len() + 1);
                    blocks.insert(place, block.clone());
                }
                // Reasoning, and what the server did by itself, may be gone.
                _ if choices.below(2) == 0 => {}
                _ => blocks.push(block.clone()),
            }
        }
        // Some clients keep each part as a message of its own.
        if choices.below(3) == 0 {
            let role = message.role;
            told.extend(
                blocks
                    .into_iter()
                    .map(|block| Message::new(role, vec![block])),
            );
        } else {
            told.push(Message::new(message.role, blocks));
        }
        if choices.below(8) == 0 {
            told.push(Message::new(Role::System, vec![Block::text("be brief")]));
        }
    }
    told
}

/// The same call, with its arguments written otherwise.
fn rewritten(call: &ToolCall) -> ToolCall {
    let ToolInput::Json(input) = &call.input else {
        return call.clone();
    };
    let raw = match input.object() {
        Ok(fields) => {
            let turned: Map<String, Value> = fields
                .iter()
                .rev()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            serde_json::to_string_pretty(&turned).expect("JSON")
        }
        Err(_) => input.raw().to_owned(),
    };
    ToolCall {
        input: ToolInput::Json(JsonInput::parse(&raw)),
        ..call.clone()
    }
}

fn with(history: &[Message], words: &str) -> Vec<Message> {
    let mut history = history.to_vec();
    history.push(Message::user(words));
    history
}

fn somewhere(text: &str, session: &Talk) -> Located {
    locate(ANN, &with(&session.history, text), &[session.known()])
}

proptest! {
    #[test]
    fn a_clients_own_history_goes_on(scripts in scripts(), shown in any::<bool>(), choices in vec(any::<u8>(), 1..20)) {
        let talk = played("s", &scripts, shown);
        let mut choices = Choices(choices, 0);
        let told = with(&retold(&talk.history, &mut choices), "and?");
        let expected = |known_messages| Located::Continue { known_messages, session: SessionId::parse("s").expect("an id") };
        let other = played("other", &[("Something else.".into(), vec![vec![Part::Text("Yes.".into())]])], shown);
        let located = locate(ANN, &told, &[other.known(), talk.known()]);
        let Located::Continue { known_messages, .. } = &located else {
            panic!("{located:#?} of {told:#?}");
        };
        prop_assert_eq!(&located, &expected(*known_messages));
        // What is new begins behind the last words of the model.
        let new = &told[*known_messages..];
        prop_assert!(new.iter().all(|message| message.role != Role::Assistant || message.blocks.iter().all(Block::is_blank)), "{:?}", new);
        prop_assert_eq!(locate_in(&told, &talk.known()), located);
        prop_assert!(HistoryKeys::from_history(&told).views().any(|view| Some(view) == talk.view()));
        // Nobody else comes in.
        prop_assert_eq!(locate("bob", &told, &[talk.known()]), Located::New);
        // Two that fit tell nothing.
        let twin = played("twin", &scripts, shown);
        let has_calls = talk.history.iter().any(|message| message.role == Role::Tool);
        if !has_calls {
            prop_assert_eq!(locate(ANN, &told, &[twin.known(), talk.known()]), Located::New);
        }
    }

    #[test]
    fn an_earlier_end_forks(scripts in scripts(), shown in any::<bool>(), choices in vec(any::<u8>(), 1..20)) {
        let talk = played("s", &scripts, shown);
        let mut choices = Choices(choices, 0);
        for (ordinal, end) in (1..).zip(&talk.ends[..talk.ends.len() - 1]) {
            let told = with(&retold(&talk.history[..*end], &mut choices), "otherwise");
            match locate(ANN, &told, &[talk.known()]) {
                Located::Fork { at, session, .. } => {
                    prop_assert_eq!((at.ordinal, at.round), (ordinal, None));
                    prop_assert_eq!(session.as_str(), "s");
                }
                other => panic!("{other:#?}"),
            }
        }
    }

    #[test]
    fn an_edited_history_forks_before_it_or_is_new(scripts in scripts(), shown in any::<bool>(), place in any::<prop::sample::Index>()) {
        let talk = played("s", &scripts, shown);
        let mut edited = talk.history.clone();
        let texts: Vec<(usize, usize)> = edited.iter().enumerate().flat_map(|(at, message)| {
            let blocks = message.blocks.iter().enumerate();
            let texts = blocks.filter(|(_, block)| matches!(block.content, Content::Text(_)));
            texts.map(move |(block, _)| (at, block))
        }).collect();
        let (at, block) = texts[place.index(texts.len())];
        edited[at].blocks[block].content = Content::Text(Text {
            annotations: Vec::new(),
            text: "never said".into(),
        });
        let turn = talk.ends.iter().position(|end| at < *end).expect("a turn");
        match (locate(ANN, &with(&edited, "and?"), &[talk.known()]), turn) {
            (Located::New, 0) => {}
            (Located::Fork { at, known_messages, .. }, _) => {
                prop_assert_eq!(at.ordinal as usize, turn);
                prop_assert_eq!(known_messages, talk.ends[turn - 1]);
            }
            (other, _) => panic!("{turn}: {other:#?}"),
        }
    }

    #[test]
    fn arguments_and_results_count(scripts in scripts(), place in any::<prop::sample::Index>()) {
        let talk = played("s", &scripts, false);
        let handed: Vec<(usize, usize)> = talk.history.iter().enumerate().flat_map(|(at, message)| {
            let blocks = message.blocks.iter().enumerate();
            let calls = blocks.filter(|(_, block)| matches!(block.content, Content::ToolCall(_) | Content::ToolOutcome(_)));
            calls.map(move |(block, _)| (at, block))
        }).collect();
        prop_assume!(!handed.is_empty());
        let (at, block) = handed[place.index(handed.len())];
        let mut edited = talk.history.clone();
        let changed = match &edited[at].blocks[block].content {
            Content::ToolCall(call) => Content::ToolCall(Arc::new(ToolCall {
                input: ToolInput::Json(JsonInput::parse("{\"never\":\"said\"}")),
                ..ToolCall::clone(call)
            })),
            Content::ToolOutcome(outcome) => Content::ToolOutcome(Arc::new(ToolOutcome {
                result: ToolResult::text("never brought"),
                ..ToolOutcome::clone(outcome)
            })),
            other => panic!("{other:?}"),
        };
        edited[at].blocks[block].content = changed;
        let located = locate(ANN, &with(&edited, "and?"), &[talk.known()]);
        prop_assert!(!matches!(located, Located::Continue { .. }), "{:?}", located);
    }
}

pub(crate) fn simple(session: &str) -> Talk {
    let mut talk = Talk::new(session, false);
    talk.say("hi", &[vec![Part::Text("Hello!".into())]]);
    talk
}

#[test]
fn words_alone_are_no_history() {
    let talk = simple("s");
    let alone = [Message::user("hi")];
    assert_eq!(locate(ANN, &alone, &[talk.known()]), Located::New);
    // What ends with the model's own words asks for nothing new.
    assert_eq!(locate(ANN, &talk.history, &[talk.known()]), Located::New);
    assert_eq!(locate(ANN, &[], &[talk.known()]), Located::New);
}

#[test]
fn words_to_continue_are_new_with_what_they_follow() {
    let talk = simple("s");
    let begun = Message::new(Role::Assistant, vec![Block::text("1, 2,")]);
    let mut asked = with(&talk.history, "Count.");
    asked.push(begun.clone());
    let named = |history: &[Message]| match locate_in(history, &talk.known()) {
        Located::Continue { known_messages, .. } => known_messages,
        other => panic!("{other:?}"),
    };
    assert_eq!(named(&asked), 2);
    assert!(matches!(
        locate(ANN, &asked, &[talk.known()]),
        Located::Continue {
            known_messages: 2,
            ..
        }
    ));
    // The named session has more than the client sends.
    assert_eq!(named(&asked[2..]), 0);
    assert_eq!(named(&[begun]), 0);
    // Its own answer is not new.
    assert_eq!(named(&talk.history), 2);
}

#[test]
fn a_session_that_is_at_work_is_forked_unless_it_is_named() {
    let mut talk = simple("s");
    let mut next = talk.clone();
    next.say("more", &[vec![Part::Text("Well.".into())]]);
    // As it was before the second turn had ended.
    let opened = talk.steps.len();
    talk.steps = next.steps[..=opened].to_vec();
    let asked = with(&talk.history, "more");
    assert!(matches!(
        locate(ANN, &asked, &[talk.known()]),
        Located::Fork {
            known_messages: 2,
            ..
        }
    ));
    assert!(matches!(
        locate_in(&asked, &talk.known()),
        Located::Continue {
            known_messages: 2,
            ..
        }
    ));
    // An earlier end of a named session is forked all the same, once it is at rest.
    assert!(matches!(
        locate_in(&asked, &next.known()),
        Located::Fork {
            known_messages: 2,
            ..
        }
    ));
}

#[test]
fn a_named_session_holds_whatever_else_the_client_says() {
    let talk = simple("s");
    let alone = [Message::user("and?")];
    let strange = [
        Message::user("never"),
        Message::new(Role::Assistant, vec![Block::text("said")]),
        Message::user("and?"),
    ];
    for (history, known) in [(&alone[..], 0), (&strange[..], 2)] {
        let session = SessionId::parse("s").expect("an id");
        let expected = Located::Continue {
            known_messages: known,
            session,
        };
        assert_eq!(locate_in(history, &talk.known()), expected);
    }
}

#[test]
fn results_that_nobody_asked_for_are_told() {
    let mut talk = simple("s");
    let asks = vec![
        Part::Client("{\"n\":1}".into()),
        Part::Client("{\"n\":2}".into()),
    ];
    talk.say("count", &[asks, vec![Part::Text("Two.".into())]]);
    // The reply to the results is all that is missing.
    let history = talk.history[..talk.history.len() - 1].to_vec();
    let [first, second] = &results(&history)[..] else {
        panic!("{history:?}");
    };
    assert!(matches!(
        locate(ANN, &history, &[talk.known()]),
        Located::Collect { segment: 1, .. }
    ));
    let bring = |outcomes: &[&ToolOutcome]| {
        let mut history = talk.history[..3].to_vec();
        let blocks = outcomes
            .iter()
            .map(|outcome| Block::from(Content::ToolOutcome(Arc::new((*outcome).clone()))));
        history.push(Message::new(Role::Tool, blocks.collect()));
        locate(ANN, &history, &[talk.known()])
    };
    let unknown = ToolOutcome {
        call: ToolCallId::parse("call_of_nobody").expect("an id"),
        ..ToolOutcome::clone(first)
    };
    assert_eq!(
        bring(&[first, second, &unknown]),
        Located::Refused(ResultsRefused::Unknown {
            call: unknown.call.clone()
        })
    );
    let other = ToolOutcome {
        result: ToolResult::text("other"),
        ..ToolOutcome::clone(second)
    };
    assert_eq!(
        bring(&[first, &other]),
        Located::Refused(ResultsRefused::Conflict {
            call: second.call.clone()
        })
    );
    // It goes on where the session is known to, with a conversation that breaks a rule.
    let located = bring(&[&unknown]);
    assert!(
        matches!(
            located,
            Located::Fork {
                known_messages: 2,
                ..
            }
        ),
        "{located:?}"
    );
    let unpaired = [
        talk.history[2].clone(),
        talk.history[3].clone(),
        Message::new(
            Role::Tool,
            vec![Content::ToolOutcome(Arc::new(unknown)).into()],
        ),
    ];
    assert!(matches!(
        opening(&[], &unpaired),
        Err(RuleViolation::OutcomeWithoutCall { .. })
    ));
}

#[test]
fn what_came_too_late_is_collected_unless_the_turn_that_it_opened_broke_off() {
    let mut talk = simple("s");
    let asks = vec![Part::Client("{\"n\":1}".into())];
    talk.say("count", &[asks, vec![Part::Text("One.".into())]]);
    // The reply to the result is all that is missing.
    let history = talk.history[..talk.history.len() - 1].to_vec();
    let mut opened = None;
    // As it is where nobody brought it in time.
    for fact in talk.steps.iter_mut().flat_map(|step| &mut step.facts) {
        match fact {
            Fact::TurnOpened { .. } => opened = Some(fact.clone()),
            Fact::WaitClosed { end, .. } => *end = WaitEnd::Expired,
            Fact::TurnEnded { end, .. } => *end = TurnEnd::ClientExpired,
            _ => {}
        }
    }
    let expired = locate(ANN, &history, &[talk.known()]);
    assert!(
        matches!(expired, Located::Late { at: None, .. }),
        "{expired:?}"
    );
    let Some(Fact::TurnOpened { setup, ordinal, .. }) = opened else {
        panic!("a turn");
    };
    let next = TurnId::derive(talk.known().session(), ordinal + 1);
    let failure = ModelFailure::new(ModelFailureKind::Overloaded, Phase::MidReply, "full");
    for (end, is_collected) in [
        (TurnEnd::Answered(FinishReason::Stop), true),
        (TurnEnd::Interrupted(failure), false),
    ] {
        let mut talk = talk.clone();
        let mut step = talk.steps.last().expect("a step").clone();
        step.facts = vec![
            Fact::TurnOpened {
                opening: Opening::ClientResults(results(&history)),
                ordinal: ordinal + 1,
                setup: Arc::clone(&setup),
                turn: next.clone(),
            },
            Fact::TurnEnded { end, view: None },
        ];
        talk.steps.push(step);
        let again = locate(ANN, &history, &[talk.known()]);
        let collected =
            matches!(&again, Located::Collect { segment: 0, turn, .. } if *turn == next);
        assert_eq!(collected, is_collected, "{again:?}");
        assert_eq!(matches!(again, Located::Late { .. }), !is_collected);
    }
}

#[test]
fn sessions_of_nobody_are_never_found() {
    let mut talk = simple("s");
    for step in &mut talk.steps {
        for fact in &mut step.facts {
            if let Fact::TurnOpened { setup, .. } = fact {
                Arc::make_mut(setup).caller = None;
            }
        }
    }
    assert_eq!(somewhere("and?", &talk), Located::New);
    assert_eq!(
        SessionIndex::from_steps(SessionId::parse("s").expect("an id"), &[]).principal(),
        None
    );
}

#[test]
fn what_is_new_opens_the_next_turn() {
    let before: Vec<Arc<Message>> = simple("s").history.into_iter().map(Arc::new).collect();
    let words = [Message::user("one"), Message::user("two")];
    let Ok(Opening::UserMessage(message)) = opening(&before, &words) else {
        panic!("no message");
    };
    assert_eq!(message.to_text(), "one\n\ntwo");
    // A client that went on elsewhere in between brings that along.
    let elsewhere = [
        Message::user("one"),
        Message::new(Role::Assistant, vec![Block::text("1")]),
        Message::user("two"),
    ];
    let Ok(Opening::Transcript(transcript)) = opening(&before, &elsewhere) else {
        panic!("no transcript");
    };
    assert_eq!(transcript.messages().len(), 5);
    assert_eq!(opening(&[], &[]), Err(RuleViolation::NoMessage));
    assert_eq!(opening(&before, &[]), Err(RuleViolation::NoMessage));
    // The model continues words at the end.
    let Ok(Opening::Transcript(transcript)) = opening(&before, &elsewhere[..2]) else {
        panic!("no transcript");
    };
    assert_eq!(transcript.messages().len(), 4);
}
