//! Clauses about holds.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_ports::journal::{Append, Hold, JournalError};

use super::JournalHarness;
use super::scene::{JournalScene, cancel, resumed_step, session};

pub(super) async fn what_is_held_is_not_deleted<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    scene.release().await;
    let another = session("another");
    let epoch = scene.journal.own(&another).await.expect("a lease").epoch;
    let released = scene.journal.release(&another, epoch).await;
    released.expect("released");
    // A hold may be there before its session.
    let later = session("later");
    let _before = scene.journal.hold(&later).await.expect("a hold");
    let epoch = scene.journal.own(&later).await.expect("a lease").epoch;
    let released = scene.journal.release(&later, epoch).await;
    released.expect("released");
    let refused = scene.journal.delete(&later).await;
    let held = matches!(refused, Err(JournalError::Held { .. }));
    assert!(held, "{refused:?}");
    let _hold = scene.hold().await;
    let row = scene.row().await.expect("a row");
    assert!(row.held && !row.owned, "{row:?}");
    let refused = scene.journal.delete(&scene.session).await;
    let held = matches!(&refused, Err(JournalError::Held { session }) if *session == scene.session);
    assert!(held, "{refused:?}");
    scene.assert_steps(&[resumed_step(0)]).await;
    scene.journal.delete(&another).await.expect("deleted");
}

pub(super) async fn a_hold_hinders_nothing_but_deletion<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let nowhere = session("nowhere");
    let of_nothing = scene.journal.hold(&nowhere).await.expect("a hold");
    assert!(!scene.journal.exists(&nowhere).await.expect("an answer"));
    drop(of_nothing);
    let _hold = scene.hold().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    scene.deliver("d", "ann", cancel()).await;
    scene.release().await;
    assert!(!scene.row().await.expect("a row").owned);
    let epoch = scene.take_ownership().await;
    let append = Append {
        epoch,
        ..scene.append(1, vec![resumed_step(1)])
    };
    scene.expect(&append, None).await;
    scene
        .assert_steps(&[resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn a_hold_ends_when_it_is_dropped<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.release().await;
    let (one, other) = (scene.hold().await, scene.hold().await);
    drop(one);
    assert!(scene.row().await.expect("a row").held);
    let refused = scene.journal.delete(&scene.session).await;
    assert!(
        matches!(refused, Err(JournalError::Held { .. })),
        "{refused:?}"
    );
    drop(other);
    assert!(!scene.row().await.expect("a row").held);
    scene.journal.delete(&scene.session).await.expect("deleted");
}

impl<H: JournalHarness> JournalScene<H> {
    async fn hold(&self) -> Hold {
        self.journal.hold(&self.session).await.expect("a hold")
    }
}
