//! Clauses about releasing and deleting sessions.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_ports::journal::sessions::{SessionQuery, WaitQuery};
use jackfield_ports::journal::{Append, AppendRefusal, Epoch, JournalError};

use super::JournalHarness;
use super::scene::{DEADLINE, JournalScene, cancel, resumed_step, step, with_timeout};
use super::story::{all, approval_opened, turn_opened};

pub(super) async fn a_released_owner_can_append_no_more<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    assert!(scene.row().await.expect("a row").owned);
    scene.release().await;
    assert!(!scene.row().await.expect("a row").owned);
    let append = scene.append(1, vec![resumed_step(1)]);
    scene
        .expect(&append, Some(&AppendRefusal::StaleEpoch))
        .await;
    let epoch = scene.take_ownership().await;
    assert!(epoch > scene.epoch, "{epoch:?}");
    let append = Append { epoch, ..append };
    scene.expect(&append, None).await;
}

pub(super) async fn only_the_owner_can_release_a_session<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let epoch = scene.take_ownership().await;
    for other in [scene.epoch, Epoch(epoch.0 + 1)] {
        let released = scene.journal.release(&scene.session, other).await;
        released.expect("nothing");
        assert!(scene.row().await.expect("a row").owned);
    }
    let nowhere = super::scene::session("nowhere");
    let released = scene.journal.release(&nowhere, epoch).await;
    released.expect("nothing");
    let append = Append {
        epoch,
        ..scene.append(0, vec![resumed_step(0)])
    };
    scene.expect(&append, None).await;
}

pub(super) async fn what_is_deleted_is_gone<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let facts = vec![
        turn_opened(&scene.session, 1, "Remember me"),
        approval_opened("a", DEADLINE),
    ];
    scene.commit(0, vec![step(0, facts)]).await;
    scene.deliver("d", "ann", cancel()).await;
    scene.release().await;
    scene.journal.delete(&scene.session).await.expect("deleted");
    let id = || scene.session.clone();
    let unknown = |error: JournalError| matches!(error, JournalError::UnknownSession { session } if session == id());
    assert!(scene.journal.load(&id()).await.is_err_and(unknown));
    assert!(!scene.journal.exists(&id()).await.expect("an answer"));
    assert!(
        with_timeout(scene.journal.inbox(&id(), 0))
            .await
            .is_err_and(unknown)
    );
    assert!(scene.journal.delete(&id()).await.is_err_and(unknown));
    assert_eq!(scene.row().await, None);
    let query = SessionQuery {
        text: Some("remember".to_owned()),
        ..all()
    };
    assert_eq!(scene.list(query).await, []);
    let every = WaitQuery {
        limit: 9,
        ..WaitQuery::default()
    };
    assert_eq!(scene.waits(every).await, [""; 0]);
    assert_eq!(scene.due(DEADLINE).await, (vec![], None));
    // Nor does a later session with the same name have any of it.
    let epoch = scene.take_ownership().await;
    let scene = JournalScene { epoch, ..scene };
    scene.assert_steps(&[]).await;
    assert_eq!(scene.load().await.deliveries, []);
    scene.commit(0, vec![resumed_step(0)]).await;
    let delivered = scene.deliver("d", "ann", cancel()).await;
    assert_eq!(
        delivered,
        jackfield_ports::journal::DeliveryOutcome::Accepted
    );
}

pub(super) async fn what_is_owned_is_not_deleted<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    let refused = scene.journal.delete(&scene.session).await;
    let owned =
        matches!(&refused, Err(JournalError::Owned { session }) if *session == scene.session);
    assert!(owned, "{refused:?}");
    scene.commit(1, vec![resumed_step(1)]).await;
    scene
        .assert_steps(&[resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn no_epoch_comes_again_after_a_deletion<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let last = scene.take_ownership().await;
    let released = scene.journal.release(&scene.session, last).await;
    released.expect("released");
    scene.journal.delete(&scene.session).await.expect("deleted");
    let stale = Some(&AppendRefusal::StaleEpoch);
    let append = scene.append(0, vec![resumed_step(0)]);
    scene.expect(&append, stale).await;
    let epoch = scene.take_ownership().await;
    assert!(epoch > last, "{epoch:?}");
    for old in [scene.epoch, last] {
        let append = Append {
            epoch: old,
            ..append.clone()
        };
        scene.expect(&append, stale).await;
    }
}
