//! Clauses about loading.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use jackfield_domain::fact::Envelope;
use jackfield_domain::wait::DeliveryBody;
use jackfield_ports::journal::{DeliveryOutcome, JournalError};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

use super::JournalHarness;
use super::scene::{JournalScene, approval, cancel, grant, resumed_step, session};
use crate::arb;

pub(super) async fn what_was_committed_is_loaded_equal_and_in_order<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let mut all = Vec::new();
    for steps in appends() {
        scene.commit(all.len() as u64, steps.clone()).await;
        all.extend(steps);
        scene.assert_steps(&all).await;
    }
}

pub(super) async fn what_was_delivered_is_loaded_equal_and_in_order<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    let bodies: [(&str, &str, DeliveryBody); 3] = [
        ("z", "Ян", cancel()),
        ("a", "明", grant()),
        ("m", "", cancel()),
    ];
    for (id, by, body) in bodies.clone() {
        assert_eq!(scene.deliver(id, by, body).await, DeliveryOutcome::Accepted);
    }
    let loaded = scene.load().await.deliveries;
    let loaded = loaded
        .iter()
        .map(|one| (one.id.as_str(), &*one.by, one.body.clone()));
    assert!(loaded.eq(bodies), "{:?}", scene.load().await.deliveries);
}

pub(super) async fn a_session_without_steps_loads_empty<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let loaded = scene.load().await;
    assert!(
        loaded.steps.is_empty() && loaded.deliveries.is_empty(),
        "{loaded:?}"
    );
}

pub(super) async fn an_unknown_session_is_an_error<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let nowhere = session("nowhere");
    let exists = |session| scene.journal.exists(session);
    assert!(exists(&scene.session).await.expect("an answer"));
    assert!(!exists(&nowhere).await.expect("an answer"));
    let is_unknown = |error: &JournalError| matches!(error, JournalError::UnknownSession { session } if *session == nowhere);
    let loaded = scene.journal.load(&nowhere).await;
    assert!(loaded.as_ref().is_err_and(is_unknown), "{loaded:?}");
    let id = super::scene::delivery_id("d");
    let delivered = scene
        .journal
        .deliver(&nowhere, id, "ann".into(), cancel())
        .await;
    assert!(delivered.as_ref().is_err_and(is_unknown), "{delivered:?}");
    let loaded = scene.journal.load(&nowhere).await;
    assert!(loaded.as_ref().is_err_and(is_unknown), "{loaded:?}");
    for (session, is_there) in [(&nowhere, false), (&scene.session, true)] {
        let exists = scene.journal.exists(session).await;
        assert!(
            exists.as_ref().is_ok_and(|exists| *exists == is_there),
            "{exists:?}"
        );
    }
}

pub(super) async fn a_restart_loses_nothing<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    scene.deliver("d", "ann", grant()).await;
    let before = scene.load().await;
    let scene = JournalScene {
        epoch: scene.epoch,
        journal: scene.harness.reopened().await,
        session: scene.session,
        harness: scene.harness,
    };
    assert_eq!(scene.load().await, before);
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::AlreadyThere
    );
    let second = scene.deliver("e", "somebody else", grant()).await;
    assert!(
        matches!(second, DeliveryOutcome::Closed { .. }),
        "{second:?}"
    );
    let epoch = scene.take_ownership().await;
    assert!(epoch > scene.epoch, "{epoch:?}");
    let scene = JournalScene { epoch, ..scene };
    scene.commit(1, vec![resumed_step(1)]).await;
}

/// Appends of up to two steps each, with every kind of fact; deterministic.
fn appends() -> Vec<Vec<Envelope>> {
    let mut runner = TestRunner::deterministic();
    let mut position = 0;
    let mut appends = Vec::new();
    for (_, facts) in arb::fact_kinds() {
        let steps = (facts, arb::envelopes(position, 2)).prop_map(|(fact, mut steps)| {
            steps
                .iter_mut()
                .for_each(|step| step.facts.push(fact.clone()));
            steps
        });
        let steps = steps.new_tree(&mut runner).expect("steps").current();
        position += steps.len() as u64;
        appends.push(steps);
    }
    appends
}
