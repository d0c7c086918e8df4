//! Clauses about ownership.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_domain::wait::WaitKind;
use jackfield_ports::journal::{Append, AppendRefusal};

use super::JournalHarness;
use super::scene::{JournalScene, cancel, resumed_step, session, step, wait};

pub(super) async fn each_owner_has_a_higher_epoch<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let second = scene.take_ownership().await;
    scene
        .journal
        .own(&session("another"))
        .await
        .expect("a lease");
    let third = scene.take_ownership().await;
    assert!(
        scene.epoch < second && second < third,
        "{:?} {second:?} {third:?}",
        scene.epoch
    );
}

pub(super) async fn an_older_owner_can_append_no_more<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    scene.commit(0, vec![resumed_step(0)]).await;
    let idle = scene.take_ownership().await;
    let epoch = scene.take_ownership().await;
    let stale = Some(&AppendRefusal::StaleEpoch);
    scene
        .expect(&scene.append(1, vec![resumed_step(1)]), stale)
        .await;
    let by_idle = Append {
        epoch: idle,
        ..scene.append(1, vec![resumed_step(1)])
    };
    scene.expect(&by_idle, stale).await;
    scene.assert_steps(&[resumed_step(0)]).await;
    let by_owner = Append {
        epoch,
        ..scene.append(1, vec![resumed_step(1)])
    };
    scene.expect(&by_owner, None).await;
    scene
        .assert_steps(&[resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn a_stale_owner_is_refused_even_what_it_wrote<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let append = scene.append(0, vec![resumed_step(0)]);
    scene.expect(&append, None).await;
    scene.take_ownership().await;
    scene
        .expect(&append, Some(&AppendRefusal::StaleEpoch))
        .await;
    scene.assert_steps(&[resumed_step(0)]).await;
}

pub(super) async fn sessions_are_apart<H: JournalHarness>() {
    let one = JournalScene::<H>::begin().await;
    let owned = one.journal.own(&session("another")).await;
    let other = JournalScene {
        epoch: owned.expect("a lease").epoch,
        harness: H::fresh().await,
        journal: one.harness.journal(),
        session: session("another"),
    };
    let asked = step(
        0,
        vec![jackfield_domain::fact::Fact::WaitOpened {
            wait: wait("approval", WaitKind::Approval { subject: None }),
        }],
    );
    one.commit(0, vec![asked.clone()]).await;
    other.commit(0, vec![resumed_step(0)]).await;
    other.deliver("d", "ann", cancel()).await;
    assert_eq!(one.load().await.deliveries, []);
    one.assert_steps(&[asked]).await;
    other.assert_steps(&[resumed_step(0)]).await;
    let elsewhere = other.deliver("e", "ann", super::scene::grant()).await;
    assert_eq!(
        elsewhere,
        jackfield_ports::journal::DeliveryOutcome::NoSuchWait
    );
    let here = one.deliver("d", "ann", super::scene::grant()).await;
    assert_eq!(here, jackfield_ports::journal::DeliveryOutcome::Accepted);
}
