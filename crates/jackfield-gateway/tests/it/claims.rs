//! Requests that come at once, and the claims by which only one of them begins a turn.

use std::sync::Arc;
use std::time::Duration;

use jackfield_engine::{Engine, StartedTurn};
use jackfield_gateway::{MatchError, RequestIdentity, RequestMatch, RequestMatcher};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{AppendFault, FaultyJournal, Gate, ScriptedModel, ScriptedReply};

use crate::harness::{answers, caller, hi, message, named, request, scene, to_the_end};

/// An engine whose journal holds the first append at the gate.
fn held_at(gate: &Gate) -> (Engine, ScriptedModel) {
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::default()));
    journal.push_fault(AppendFault::Hold(gate.clone()));
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("0"));
    let builder = Engine::builder(Arc::new(journal));
    let engine = builder.model("provider", model.port()).build();
    (engine, model)
}

/// Asks in a task of its own, for long enough to be answered unless it is kept waiting.
async fn asking(
    matcher: &RequestMatcher,
    request: RequestIdentity,
) -> tokio::task::JoinHandle<Result<RequestMatch, MatchError>> {
    let matcher = matcher.clone();
    let asking = tokio::spawn(async move { matcher.find(&request).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    asking
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_while_its_turn_begins_keeps_its_claim_until_that_is_found() {
    for (key, is_repeat) in [(Some("k"), false), (None, true), (None, false)] {
        let gate = Gate::new();
        let (engine, model) = held_at(&gate);
        let matcher = RequestMatcher::new(engine.clone());
        let first = request("a", "hi", key, false);
        let RequestMatch::New { claim, .. } = matcher.find(&first).await.expect("readable") else {
            panic!("nothing was begun");
        };
        let message = message("one", caller("a", "hi", key, &hi()), &hi());
        {
            let beginning = engine.begin_with_guard(message, claim);
            tokio::select! {
                _ = beginning => panic!("it cannot have begun"),
                () = gate.reached() => {}
            }
            // Its connection broke, and everything of the request is dropped; its opening is on its way.
        }
        let again = asking(&matcher, request("a", "hi", key, is_repeat)).await;
        let waits = key.is_some() || is_repeat;
        assert_eq!(again.is_finished(), !waits, "{key:?}");
        gate.open();
        let again = again.await.expect("it ends").expect("readable");
        if waits {
            let RequestMatch::Existing(begun) = again else {
                panic!("it is owed, {key:?}");
            };
            assert_eq!(begun.session, named("one"));
            let mut begun = begun;
            to_the_end(&mut begun.watcher).await;
            assert_eq!(model.requests().len(), 1);
        } else {
            // An equal body alone is a new request.
            assert!(matches!(again, RequestMatch::New { .. }));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeat_waits_for_those_that_it_has_overtaken_and_nobody_waits_for_it() {
    let scene = scene(answers(2));
    let ask = |is_repeat| asking(&scene.matcher, request("a", "hi", None, is_repeat));
    let RequestMatch::New { claim: first, .. } =
        ask(false).await.await.expect("it ends").expect("readable")
    else {
        panic!("nothing was begun");
    };
    let repeat = ask(true).await;
    let again = ask(true).await;
    assert!(!repeat.is_finished() && !again.is_finished());
    // Somebody else's, of another body, and one more sample of the same prompt.
    for other in [
        request("b", "hi", None, true),
        request("a", "ho", None, true),
        request("a", "hi", None, false),
    ] {
        assert!(asking(&scene.matcher, other).await.is_finished());
    }
    // The first one begins nothing: of those that repeat it one does, and the other one finds that.
    drop(first);
    let RequestMatch::New { claim, .. } = repeat.await.expect("it ends").expect("readable") else {
        panic!("nothing was begun");
    };
    assert!(!again.is_finished());
    let message = message("one", caller("a", "hi", None, &hi()), &hi());
    let begun = scene.engine.begin_with_guard(message, claim).await;
    let begun = begun.expect("begun");
    let RequestMatch::Existing(owed) = again.await.expect("it ends").expect("readable") else {
        panic!("it is owed");
    };
    assert_eq!(owed.turn, begun.turn);
    // Nothing is left of any of them.
    drop((begun, owed));
    assert!(
        asking(&scene.matcher, request("a", "hi", None, true))
            .await
            .is_finished()
    );
}

/// A turn that has its answer, on a journal whose loads can be held.
struct Answered {
    begun: StartedTurn,
    matcher: RequestMatcher,
    inner: Arc<MemoryJournal>,
    journal: FaultyJournal,
}

async fn answered() -> Answered {
    let inner = Arc::new(MemoryJournal::default());
    let journal = FaultyJournal::new(Arc::clone(&inner) as Arc<dyn Journal>);
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("0"));
    let engine = Engine::builder(Arc::new(journal.clone()))
        .model("provider", model.port())
        .build();
    let message = message("one", caller("a", "hi", None, &hi()), &hi());
    let mut begun = engine.begin(message).await.expect("begun");
    to_the_end(&mut begun.watcher).await;
    Answered {
        begun,
        matcher: RequestMatcher::new(engine),
        inner,
        journal,
    }
}

#[tokio::test(start_paused = true)]
async fn what_broke_is_given_to_one_of_two_that_ask_at_once() {
    let Answered {
        begun,
        matcher,
        journal,
        ..
    } = answered().await;
    drop(begun);
    // Both have looked before either has it.
    let gates = [Gate::new(), Gate::new()];
    let mut asked = Vec::new();
    for gate in &gates {
        journal.hold_next_load(gate);
        asked.push(asking(&matcher, request("a", "hi", None, false)).await);
        gate.reached().await;
    }
    let mut got = Vec::new();
    for (gate, asking) in gates.iter().zip(asked) {
        gate.open();
        got.push(asking.await.expect("it ends").expect("readable"));
    }
    let owed = |got: &RequestMatch| matches!(got, RequestMatch::Existing(_));
    assert!(owed(&got[0]) && !owed(&got[1]), "{got:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_written_while_somebody_looked_is_not_given_again() {
    let Answered {
        begun,
        matcher,
        inner,
        journal,
    } = answered().await;
    drop(begun);
    let same = || request("a", "hi", None, false);
    // It is broken as far as this one has seen.
    let gate = Gate::new();
    journal.hold_next_load(&gate);
    let slow = asking(&matcher, same()).await;
    gate.reached().await;
    // Another one collects it, has it whole, and that is in the journal and forgotten here.
    let RequestMatch::Existing(owed) = matcher.find(&same()).await.expect("readable") else {
        panic!("it is owed");
    };
    owed.connection.mark_written();
    while inner
        .load(&named("one"))
        .await
        .expect("a session")
        .deliveries
        .is_empty()
    {
        tokio::task::yield_now().await;
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    gate.open();
    let slow = slow.await.expect("it ends").expect("readable");
    assert!(matches!(slow, RequestMatch::New { .. }), "{slow:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_known_here_is_asked_before_the_journal_is_read() {
    let Answered {
        begun,
        matcher,
        inner,
        journal,
    } = answered().await;
    // Whoever reads it waits here.
    let gate = Gate::new();
    journal.hold_next_load(&gate);
    let again = request("a", "hi", None, false);
    let collects = || tokio::time::timeout(Duration::from_secs(1), matcher.find(&again));
    // While it is being written, when it was, and when this process has forgotten that it was: as often as
    // somebody says the same, what is another's is not read for it.
    let collected = collects().await.expect("unread").expect("readable");
    assert!(
        matches!(collected, RequestMatch::New { .. }),
        "{collected:?}"
    );
    drop(collected);
    begun.connection.mark_written();
    let written = || async {
        let loaded = inner.load(&named("one")).await;
        !loaded.expect("a session").deliveries.is_empty()
    };
    while !written().await {
        let collected = collects().await.expect("unread").expect("readable");
        assert!(
            matches!(collected, RequestMatch::New { .. }),
            "{collected:?}"
        );
        drop(collected);
        tokio::task::yield_now().await;
    }
    // What was written is recorded by a task, which forgets it then.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        let collected = collects().await.expect("unread").expect("readable");
        assert!(
            matches!(collected, RequestMatch::New { .. }),
            "{collected:?}"
        );
    }
    assert!(!gate.is_reached());
    // Whoever says that it asks again is another matter.
    let repeat = request("a", "hi", None, true);
    let reading = tokio::time::timeout(Duration::from_secs(1), matcher.find(&repeat));
    assert!(reading.await.is_err(), "it was not read");
    assert!(gate.is_reached());
}
