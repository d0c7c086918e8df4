//! Clauses about due sessions.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_domain::time::WallTime;
use jackfield_ports::journal::{Append, JournalError};

use super::scene::{DEADLINE, JournalScene, cancel, step};
use super::story::{
    approval_opened, call_closed, call_started, model_call_retried_at, model_call_started,
    turn_ended, turn_opened, turn_resumed,
};
use super::{JournalHarness, START};

pub(super) async fn an_open_turn_without_owner_is_due_at_once<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_calls(&["a"], vec![call_started("a")]).await;
    let idle = scene.other_session("idle").await;
    scene
        .commit_to(
            &idle,
            0,
            vec![step(
                0,
                vec![turn_opened(&idle.session, 1, "Hi"), turn_ended()],
            )],
        )
        .await;
    let released = scene.journal.release(&idle.session, idle.epoch).await;
    released.expect("released");
    assert_eq!(scene.due(START).await, (vec![], None));
    scene.release().await;
    assert_eq!(scene.due(START).await, (vec!["contract".to_owned()], None));
    // At any time.
    let (due, _) = scene.due(WallTime::from_millis(0)).await;
    assert_eq!(due, ["contract"]);
}

pub(super) async fn what_is_owned_is_not_due<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_calls(&["a"], vec![call_started("a")]).await;
    scene.release().await;
    let epoch = scene.take_ownership().await;
    scene.deliver("d", "ann", cancel()).await;
    assert_eq!(scene.due(DEADLINE).await, (vec![], None));
    let scene = JournalScene { epoch, ..scene };
    scene.release().await;
    assert_eq!(scene.due(DEADLINE).await.0, ["contract"]);
}

pub(super) async fn what_only_waits_is_due_at_its_earliest_deadline<H: JournalHarness>() {
    let sooner = earlier_by(DEADLINE, 7);
    let asked = vec![approval_opened("a", DEADLINE), approval_opened("b", sooner)];
    let scene = JournalScene::<H>::with_calls(&["a", "b"], asked).await;
    scene.release().await;
    assert_eq!(scene.due(START).await, (vec![], Some(sooner)));
    let moment = earlier_by(sooner, 1);
    assert_eq!(scene.due(moment).await, (vec![], Some(sooner)));
    assert_eq!(scene.due(sooner).await, (vec!["contract".to_owned()], None));
}

pub(super) async fn what_waits_to_ask_its_model_again_is_due_then<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let opened = vec![turn_opened(&scene.session, 1, "Hi"), model_call_started()];
    let failed = vec![model_call_retried_at(DEADLINE)];
    scene
        .commit(0, vec![step(0, opened), step(1, failed)])
        .await;
    scene.release().await;
    assert_eq!(scene.due(START).await, (vec![], Some(DEADLINE)));
    assert_eq!(scene.due(DEADLINE).await.0, ["contract"]);
}

pub(super) async fn an_unseen_delivery_is_due_at_once<H: JournalHarness>() {
    let asked = vec![approval_opened("a", DEADLINE)];
    let scene = JournalScene::<H>::with_calls(&["a"], asked).await;
    scene.release().await;
    assert_eq!(scene.due(START).await.0, [""; 0]);
    scene.deliver("d", "ann", cancel()).await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
    // An owner that has seen the delivery has handled it.
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    let append = Append {
        seen: 1,
        ..scene.append(2, vec![step(2, vec![turn_resumed(1)])])
    };
    scene.expect(&append, None).await;
    scene.release().await;
    assert_eq!(scene.due(START).await, (vec![], Some(DEADLINE)));
    // A session without an open turn is never due.
    let idle = scene.other_session("idle").await;
    let released = scene.journal.release(&idle.session, idle.epoch).await;
    released.expect("released");
    let id = super::scene::delivery_id("e");
    let delivered = scene
        .journal
        .deliver(&idle.session, id, "ann".into(), cancel());
    delivered.await.expect("an answer");
    assert_eq!(scene.due(START).await.0, [""; 0]);
    // A delivery that came while the session was owned, and was not seen, is due regardless of later appends.
    let scene = JournalScene::<H>::begin().await;
    let opened = vec![turn_opened(&scene.session, 1, "Hi"), model_call_started()];
    scene.commit(0, vec![step(0, opened)]).await;
    scene.deliver("d", "ann", cancel()).await;
    let failed = vec![model_call_retried_at(DEADLINE)];
    scene.commit(1, vec![step(1, failed)]).await;
    scene.release().await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
}

