//! What tool search stores: tools that are deferred or revealed, and those that a fork begins with.

use std::sync::Arc;

use jackfield_domain::fact::{CallEnd, Envelope, Fact, InputKind};
use jackfield_domain::ids::{ForkPlace, SessionId, ToolName};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{CatalogEntry, Discovery};

use super::{call, id, step, turn_id, turn_opened};

/// A fork, and an outcome that revealed a tool; the other one in its catalog is of a form that setups have.
pub(crate) fn tool_search() -> Envelope {
    let opened = turn_opened();
    let catalog = opened.facts.iter().find_map(|fact| {
        let Fact::TurnOpened { setup, .. } = fact else {
            return None;
        };
        Some(&setup.catalog)
    });
    let states = [Discovery::Revealed(3), Discovery::Deferred];
    let tools = catalog.into_iter().flat_map(|catalog| catalog.iter());
    let tools = tools.zip(states).map(|(tool, state)| CatalogEntry {
        discovery: Some(state),
        ..tool.clone()
    });
    let forked = Fact::SessionForked {
        at: ForkPlace {
            ordinal: 2,
            round: None,
            turn: turn_id(),
        },
        from: id(SessionId::parse("chat-1")),
        messages: Arc::default(),
        revealed: vec![id(ToolName::parse("files__read"))],
    };
    let closed = Fact::CallClosed {
        cached: None,
        call: call(),
        end: CallEnd::Ran,
        result: Arc::new(ToolResult::text("{}")),
        revealed: Some(Arc::new(tools.collect())),
        shown: None,
    };
    step(InputKind::ToolFinished, vec![forked, closed])
}
