//! Clauses about deliveries.

use jackfield_domain::fact::Fact;
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{CancelCause, WaitEnd};
use jackfield_ports::journal::DeliveryOutcome;

use super::scene::{
    JournalScene, answered, approval, cancel, grant, resumed_step, step, wait_closed_step,
    wrong_answer,
};
use super::{JournalHarness, START};

pub(super) async fn a_delivery_needs_no_ownership<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    assert_eq!(
        scene.deliver("c", "ann", cancel()).await,
        DeliveryOutcome::Accepted
    );
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::Accepted
    );
    scene.commit(1, vec![resumed_step(1)]).await;
}

pub(super) async fn a_delivery_is_accepted_once<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::Accepted
    );
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::AlreadyThere
    );
    assert_eq!(
        scene.deliver("d", "somebody else", cancel()).await,
        DeliveryOutcome::AlreadyThere
    );
    scene
        .commit(1, vec![wait_closed_step(1, answered("d", "ann"))])
        .await;
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::AlreadyThere
    );
    let deliveries = scene.load().await.deliveries;
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
}

pub(super) async fn the_journal_sets_the_time_of_a_delivery<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.deliver("c", "ann", cancel()).await;
    let later = WallTime::from_millis(START.as_millis() + 1_234);
    scene.harness.set_clock(later);
    scene.deliver("d", "ann", cancel()).await;
    let deliveries = scene.load().await.deliveries;
    assert!(
        deliveries.iter().map(|one| one.at).eq([START, later]),
        "{deliveries:?}"
    );
}

pub(super) async fn a_cancel_is_always_accepted<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    assert_eq!(
        scene.deliver("a", "ann", cancel()).await,
        DeliveryOutcome::Accepted
    );
    let opened = step(0, vec![Fact::WaitOpened { wait: approval() }]);
    scene.commit(0, vec![opened]).await;
    assert_eq!(
        scene.deliver("b", "ann", cancel()).await,
        DeliveryOutcome::Accepted
    );
    let ends = [
        TurnEnd::Cancelled(CancelCause::Asked),
        TurnEnd::Answered(FinishReason::Stop),
    ];
    let ends = ends.map(|end| Fact::TurnEnded { end, view: None });
    scene.commit(1, vec![step(1, ends.to_vec())]).await;
    assert_eq!(
        scene.deliver("c", "ann", cancel()).await,
        DeliveryOutcome::Accepted
    );
}

pub(super) async fn what_is_not_accepted_is_not_kept<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    assert_eq!(
        scene.deliver("a", "ann", wrong_answer()).await,
        DeliveryOutcome::NoSuchWait
    );
    scene
        .commit(1, vec![wait_closed_step(1, WaitEnd::Cancelled)])
        .await;
    let closed = scene.deliver("b", "ann", grant()).await;
    assert!(
        matches!(closed, DeliveryOutcome::Closed { .. }),
        "{closed:?}"
    );
    assert_eq!(scene.load().await.deliveries, []);
    assert_eq!(
        scene.deliver("a", "ann", cancel()).await,
        DeliveryOutcome::Accepted
    );
    assert_eq!(
        scene.deliver("a", "ann", cancel()).await,
        DeliveryOutcome::AlreadyThere
    );
    let inbox = scene.inbox(0).await;
    assert_eq!(inbox.len(), 1, "{inbox:?}");
    assert_eq!(inbox, scene.load().await.deliveries);
}
