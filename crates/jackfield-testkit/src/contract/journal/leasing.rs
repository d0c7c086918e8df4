//! Clauses about leases, and about the end of a process.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::sync::Arc;
use std::time::Duration;

use jackfield_ports::journal::{Append, AppendRefusal, Appended, Journal, JournalError, Lease};
use jackfield_ports::lease::LeaseDeadline;

use super::JournalHarness;
use super::scene::{JournalScene, cancel, resumed_step, step, with_timeout};
use super::story::turn_opened;

pub(super) async fn a_session_has_one_owner_until_its_lease_has_passed<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let (scene, lease) = scene.with_lease().await;
    let Some(another) = scene.another_process(&lease).await else {
        return;
    };
    let owning = another.own(&scene.session);
    match tokio::time::timeout(WATCH_TIME, owning).await {
        Err(_) | Ok(Err(JournalError::Owned { .. })) => {}
        Ok(other) => panic!("{other:?}, while the owner relies on {lease:?}"),
    }
    scene.commit(0, vec![resumed_step(0)]).await;
    assert!(!lease.has_passed(), "{lease:?}");
    if lease.is_never() {
        return;
    }
    scene.harness.pass_leases().await;
    assert!(lease.has_passed(), "{lease:?}");
    let owned = scene.own_by(&another).await;
    assert!(owned.epoch > scene.epoch, "{owned:?}");
    assert!(!owned.deadline.has_passed(), "{owned:?}");
}

pub(super) async fn an_owner_whose_lease_has_passed_can_append_no_more<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let (scene, lease) = scene.with_lease().await;
    let Some(another) = scene.another_process(&lease).await else {
        return;
    };
    if lease.is_never() {
        return;
    }
    let written = scene.append(0, vec![resumed_step(0)]);
    scene.expect(&written, None).await;
    scene.harness.pass_leases().await;
    let owned = scene.own_by(&another).await;
    let stale = Some(&AppendRefusal::StaleEpoch);
    scene.expect(&written, stale).await;
    let late = scene.append(1, vec![resumed_step(1)]);
    scene.expect(&late, stale).await;
    // What the former owner releases is not the session of its successor.
    let released = scene.journal.release(&scene.session, scene.epoch).await;
    released.expect("released");
    scene.assert_steps(&[resumed_step(0)]).await;
    let by_owner = Append {
        epoch: owned.epoch,
        ..late
    };
    let appended = another.append(&by_owner).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    scene
        .assert_steps(&[resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn an_owner_whose_lease_has_passed_begins_nothing<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let (scene, lease) = scene.with_lease().await;
    if lease.is_never() {
        return;
    }
    // The journal answers by the row as it knows it from the first append, and by another look.
    let opened = |position| step(position, vec![turn_opened(&scene.session, 1, "Hi")]);
    scene.commit(0, vec![resumed_step(0)]).await;
    let sent = scene.append(1, vec![opened(1)]);
    scene.harness.pass_leases().await;
    let stale = Some(&AppendRefusal::StaleEpoch);
    for _ in 0..2 {
        scene.expect(&sent, stale).await;
    }
    scene.assert_steps(&[resumed_step(0)]).await;
    let row = scene.row().await.expect("a row");
    assert_eq!((row.turns, row.open), (0, None));
    let epoch = scene.take_ownership().await;
    scene.expect(&sent, stale).await;
    scene.expect(&Append { epoch, ..sent }, None).await;
}

pub(super) async fn what_is_closed_owns_nothing_and_loses_nothing<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    scene.deliver("d", "ann", cancel()).await;
    let before = scene.load().await;
    with_timeout(scene.journal.close()).await;
    with_timeout(scene.journal.close()).await;
    let late = scene.append(1, vec![resumed_step(1)]);
    let appended = scene.journal.append(&late).await;
    assert!(!matches!(appended, Appended::Committed), "{appended:?}");
    let next = JournalScene {
        epoch: scene.epoch,
        journal: scene.harness.reopened().await,
        session: scene.session.clone(),
        harness: scene.harness,
    };
    assert!(!next.row().await.expect("a row").owned);
    assert_eq!(next.load().await, before);
    let epoch = next.take_ownership().await;
    assert!(epoch > next.epoch, "{epoch:?}");
    next.expect(&Append { epoch, ..late }, None).await;
}

impl<H: JournalHarness> JournalScene<H> {
    /// Owns the session anew, and remembers the lease.
    async fn with_lease(self) -> (Self, LeaseDeadline) {
        let owned = self.journal.own(&self.session).await;
        let Lease { epoch, deadline } = owned.expect("a lease");
        (Self { epoch, ..self }, deadline)
    }

    /// The journal as another process has it, which a journal whose leases end needs for its proof.
    async fn another_process(&self, lease: &LeaseDeadline) -> Option<Arc<dyn Journal>> {
        let another = self.harness.another_process().await;
        assert!(
            another.is_some() || lease.is_never(),
            "leases end here, so the harness has to implement `another_process` and `pass_leases`"
        );
        another
    }

    async fn own_by(&self, another: &Arc<dyn Journal>) -> Lease {
        let owned = with_timeout(another.own(&self.session)).await;
        owned.expect("a lease")
    }
}

/// How long a request for an owned session is watched.
const WATCH_TIME: Duration = Duration::from_millis(200);
