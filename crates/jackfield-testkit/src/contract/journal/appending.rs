//! Clauses about appending.

use std::sync::Arc;

use jackfield_domain::wait::WaitEnd;
use jackfield_ports::journal::{Append, AppendRefusal, Appended};

use super::JournalHarness;
use super::scene::{
    JournalScene, approval, grant, resumed_step, step, wait_closed_step, with_timeout,
};

pub(super) async fn an_append_begins_where_the_journal_ends<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let refused = Some(&AppendRefusal::Position);
    scene
        .expect(&scene.append(1, vec![resumed_step(1)]), refused)
        .await;
    scene
        .commit(0, vec![resumed_step(0), resumed_step(1)])
        .await;
    scene
        .expect(&scene.append(3, vec![resumed_step(3)]), refused)
        .await;
    // It extends beyond the end: only its first step was written before.
    scene
        .expect(
            &scene.append(1, vec![resumed_step(1), resumed_step(2)]),
            refused,
        )
        .await;
    scene
        .expect(
            &scene.append(u64::MAX, vec![resumed_step(u64::MAX)]),
            refused,
        )
        .await;
    // An empty append is never a repetition.
    scene.expect(&scene.append(1, Vec::new()), refused).await;
    scene
        .assert_steps(&[resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn a_step_has_the_number_of_its_place<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let refused = Some(&AppendRefusal::Position);
    scene
        .expect(&scene.append(0, vec![resumed_step(1)]), refused)
        .await;
    scene
        .expect(
            &scene.append(0, vec![resumed_step(0), resumed_step(2)]),
            refused,
        )
        .await;
    scene.assert_steps(&[]).await;
    scene
        .commit(0, vec![resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn an_append_is_all_or_nothing<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    let before = scene.load().await.steps;
    scene.deliver("d", "ann", grant()).await;
    let expired = wait_closed_step(2, WaitEnd::Expired);
    let append = scene.append(1, vec![resumed_step(1), expired, resumed_step(3)]);
    scene.expect(&append, Some(&AppendRefusal::Answered)).await;
    scene.assert_steps(&before).await;
    // The same place is still free.
    scene.commit(1, vec![resumed_step(1)]).await;
}

pub(super) async fn a_repeated_append_is_committed_once<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let append = scene.append(0, vec![resumed_step(0), resumed_step(1)]);
    for _ in 0..3 {
        scene.expect(&append, None).await;
    }
    scene.assert_steps(&append.steps).await;
    // Also if it opened and closed waits.
    let opened = step(
        2,
        vec![jackfield_domain::fact::Fact::WaitOpened { wait: approval() }],
    );
    let append = scene.append(2, vec![opened, wait_closed_step(3, WaitEnd::Cancelled)]);
    scene.expect(&append, None).await;
    scene.expect(&append, None).await;
    assert_eq!(scene.load().await.steps.len(), 4);
}

pub(super) async fn a_repetition_is_recognised_after_later_appends<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let append = scene.append(0, vec![resumed_step(0)]);
    scene.expect(&append, None).await;
    scene.commit(1, vec![resumed_step(1)]).await;
    scene.expect(&append, None).await;
    scene
        .assert_steps(&[resumed_step(0), resumed_step(1)])
        .await;
}

pub(super) async fn another_step_at_a_written_place_is_refused<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let first = vec![resumed_step(0), resumed_step(1)];
    scene.commit(0, first.clone()).await;
    let refused = Some(&AppendRefusal::Position);
    let other = vec![resumed_step(0), step(1, Vec::new())];
    scene.expect(&scene.append(0, other), refused).await;
    scene
        .expect(&scene.append(0, vec![step(0, Vec::new())]), refused)
        .await;
    // The same steps by another owner are a new decision, not a repetition.
    let epoch = scene.take_ownership().await;
    let again = Append {
        epoch,
        ..scene.append(0, first.clone())
    };
    scene.expect(&again, refused).await;
    scene.assert_steps(&first).await;
}

pub(super) async fn of_appends_at_once_one_is_committed<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let appends = (1..=8).map(|nth| {
        let facts = vec![jackfield_domain::fact::Fact::TurnResumed {
            nth,
            restrictions: None,
        }];
        let append = scene.append(0, vec![step(0, facts)]);
        let journal = Arc::clone(&scene.journal);
        tokio::spawn(async move { journal.append(&append).await })
    });
    let appends: Vec<_> = appends.collect();
    let mut committed = 0;
    for append in appends {
        match with_timeout(append).await {
            Ok(Appended::Committed) => committed += 1,
            Ok(Appended::Refused(AppendRefusal::Position)) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(committed, 1);
    assert_eq!(scene.load().await.steps.len(), 1);
}
