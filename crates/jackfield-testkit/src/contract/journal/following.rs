//! Clauses about following a session.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::sync::Arc;

use jackfield_ports::journal::JournalError;

use super::JournalHarness;
use super::inbox::poll_once;
use super::scene::{JournalScene, resumed_step, session, with_timeout};

pub(super) async fn a_watcher_gets_the_steps_from_the_requested_number<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let all: Vec<_> = (0..3).map(resumed_step).collect();
    scene.commit(0, all.clone()).await;
    for from in 0..3 {
        let steps = with_timeout(scene.journal.follow(&scene.session, from)).await;
        let expected = all.get(usize::try_from(from).expect("small")..);
        assert_eq!(Some(&*steps.expect("steps")), expected);
    }
}

pub(super) async fn a_watcher_waits_for_the_next_step<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    for number in 0..3 {
        let mut follow = scene.journal.follow(&scene.session, number);
        let early = poll_once(&mut follow).await;
        assert!(early.is_none(), "{early:?}");
        scene.commit(number, vec![resumed_step(number)]).await;
        let steps = with_timeout(follow).await.expect("steps");
        assert_eq!(steps, [resumed_step(number)]);
    }
}

pub(super) async fn every_watcher_gets_each_step<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let followers: Vec<_> = (0..4)
        .map(|_| {
            let journal = Arc::clone(&scene.journal);
            let session = scene.session.clone();
            tokio::spawn(async move { journal.follow(&session, 0).await })
        })
        .collect();
    tokio::task::yield_now().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    for follower in followers {
        let steps = with_timeout(follower)
            .await
            .expect("a follower")
            .expect("steps");
        assert_eq!(steps, [resumed_step(0)]);
    }
}

pub(super) async fn a_watcher_learns_that_the_session_is_deleted<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.release().await;
    let mut follow = scene.journal.follow(&scene.session, 0);
    let early = poll_once(&mut follow).await;
    assert!(early.is_none(), "{early:?}");
    scene.journal.delete(&scene.session).await.expect("deleted");
    let told = with_timeout(follow).await;
    let unknown = matches!(told, Err(JournalError::UnknownSession { .. }));
    assert!(unknown, "{told:?}");
    let nowhere = session("nowhere");
    let told = with_timeout(scene.journal.follow(&nowhere, 0)).await;
    assert!(told.is_err(), "{told:?}");
}
