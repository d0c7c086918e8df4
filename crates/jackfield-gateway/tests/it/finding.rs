//! Which session a request of this principal belongs to: by its calls, its history and its name.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content};
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::locate::{HistoryKeys, Located};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::{ToolOutcome, ToolResult};
use jackfield_engine::EngineError;
use jackfield_ports::journal::{Journal as _, JournalError};
use jackfield_testkit::fakes::ScriptedReply;

use crate::harness::{answers, caller, hi, message, named, request, scene, to_the_end};

/// The history of a client behind a turn, with what it says next.
fn then(mut history: Vec<Message>, reply: &str, next: &str) -> Vec<Message> {
    history.push(Message::new(Role::Assistant, vec![Block::text(reply)]));
    history.push(Message::user(next));
    history
}

#[tokio::test(start_paused = true)]
async fn two_principals_with_equal_messages_never_meet() {
    let scene = scene([ScriptedReply::text("hello"), ScriptedReply::text("hello")]);
    let mut turns = Vec::new();
    for principal in ["a", "b"] {
        let mut begun = scene.begin(principal, principal, Some("k")).await;
        to_the_end(&mut begun.watcher).await;
        drop(begun.connection);
        turns.push(begun.turn);
    }
    let history = then(hi(), "hello", "and now?");
    for (principal, other, turn) in [("a", "b", &turns[1]), ("b", "a", &turns[0])] {
        // By body and key.
        for key in [None, Some("k")] {
            for is_repeat in [true, false] {
                let owed = scene.owed(&request(principal, "hi", key, is_repeat)).await;
                assert_eq!(owed.as_deref(), Some(principal));
            }
        }
        // By history.
        let place = scene
            .locator()
            .locate(None, principal, &HistoryKeys::from_history(&history))
            .await;
        let located = place.expect("readable").located;
        let expected = Located::Continue {
            known_messages: 2,
            session: named(principal),
        };
        assert_eq!(located, expected);
        // By the id of the turn.
        let marks = [jackfield_engine::Mark::Turn(turn.clone())];
        let found = scene.engine.find(None, principal, &marks, 10).await;
        assert_eq!(found.expect("readable"), []);
        // By name.
        for adopts in [false, true] {
            let other = named(other);
            let locator = scene.locator();
            let found = locator.locate_in(principal, &other, &history, adopts).await;
            assert!(
                matches!(
                    found,
                    Err(EngineError::Journal(JournalError::UnknownSession { .. }))
                ),
                "{found:?}"
            );
        }
    }
    // A third one finds nothing at all.
    let place = scene
        .locator()
        .locate(None, "c", &HistoryKeys::from_history(&history))
        .await
        .expect("readable");
    assert_eq!(place.located, Located::New);
    for key in [None, Some("k")] {
        assert_eq!(scene.owed(&request("c", "hi", key, true)).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn results_find_their_turn_by_their_calls_and_only_for_whom_they_were_asked() {
    let scene = scene([
        ScriptedReply::calls([("lookup", "{}")]),
        ScriptedReply::text("found"),
    ]);
    let mut begun = scene.begin("one", "a", None).await;
    let call: ToolCallId = loop {
        let (_, told) = begun.watcher.next().await.expect("news");
        if let jackfield_domain::session_events::SessionEvent::Fact { fact, .. } = told
            && let jackfield_domain::fact::Fact::WaitOpened { wait } = *fact
        {
            break wait.call;
        }
    };
    let loaded = scene.journal.load(&begun.session).await.expect("a session");
    let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let reply = facts.find_map(|fact| match fact {
        jackfield_domain::fact::Fact::ReplyReceived { reply, .. } => Some(&reply.message),
        _ => None,
    });
    let outcome = Arc::new(ToolOutcome {
        call: call.clone(),
        opaque: Vec::new(),
        result: ToolResult::text("579"),
    });
    let mut history = hi();
    history.push(Message::clone(reply.expect("a reply")));
    let block = Block::from(Content::ToolOutcome(Arc::clone(&outcome)));
    history.push(Message::new(Role::Tool, vec![block]));
    let place = scene
        .locator()
        .locate(None, "a", &HistoryKeys::from_history(&history))
        .await
        .expect("readable");
    let expected = Located::Answer {
        results: vec![outcome],
        session: begun.session.clone(),
        turn: begun.turn.clone(),
    };
    assert_eq!(place.located, expected);
    // The tools of the turn are there for a request that names none.
    let setup = place.setup.expect("the last turn");
    assert!(setup.catalog.tool("lookup").is_some());
    let place = scene
        .locator()
        .locate(None, "b", &HistoryKeys::from_history(&history))
        .await
        .expect("readable");
    assert_eq!(place.located, Located::New);
    drop(begun);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_nobody_has_begun_is_gone_on_with_by_whoever_may_have_it() {
    let scene = scene(answers(1));
    let mut message = message("work", caller("a", "hi", None, &hi()), &hi());
    message.options.caller = None;
    let mut begun = scene.engine.begin(message).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    let locate_in = |adopts| {
        let (locator, work) = (scene.locator(), named("work"));
        async move { locator.locate_in("a", &work, &hi(), adopts).await }
    };
    let refused = locate_in(false).await;
    assert!(
        matches!(
            refused,
            Err(EngineError::Journal(JournalError::UnknownSession { .. }))
        ),
        "{refused:?}"
    );
    let place = locate_in(true).await.expect("it may");
    assert!(matches!(place.located, Located::Continue { .. }));
}
