//! Durable and ephemeral sessions of one engine: where each is found, and how long it stays.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::Block;
use jackfield_domain::locate::{HistoryKeys, Located};
use jackfield_domain::message::{Message, Role};
use jackfield_engine::{Durability, Engine, EngineError, Ephemeral, Mark, SessionQuery};
use jackfield_gateway::{RequestIdentity, RequestMatch, RequestMatcher, SessionLocator};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::ScriptedModel;

use crate::harness::{answers, caller, engine_on, hi, message, named, request, to_the_end};

const DURABLE: Option<Durability> = Some(Durability::Durable);
const EPHEMERAL: Option<Durability> = Some(Durability::Ephemeral);

/// An engine with a journal of each kind, whose model answers so often.
fn engine(replies: usize) -> Engine {
    let model = ScriptedModel::new();
    for reply in answers(replies) {
        model.push_reply(reply);
    }
    let memory = Arc::new(MemoryJournal::default().ephemeral());
    engine_on(&Arc::default(), &model).with_ephemeral_journal(memory, Ephemeral::default())
}

/// What the client sends after the first reply.
fn continued() -> Vec<Message> {
    let mut history = hi();
    history.push(Message::new(Role::Assistant, vec![Block::text("0")]));
    history.push(Message::user("and now?"));
    history
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_turn_with_a_key_is_found_for_two_minutes() {
    let engine = engine(1);
    engine.create_ephemeral(&named("one")).expect("a journal");
    let message = message("one", caller("a", "hi", Some("k"), &hi()), &hi());
    let mut begun = engine.begin(message).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    assert_eq!(engine.durability(&named("one")), Durability::Ephemeral);
    let query = SessionQuery {
        limit: 10,
        ..SessionQuery::default()
    };
    let sessions = engine.sessions(&query);
    assert_eq!(sessions.await.expect("readable"), [], "it is in no list");
    let matcher = RequestMatcher::new(engine.clone());
    let locator = SessionLocator::new(&engine);
    let keys = HistoryKeys::from_history(&continued());
    for (durability, is_there) in [(DURABLE, false), (EPHEMERAL, true), (None, true)] {
        let marks = [Mark::Turn(begun.turn.clone()), Mark::of_key("k")];
        let found = engine.find(durability, "a", &marks, 1).await;
        let expected = if is_there { 2 } else { 0 };
        assert_eq!(found.expect("readable").len(), expected, "{durability:?}");
        let found = matcher
            .find(&RequestIdentity {
                durability,
                ..request("a", "hi", Some("k"), true)
            })
            .await;
        let is_existing = matches!(found.expect("readable"), RequestMatch::Existing(_));
        assert_eq!(is_existing, is_there, "{durability:?}");
        let place = locator.locate(durability, "a", &keys).await;
        let is_new = place.expect("readable").located == Located::New;
        assert_eq!(is_new, !is_there, "{durability:?}");
    }
    begun.connection.mark_written();
    tokio::time::sleep(Ephemeral::default().retain_for - Duration::from_secs(1)).await;
    let repeated = RequestIdentity {
        durability: EPHEMERAL,
        ..request("a", "hi", Some("k"), false)
    };
    let again = matcher.find(&repeated).await;
    let RequestMatch::Existing(again) = again.expect("readable") else {
        panic!("the answer was taken, and is asked for again");
    };
    assert_eq!(again.turn, begun.turn);
    drop(again);
    tokio::time::sleep(Ephemeral::default().retain_for).await;
    assert!(engine.load(&named("one")).await.is_err(), "it is deleted");
    let found = engine.find(None, "a", &[Mark::Turn(begun.turn)], 1).await;
    assert_eq!(found.expect("readable"), []);
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_turn_without_a_key_stays_until_its_answer_was_written() {
    let engine = engine(1);
    engine.create_ephemeral(&named("one")).expect("a journal");
    let message = message("one", caller("a", "hi", None, &hi()), &hi());
    let mut begun = engine.begin(message).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    assert!(engine.load(&named("one")).await.is_ok());
    begun.connection.mark_written();
    while engine.durability(&named("one")) == Durability::Ephemeral {
        tokio::task::yield_now().await;
    }
    assert!(engine.load(&named("one")).await.is_err(), "it is deleted");
}

#[tokio::test(start_paused = true)]
async fn a_fork_is_as_durable_as_its_session() {
    let engine = engine(2);
    engine.create_ephemeral(&named("short")).expect("a journal");
    for (session, durability) in [
        ("short", Durability::Ephemeral),
        ("long", Durability::Durable),
    ] {
        let message = message(session, caller("a", session, None, &hi()), &hi());
        let mut begun = engine.begin(message).await.expect("begun");
        to_the_end(&mut begun.watcher).await;
        let places = engine.fork_places(&named(session)).await.expect("places");
        let fork = named(&format!("{session}-fork"));
        let place = places.last().expect("one place");
        let forked = engine.fork(&named(session), place, &fork).await;
        forked.expect("forked");
        assert_eq!(engine.durability(&fork), durability);
        assert!(engine.load(&fork).await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn an_ephemeral_session_whose_turn_does_not_begin_is_deleted() {
    let engine = engine(0);
    engine.create_ephemeral(&named("one")).expect("a journal");
    let mut message = message("one", caller("a", "hi", None, &hi()), &hi());
    message.options.model.provider = "unknown".into();
    let refused = engine.begin(message).await.expect_err("refused");
    assert!(
        matches!(refused, EngineError::UnknownProvider { .. }),
        "{refused}"
    );
    while engine.durability(&named("one")) == Durability::Ephemeral {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_without_a_second_journal_has_no_ephemeral_sessions() {
    let engine = engine_on(&Arc::default(), &ScriptedModel::new());
    let refused = engine.create_ephemeral(&named("one")).expect_err("refused");
    assert!(
        matches!(refused, EngineError::NoEphemeralJournal),
        "{refused}"
    );
    assert_eq!(engine.durability(&named("one")), Durability::Durable);
}
