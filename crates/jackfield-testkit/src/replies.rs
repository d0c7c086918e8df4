//! Replies in pieces and whole, for the tests of a dialect's decoders and encoders.

use std::sync::Arc;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Content, ToolCall, UpstreamId};
use jackfield_domain::delta::Delta;
use jackfield_domain::ids::{ModelAttempt, TurnId};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{Reply, ReplyEnd};
use jackfield_domain::tool::Catalog;

/// The reply that a decoder's deltas make, in this turn and attempt.
///
/// # Panics
///
/// If they break the rules of deltas, or leave a block open.
#[must_use]
pub fn accumulated(
    (turn, attempt): (TurnId, ModelAttempt),
    deltas: &[Delta],
    end: ReplyEnd,
) -> Reply {
    let mut accumulator = ReplyAccumulator::new(turn, attempt);
    for delta in deltas {
        if let Err(broken) = accumulator.push(delta) {
            panic!("{delta:?} breaks the rules of deltas: {broken:?}");
        }
    }
    match accumulator.finish(end, &Catalog::default()) {
        Ok(reply) => reply,
        Err(broken) => panic!("the reply is not whole: {broken:?}"),
    }
}

/// The message with our id of each call as the upstream one: a whole reply has our ids, a stream the upstream ones.
#[must_use]
pub fn with_our_ids(message: &Message, owner: &StateOwner) -> Message {
    let mut message = message.clone();
    for block in &mut message.blocks {
        if let Content::ToolCall(call) = &block.content {
            let upstream = UpstreamId {
                id: call.id.as_str().into(),
                owner: owner.clone(),
            };
            block.content = Content::ToolCall(Arc::new(ToolCall {
                upstream: Some(upstream),
                ..(**call).clone()
            }));
        }
    }
    message
}

/// The deltas with the state of each block directly after its start, as decoders give it.
#[must_use]
pub fn states_first(deltas: Vec<Delta>) -> Vec<Delta> {
    let mut sorted: Vec<Delta> = Vec::with_capacity(deltas.len());
    for delta in deltas {
        let place = if let Delta::StateSet { index, .. } = &delta {
            let starts = |known: &Delta| matches!(known, Delta::BlockStarted { index: start, .. } if start == index);
            let start = sorted.iter().rposition(starts);
            start.map(|start| {
                let after = sorted.iter().skip(start + 1);
                let states = after.take_while(|known| matches!(known, Delta::StateSet { .. }));
                start + 1 + states.count()
            })
        } else {
            None
        };
        sorted.insert(place.unwrap_or(sorted.len()), delta);
    }
    sorted
}

/// The message without opaque state, which a client is shown without its owner and gives back in this name.
#[must_use]
pub fn without_state(message: &Message, owner: &StateOwner) -> Message {
    let mut message = Message::new(Role::Assistant, message.blocks.clone());
    for block in &mut message.blocks {
        block.opaque.clear();
        if let Content::Opaque(opaque) = &mut block.content {
            opaque.owner = owner.clone();
            opaque.fallback = None;
        }
    }
    message
}
