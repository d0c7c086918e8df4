//! Requests that come again, and requests that only look alike: what is owed to whom.

use std::sync::Arc;

use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::ids::DeliveryId;
use jackfield_domain::wait::DeliveryBody;
use jackfield_gateway::{MatchError, RequestIdentity, RequestMatch, RequestMatcher};
use jackfield_testkit::fakes::{Gate, ScriptedReply};

use crate::harness::{answers, caller, engine_on, hi, message, named, request, scene, to_the_end};

#[tokio::test(start_paused = true)]
async fn an_equal_body_collects_only_what_broke_and_a_repeat_whatever_was_begun() {
    let scene = scene(answers(1));
    let (same, repeat) = (
        request("a", "hi", None, false),
        request("a", "hi", None, true),
    );
    assert_eq!(scene.owed(&repeat).await, None, "nothing was begun");
    let mut begun = scene.begin("one", "a", None).await;
    let one = Some("one".to_owned());
    // Somebody is being told it.
    assert_eq!(scene.owed(&same).await, None);
    assert_eq!(scene.owed(&repeat).await, one);
    to_the_end(&mut begun.watcher).await;
    // The connection broke: whoever asks again gets what is owed, and while it does, nobody else.
    drop(begun.connection);
    assert_eq!(scene.owed(&same).await, one);
    let Ok(RequestMatch::Existing(again)) = scene.matcher.find(&same).await else {
        panic!("it is owed");
    };
    assert_eq!(again.turn, begun.turn);
    assert_eq!(scene.owed(&same).await, None);
    // It is whole now: neither at once nor later is it owed to anybody who does not say so.
    again.connection.mark_written();
    assert_eq!(scene.owed(&same).await, None, "before it is recorded");
    scene.recorded("one", 1).await;
    assert_eq!(scene.owed(&same).await, None, "when it is recorded");
    assert_eq!(scene.owed(&repeat).await, one);
    assert_eq!(scene.model.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_what_was_not_written_is_owed_and_what_was_is_not() {
    let scene = scene(answers(2));
    let mut one = scene.begin("one", "a", None).await;
    to_the_end(&mut one.watcher).await;
    one.connection.mark_written();
    scene.recorded("one", 1).await;
    let mut two = scene.begin("two", "a", None).await;
    to_the_end(&mut two.watcher).await;
    // Another process: nobody is connected there.
    let after = engine_on(&scene.journal, &scene.model);
    let same = request("a", "hi", None, false);
    match RequestMatcher::new(after)
        .find(&same)
        .await
        .expect("readable")
    {
        RequestMatch::Existing(begun) => assert_eq!(begun.session, named("two")),
        RequestMatch::New { .. } => panic!("it is owed"),
    }
    drop(two);
}

#[tokio::test(start_paused = true)]
async fn five_samples_of_one_prompt_are_five_turns() {
    let scene = scene(answers(5));
    for n in 0..5 {
        assert_eq!(scene.owed(&request("a", "hi", None, false)).await, None);
        let begun = scene.begin(&format!("s{n}"), "a", None).await;
        // Each is heard to its end by a task of its own.
        tokio::spawn(async move {
            let mut begun = begun;
            to_the_end(&mut begun.watcher).await;
            begun.connection.mark_written();
        });
    }
    for n in 0..5 {
        scene.recorded(&format!("s{n}"), 1).await;
    }
    assert_eq!(scene.model.requests().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_of_one_request_for_good() {
    let scene = scene(answers(1));
    let mut begun = scene.begin("one", "a", Some("k")).await;
    to_the_end(&mut begun.watcher).await;
    begun.connection.mark_written();
    scene.recorded("one", 1).await;
    // Also when it was written whole, and whatever the request says of itself.
    let again = request("a", "hi", Some("k"), false);
    assert_eq!(scene.owed(&again).await, Some("one".to_owned()));
    let other = request("a", "ho", Some("k"), true);
    let refused = scene.matcher.find(&other).await.expect_err("a conflict");
    assert!(
        matches!(refused, MatchError::KeyConflict { .. }),
        "{refused}"
    );
    // An equal body under another key is another request.
    assert_eq!(
        scene.owed(&request("a", "hi", Some("other"), true)).await,
        None
    );
}

#[tokio::test(start_paused = true)]
async fn requests_with_one_key_at_once_begin_one_turn() {
    let gate = Gate::new();
    let scene = Arc::new(scene([ScriptedReply::text("done").held_at(&gate)]));
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..8 {
        let scene = Arc::clone(&scene);
        tasks.spawn(async move {
            let request = request("a", "hi", Some("k"), n > 0);
            match scene.matcher.find(&request).await.expect("readable") {
                RequestMatch::New { claim, .. } => {
                    let begun = scene.begin(&format!("s{n}"), "a", Some("k")).await;
                    drop(claim);
                    (true, begun)
                }
                RequestMatch::Existing(begun) => (false, *begun),
            }
        });
    }
    let begun = tasks.join_all().await;
    assert_eq!(begun.iter().filter(|(is_new, _)| *is_new).count(), 1);
    gate.open();
    let turn = &begun[0].1.turn;
    assert!(begun.iter().all(|(_, begun)| begun.turn == *turn));
    let mut told = Vec::new();
    for (_, mut begun) in begun {
        told.push(to_the_end(&mut begun.watcher).await);
    }
    assert!(told.iter().all(|one| *one == told[0]));
    assert_eq!(scene.model.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_withdrawn_is_owed_to_nobody() {
    let scene = scene(answers(1));
    let mut begun = scene.begin("one", "a", None).await;
    to_the_end(&mut begun.watcher).await;
    drop(begun.connection);
    let body = DeliveryBody::Withdrawn {
        turn: begun.turn.clone(),
    };
    let id = DeliveryId::parse("gone").expect("a valid id");
    let engine = &scene.engine;
    let delivered = engine.deliver(&begun.session, id, "somebody", body).await;
    delivered.expect("delivered");
    for is_repeat in [true, false] {
        assert_eq!(scene.owed(&request("a", "hi", None, is_repeat)).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn what_names_a_session_collects_the_last_turn_of_that_one_alone() {
    let scene = scene(answers(4));
    let of = |session: &str, is_repeat| RequestIdentity {
        session: Some(named(session)),
        ..request("a", "hi", None, is_repeat)
    };
    let mut one = scene.begin("one", "a", None).await;
    to_the_end(&mut one.watcher).await;
    drop(one.connection);
    let owed = Some("one".to_owned());
    for is_repeat in [false, true] {
        assert_eq!(scene.owed(&of("one", is_repeat)).await, owed);
        assert_eq!(scene.owed(&of("none", is_repeat)).await, None);
    }
    let mut other = scene.begin("other", "a", None).await;
    to_the_end(&mut other.watcher).await;
    other.connection.mark_written();
    scene.recorded("other", 1).await;
    assert_eq!(scene.owed(&of("other", false)).await, None);
    assert_eq!(
        scene.owed(&of("other", true)).await,
        Some("other".to_owned())
    );
    // Nobody else's, either.
    let foreign = RequestIdentity {
        principal: "b".into(),
        ..of("one", true)
    };
    assert_eq!(scene.owed(&foreign).await, None);
    // It was gone on from: the same words are other ones by now.
    let next = message("one", caller("a", "and?", None, &hi()), &hi());
    let mut next = scene.engine.begin(next).await.expect("begun");
    to_the_end(&mut next.watcher).await;
    for is_repeat in [false, true] {
        assert_eq!(scene.owed(&of("one", is_repeat)).await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_used_in_another_session_is_a_contradiction() {
    let scene = scene(answers(1));
    let mut begun = scene.begin("one", "a", Some("k")).await;
    to_the_end(&mut begun.watcher).await;
    let of = |session: &str| RequestIdentity {
        session: Some(named(session)),
        ..request("a", "hi", Some("k"), false)
    };
    assert_eq!(scene.owed(&of("one")).await, Some("one".to_owned()));
    let refused = scene.matcher.find(&of("other")).await;
    assert!(matches!(refused, Err(MatchError::KeyConflict { .. })));
}

#[tokio::test(start_paused = true)]
async fn what_failed_before_a_word_was_said_is_tried_again_and_nothing_else_is() {
    let overloaded = |advice| ModelFailure {
        advice,
        ..ModelFailure::new(
            ModelFailureKind::Overloaded,
            Phase::BeforeFirstDelta,
            "too much to do",
        )
    };
    for (key, advice, again) in [
        (None, RetryAdvice::Backoff, true),
        (Some("k"), RetryAdvice::Backoff, true),
        (None, RetryAdvice::Never, false),
        (Some("k"), RetryAdvice::Never, false),
    ] {
        let scene = scene([ScriptedReply::failure(overloaded(advice))]);
        let mut message = message("one", caller("a", "hi", key, &hi()), &hi());
        message.options.limits.model_retries = 0;
        let mut begun = scene.engine.begin(message).await.expect("begun");
        let (_, end) = to_the_end(&mut begun.watcher).await;
        assert!(matches!(end, TurnEnd::Failed(_)), "{end:?}");
        begun.connection.mark_written();
        scene.recorded("one", 1).await;
        let owed = scene.owed(&request("a", "hi", key, true)).await;
        let expected = (!again).then(|| "one".to_owned());
        assert_eq!(owed, expected, "{key:?}, {advice:?}");
    }
    // A call was answered already: whoever asks again must not have it made twice.
    let scene = scene([
        ScriptedReply::calls([("unknown", "{}")]),
        ScriptedReply::failure(overloaded(RetryAdvice::Backoff)),
    ]);
    let mut message = message("one", caller("a", "hi", None, &hi()), &hi());
    message.options.limits.model_retries = 0;
    let mut begun = scene.engine.begin(message).await.expect("begun");
    let (_, end) = to_the_end(&mut begun.watcher).await;
    assert!(matches!(end, TurnEnd::Failed(_)), "{end:?}");
    begun.connection.mark_written();
    scene.recorded("one", 1).await;
    let owed = scene.owed(&request("a", "hi", None, true)).await;
    assert_eq!(owed, Some("one".to_owned()));
}
