//! The generators keep what they promise.

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Content, RanBy};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolName, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::rules;
use jackfield_domain::tool::{Catalog, ToolChoice};
use jackfield_domain::tool_input::ToolInput;
use jackfield_testkit::arb;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::sync::Arc;

fn attempt() -> (TurnId, ModelAttempt) {
    let session = SessionId::parse("s").unwrap_or_else(|invalid| panic!("{invalid}"));
    let attempt = ModelAttempt {
        round: 2,
        attempt: 1,
    };
    (TurnId::derive(&session, 3), attempt)
}

proptest! {
    #[test]
    fn conversations_keep_every_rule(messages in arb::conversation(), more in arb::messages()) {
        prop_assert_eq!(rules::check_request(messages.iter()), Ok(()));
        prop_assert_eq!(rules::check_request(more.iter()), Ok(()));
    }

    #[test]
    fn a_request_chooses_among_its_own_tools(request in arb::model_request()) {
        prop_assert_eq!(rules::check_request(request.messages.iter()), Ok(()));
        let known = |name: &ToolName| request.tools.iter().any(|tool| tool.name == *name);
        match &request.choice {
            ToolChoice::Named(name) => prop_assert!(known(name)),
            ToolChoice::Only { tools, .. } => prop_assert!(tools.iter().all(known)),
            ToolChoice::Required => prop_assert!(!request.tools.is_empty()),
            ToolChoice::Auto | ToolChoice::Forbidden => {}
        }
    }

    #[test]
    fn the_pieces_of_a_reply_accumulate_to_its_blocks(
        (blocks, deltas) in arb::reply_blocks(attempt().0, attempt().1)
            .prop_flat_map(|blocks| (Just(blocks.clone()), arb::deltas_of(&blocks)))
    ) {
        let (turn, attempt) = attempt();
        let mut reply = ReplyAccumulator::new(turn, attempt);
        for delta in &deltas {
            prop_assert_eq!(reply.push(delta), Ok(()));
        }
        let reply = reply.finish(ReplyEnd::new(FinishReason::Stop), &Catalog::default());
        prop_assert_eq!(&reply.expect("a whole reply").message.blocks, &blocks);
    }

    #[test]
    fn words_say_something(words in arb::words()) {
        prop_assert!(!words.trim().is_empty());
    }
}

#[test]
fn generators_reach_what_they_are_there_for() {
    let mut seen = Seen::default();
    let mut runner = TestRunner::deterministic();
    let (turn, attempt) = attempt();
    let replies = arb::reply_blocks(turn, attempt).prop_flat_map(|blocks| arb::deltas_of(&blocks));
    let cases = (
        arb::conversation(),
        replies,
        vec(arb::text(), 5),
        vec(arb::reply_end(), 3),
    );
    for _ in 0..400 {
        let case = cases.new_tree(&mut runner).expect("a case").current();
        seen.look(&case.0, &case.1);
        seen.notes += case.3.iter().filter(|end| !end.notes.is_empty()).count();
        seen.blank += case.2.iter().filter(|text| text.trim().is_empty()).count();
    }
    let floors = [
        ("parallel calls", seen.parallel),
        ("calls at the provider", seen.at_provider),
        ("opaque state", seen.opaque),
        ("malformed arguments", seen.malformed),
        ("blocks open at once", seen.interleaved),
        ("calls with text", seen.custom),
        ("refusals", seen.refusals),
        ("reasoning with state", seen.reasoning),
        ("notes", seen.notes),
        ("pieces of a text", seen.pieces),
        ("blank texts", seen.blank),
    ];
    for (class, count) in floors {
        assert!(count >= 20, "{class}: only {count} of 400 cases");
    }
}

#[derive(Default)]
struct Seen {
    at_provider: usize,
    blank: usize,
    custom: usize,
    interleaved: usize,
    malformed: usize,
    notes: usize,
    opaque: usize,
    parallel: usize,
    pieces: usize,
    reasoning: usize,
    refusals: usize,
}

impl Seen {
    fn look(&mut self, messages: &[Arc<Message>], deltas: &[Delta]) {
        for message in messages {
            let blocks = &message.blocks;
            self.parallel += usize::from(message.role == Role::Tool && blocks.len() > 1);
            self.opaque += usize::from(blocks.iter().any(|block| !block.opaque.is_empty()));
            for block in blocks {
                match &block.content {
                    Content::Refusal(_) => self.refusals += 1,
                    Content::Thinking(_) => {
                        self.reasoning += usize::from(!block.opaque.is_empty());
                    }
                    Content::Audio(_)
                    | Content::Document(_)
                    | Content::Image(_)
                    | Content::Opaque(_)
                    | Content::Text(_)
                    | Content::ToolCall(_)
                    | Content::ToolOutcome(_) => {}
                }
            }
            for call in message.calls() {
                self.custom += usize::from(matches!(call.input, ToolInput::Text(_)));
                self.at_provider += usize::from(call.ran_by == RanBy::Provider);
                let input = &call.input;
                if let ToolInput::Json(json) = input {
                    self.malformed += usize::from(json.object().is_err());
                }
            }
            let outcomes = blocks.iter().filter(|block| {
                matches!(block.content, Content::ToolOutcome(_)) && message.role == Role::User
            });
            assert_eq!(outcomes.count(), 0, "an outcome in a user's message");
        }
        let mut open = 0_usize;
        let mut texts = 0_usize;
        for delta in deltas {
            match delta {
                Delta::BlockStarted { .. } => open += 1,
                Delta::BlockEnded { .. } => open -= 1,
                Delta::TextAppended { .. } | Delta::ArgumentsAppended { .. } => texts += 1,
                Delta::AnnotationAdded { .. } | Delta::StateSet { .. } => {}
            }
            self.interleaved += usize::from(open > 1);
        }
        self.pieces += usize::from(texts > 2);
    }
}

#[test]
fn strategies_fit_a_test_threads_stack() {
    let sizes = [
        ("conversation", size_of_val(&arb::conversation())),
        ("envelope", size_of_val(&arb::envelope())),
        ("model_request", size_of_val(&arb::model_request())),
        ("setup", size_of_val(&arb::setup())),
        ("block", size_of_val(&arb::block())),
        ("tool_spec", size_of_val(&arb::tool_spec())),
    ];
    for (name, size) in sizes {
        assert!(size <= 256, "{name} has {size} bytes in {sizes:?}");
    }
}