pub(super) async fn what_was_taken_up_in_vain_three_times_is_parked<H: JournalHarness>() {
    let scene =
        JournalScene::<H>::with_calls(&["a", "b"], vec![call_started("a"), call_started("b")])
            .await;
    for nth in 1..=2 {
        let number = u64::from(nth) + 1;
        scene
            .commit(number, vec![step(number, vec![turn_resumed(nth)])])
            .await;
    }
    scene.release().await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
    // Progress resets the count of recoveries.
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    scene.commit(4, vec![step(4, vec![call_closed("a")])]).await;
    for (number, nth) in (5..).zip(3..=5) {
        let row = scene.row().await.expect("a row");
        assert!(!row.open.expect("an open turn").parked);
        scene
            .commit(number, vec![step(number, vec![turn_resumed(nth)])])
            .await;
    }
    scene.release().await;
    let row = scene.row().await.expect("a row");
    assert!(row.open.expect("an open turn").parked);
    assert_eq!(scene.due(DEADLINE).await, (vec![], None));
    scene.deliver("d", "ann", cancel()).await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
}

pub(super) async fn what_was_restored_is_parked<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_calls(&["a"], vec![call_started("a")]).await;
    scene.release().await;
    assert!(!scene.load().await.restored);
    let unknown = super::scene::session("nobody");
    let marked = scene.journal.mark_restored(&unknown).await;
    assert!(
        matches!(marked, Err(JournalError::UnknownSession { .. })),
        "{marked:?}"
    );
    let marked = scene.journal.mark_restored(&scene.session).await;
    marked.expect("marked");
    let is_parked = async |scene: &JournalScene<H>| {
        let row = scene.row().await.expect("a row");
        row.open.expect("an open turn").parked
    };
    assert!(scene.load().await.restored);
    assert!(is_parked(&scene).await);
    assert_eq!(scene.due(DEADLINE).await, (vec![], None));
    // Taking ownership or delivering is not an append, and so does not end the mark.
    scene.deliver("d", "ann", cancel()).await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    assert!(scene.load().await.restored);
    let next = scene.load().await.steps.len() as u64;
    let mut append = scene.append(next, vec![step(next, vec![turn_resumed(1)])]);
    append.seen = 1;
    scene.expect(&append, None).await;
    assert!(!scene.load().await.restored);
    assert!(!is_parked(&scene).await);
    scene.release().await;
    assert_eq!(scene.due(START).await.0, ["contract"]);
}

pub(super) async fn no_more_are_due_than_were_asked_for<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    for name in ["a", "b", "c"] {
        let beside = scene.other_session(name).await;
        let opened = step(0, vec![turn_opened(&beside.session, 1, "Hi")]);
        scene.commit_to(&beside, 0, vec![opened]).await;
        let released = scene.journal.release(&beside.session, beside.epoch).await;
        released.expect("released");
    }
    let due = scene.journal.due(START, 2).await.expect("a list");
    assert_eq!((due.sessions.len(), due.next), (2, Some(START)));
    let due = scene.journal.due(START, 3).await.expect("a list");
    assert_eq!((due.sessions.len(), due.next), (3, None));
}

/// This many milliseconds earlier.
fn earlier_by(instant: WallTime, millis: i64) -> WallTime {
    WallTime::from_millis(instant.as_millis() - millis)
}
