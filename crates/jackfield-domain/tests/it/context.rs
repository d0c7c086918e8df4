//! Facts that change what a turn sends to models: revealed tools, compaction, a backend's session.

use std::sync::Arc;

use jackfield_domain::fact::{CallEnd, Compaction, Fact};
use jackfield_domain::ids::{ModelAttempt, SessionId, ToolCallId, TurnId};
use jackfield_domain::limits::Limits;
use jackfield_domain::message::Message;
use jackfield_domain::setup::{Opening, Setup};
use jackfield_domain::tool::{Catalog, CatalogEntry, Discovery};
use jackfield_domain::turn::Turn;
use jackfield_domain::usage::Usage;

use crate::world::{TOOLS, setup};

const ATTEMPT: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 0,
};

/// A turn after two messages.
fn turn(setup: Setup) -> Turn {
    let session = SessionId::parse("s").expect("an id");
    let before = ["one", "two"].map(|text| Arc::new(Message::user(text)));
    let opening = Opening::UserMessage(Arc::new(Message::user("three")));
    Turn::open(
        TurnId::derive(&session, 1),
        1,
        &Arc::new(before.to_vec()),
        &opening,
        &Arc::new(setup),
    )
}

fn compacted(replaced: usize) -> Fact {
    Fact::Compacted(Arc::new(Compaction {
        attempt: ATTEMPT,
        failure: None,
        messages: vec![Arc::new(Message::user("short"))],
        model: None,
        replaced,
        usage: Some(Usage {
            input: 7,
            ..Usage::default()
        }),
    }))
}

fn closed(revealed: Option<Arc<Catalog>>) -> Fact {
    Fact::CallClosed {
        cached: None,
        call: ToolCallId::parse("call_1").expect("an id"),
        end: CallEnd::Ran,
        result: Arc::default(),
        revealed,
        shown: None,
    }
}

fn texts(turn: &Turn) -> Vec<String> {
    let messages = turn.messages_for_model().iter();
    messages.map(|message| message.to_text()).collect()
}

#[test]
fn a_compaction_replaces_the_beginning_of_the_conversation_and_is_paid() {
    for (replaced, left) in [
        (0, &["short", "one", "two", "three"][..]),
        (1, &["short", "two", "three"]),
        (2, &["short", "three"]),
        (3, &["short"]),
        // More than there are: the fact does not match.
        (4, &["one", "two", "three"]),
    ] {
        let mut turn = turn(setup(Limits::default()));
        turn.apply(&compacted(replaced));
        assert_eq!(texts(&turn), left, "{replaced}");
        assert_eq!(turn.usage().input, 7);
    }
}

#[test]
fn the_messages_of_the_turn_stay_its_own_after_a_compaction() {
    let mut turn = turn(setup(Limits::default()));
    turn.apply(&compacted(2));
    let own = turn.messages_for_model().turn_messages();
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].to_text(), "three");
}

#[test]
fn a_revealed_tool_joins_the_catalog_and_replaces_none() {
    let whole = setup(Limits::default());
    let tools: Vec<_> = whole.catalog.iter().cloned().collect();
    let (first, rest) = tools.split_first().expect("tools");
    let mut changed = rest[0].clone();
    changed.title = Some("another".into());
    let small = Setup {
        catalog: Arc::new(rest.iter().cloned().collect()),
        ..whole
    };
    let mut turn = turn(small);
    let revealed: Catalog = [first.clone(), changed].into_iter().collect();
    turn.apply(&closed(Some(Arc::new(revealed))));
    let catalog: Vec<_> = turn.setup().catalog.iter().cloned().collect();
    assert_eq!(catalog, tools);
}

#[test]
fn revealed_tools_follow_all_others_in_the_order_in_which_they_were_found() {
    let whole = setup(Limits::default());
    let names: Vec<&str> = TOOLS
        .iter()
        .copied()
        .filter(|name| *name != "gone")
        .collect();
    let with = |name: &str, discovery| {
        let tool = whole.catalog.tool(name).expect("a tool").clone();
        CatalogEntry { discovery, ..tool }
    };
    let deferred = names.iter().map(|name| match *name {
        "again" | "ask" | "write" => with(name, Some(Discovery::Deferred)),
        name => with(name, None),
    });
    let catalog = Arc::new(deferred.collect());
    let mut turn = turn(Setup {
        catalog,
        ..whole.clone()
    });
    for (revealed, order) in [("write", 0), ("again", 1)] {
        let tool = with(revealed, Some(Discovery::Revealed(order)));
        let revealed: Catalog = [tool].into_iter().collect();
        turn.apply(&closed(Some(Arc::new(revealed))));
    }
    let offered = turn.setup().catalog.offered();
    let offered: Vec<&str> = offered.map(|tool| tool.definition.name.as_str()).collect();
    let expected = [
        "ask_again",
        "careful",
        "client",
        "denied",
        "read",
        "write",
        "again",
    ];
    assert_eq!(offered, expected);
    let hidden = turn.setup().catalog.tool("ask").expect("a tool");
    assert!(hidden.is_deferred());
}

#[test]
fn the_session_of_a_backend_is_remembered() {
    let mut turn = turn(setup(Limits::default()));
    assert_eq!(turn.backend_session(), None);
    turn.apply(&Fact::BackendSession {
        attempt: ATTEMPT,
        id: "b-1".into(),
    });
    assert_eq!(turn.backend_session().map(|id| &**id), Some("b-1"));
}
