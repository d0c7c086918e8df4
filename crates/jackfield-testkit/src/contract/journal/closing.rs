//! Clauses about closing waits that have an answer.

use jackfield_domain::fact::Fact;
use jackfield_domain::wait::{WaitEnd, WaitKind};
use jackfield_ports::journal::{Append, AppendRefusal, DeliveryOutcome};

use super::JournalHarness;
use super::scene::{
    JournalScene, answer_to, answered, approval, cancel, grant, granted, step, wait,
    wait_closed_step,
};

pub(super) async fn a_wait_with_an_unseen_answer_is_not_closed_otherwise<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    // A delivery that was seen before does not replace the one that was not.
    scene.deliver("c", "ann", cancel()).await;
    scene.deliver("d", "ann", grant()).await;
    let ends = [
        WaitEnd::Cancelled,
        WaitEnd::Expired,
        WaitEnd::Superseded,
        answered("another", "ann"),
    ];
    for end in ends {
        let append = Append {
            seen: 1,
            ..scene.append(1, vec![wait_closed_step(1, end)])
        };
        scene.expect(&append, Some(&AppendRefusal::Answered)).await;
    }
    assert_eq!(scene.load().await.steps.len(), 1);
}

pub(super) async fn a_wait_is_closed_by_its_answer<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    scene.deliver("d", "ann", grant()).await;
    scene
        .commit(1, vec![wait_closed_step(1, answered("d", "ann"))])
        .await;
}

pub(super) async fn a_wait_with_a_seen_answer_may_be_closed_otherwise<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    scene.deliver("d", "ann", grant()).await;
    let append = Append {
        seen: 1,
        ..scene.append(1, vec![wait_closed_step(1, WaitEnd::Cancelled)])
    };
    scene.expect(&append, None).await;
}

pub(super) async fn other_unseen_deliveries_hinder_nothing<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    let other = wait("other", WaitKind::Approval { subject: None });
    let opened = step(
        1,
        vec![Fact::WaitOpened {
            wait: other.clone(),
        }],
    );
    scene.commit(1, vec![opened]).await;
    scene.deliver("c", "ann", cancel()).await;
    let delivered = scene
        .deliver("d", "ann", answer_to(&other, granted()))
        .await;
    assert_eq!(delivered, DeliveryOutcome::Accepted);
    scene
        .commit(2, vec![wait_closed_step(2, WaitEnd::Expired)])
        .await;
    let late = scene.deliver("e", "ann", grant()).await;
    assert!(matches!(late, DeliveryOutcome::Closed { .. }), "{late:?}");
    scene.commit(3, vec![step(3, Vec::new())]).await;
}
