//! Clauses about answers to waits.

use std::sync::Arc;

use jackfield_domain::fact::Fact;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::{Answer, UnknownAnswer, WaitEnd, WaitEndKind, WaitKind};
use jackfield_ports::journal::{AppendRefusal, DeliveryOutcome};

use super::scene::{
    CLOSED, DEADLINE, JournalScene, answer_to, answered, approval, delivery_id, grant, granted,
    step, wait, wait_closed_step, with_timeout, wrong_answer,
};
use super::{JournalHarness, START};

pub(super) async fn an_answer_at_the_deadline_is_accepted<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    scene.harness.set_clock(DEADLINE);
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::Accepted
    );
}

pub(super) async fn an_answer_after_the_deadline_is_told_that_it_is_late<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    scene
        .harness
        .set_clock(WallTime::from_millis(DEADLINE.as_millis() + 1));
    let expired = DeliveryOutcome::Closed {
        at: DEADLINE,
        by: None,
        how: WaitEndKind::Expired,
    };
    assert_eq!(scene.deliver("d", "ann", grant()).await, expired);
    // So its owner can close it.
    scene
        .commit(1, vec![wait_closed_step(1, WaitEnd::Expired)])
        .await;
}

pub(super) async fn an_answer_before_the_deadline_wins_over_expiry<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::Accepted
    );
    scene
        .harness
        .set_clock(WallTime::from_millis(DEADLINE.as_millis() + 60_000));
    let expired = scene.append(1, vec![wait_closed_step(1, WaitEnd::Expired)]);
    scene.expect(&expired, Some(&AppendRefusal::Answered)).await;
    scene
        .commit(1, vec![wait_closed_step(1, answered("d", "ann"))])
        .await;
}

pub(super) async fn the_first_answer_wins<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    assert_eq!(
        scene.deliver("d", "Anna", grant()).await,
        DeliveryOutcome::Accepted
    );
    scene
        .harness
        .set_clock(WallTime::from_millis(START.as_millis() + 1_000));
    let taken = DeliveryOutcome::Closed {
        at: START,
        by: Some("Anna".into()),
        how: WaitEndKind::Answered,
    };
    assert_eq!(scene.deliver("e", "Boris", grant()).await, taken);
    scene
        .commit(1, vec![wait_closed_step(1, answered("d", "Anna"))])
        .await;
    assert_eq!(scene.deliver("f", "Boris", grant()).await, taken);
    assert_eq!(scene.load().await.deliveries.len(), 1);
}

pub(super) async fn of_answers_at_once_one_is_accepted<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    let answers = (0..8).map(|nth| {
        let journal = Arc::clone(&scene.journal);
        let session = scene.session.clone();
        let id = delivery_id(&format!("d{nth}"));
        tokio::spawn(async move { journal.deliver(&session, id, "ann".into(), grant()).await })
    });
    let answers: Vec<_> = answers.collect();
    let mut accepted = 0;
    for answer in answers {
        match with_timeout(answer).await {
            Ok(Ok(DeliveryOutcome::Accepted)) => accepted += 1,
            Ok(Ok(DeliveryOutcome::Closed {
                how: WaitEndKind::Answered,
                ..
            })) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(accepted, 1);
    assert_eq!(scene.load().await.deliveries.len(), 1);
}

pub(super) async fn a_closed_wait_says_how_it_ended<H: JournalHarness>() {
    let closed = |how, by: Option<&str>| DeliveryOutcome::Closed {
        at: CLOSED,
        by: by.map(Into::into),
        how,
    };
    let ends = [
        (WaitEnd::Cancelled, closed(WaitEndKind::Cancelled, None)),
        (WaitEnd::Expired, closed(WaitEndKind::Expired, None)),
        (WaitEnd::Superseded, closed(WaitEndKind::Superseded, None)),
        (
            answered("x", "Anna"),
            closed(WaitEndKind::Answered, Some("Anna")),
        ),
    ];
    for (end, told) in ends {
        let scene = JournalScene::<H>::with_wait(approval()).await;
        scene.commit(1, vec![wait_closed_step(1, end)]).await;
        // Long after the deadline the actual end still counts.
        scene
            .harness
            .set_clock(WallTime::from_millis(DEADLINE.as_millis() + 1));
        assert_eq!(scene.deliver("d", "Boris", grant()).await, told);
    }
}

pub(super) async fn a_closed_wait_is_not_opened_or_closed_again<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    scene
        .commit(1, vec![wait_closed_step(1, WaitEnd::Cancelled)])
        .await;
    let again = Fact::WaitOpened { wait: approval() };
    scene.commit(2, vec![step(2, vec![again])]).await;
    let mut expired = wait_closed_step(3, WaitEnd::Expired);
    expired.now.wall = DEADLINE;
    scene.commit(3, vec![expired]).await;
    let told = DeliveryOutcome::Closed {
        at: CLOSED,
        by: None,
        how: WaitEndKind::Cancelled,
    };
    assert_eq!(scene.deliver("d", "ann", grant()).await, told);
}

pub(super) async fn an_answer_to_no_wait_is_told_so<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    assert_eq!(
        scene.deliver("d", "ann", grant()).await,
        DeliveryOutcome::NoSuchWait
    );
    assert_eq!(scene.load().await.deliveries, []);
}

pub(super) async fn an_answer_of_another_kind_finds_no_wait<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    assert_eq!(
        scene.deliver("d", "ann", wrong_answer()).await,
        DeliveryOutcome::NoSuchWait
    );
    assert_eq!(
        scene.deliver("e", "ann", grant()).await,
        DeliveryOutcome::Accepted
    );

    let client = wait("client", WaitKind::ClientResult);
    let scene = JournalScene::<H>::with_wait(client.clone()).await;
    let landed = Answer::UnknownOutcome(UnknownAnswer::Landed(ToolResult::text("done")));
    for wrong in [granted(), landed] {
        let delivered = scene.deliver("d", "ann", answer_to(&client, wrong)).await;
        assert_eq!(delivered, DeliveryOutcome::NoSuchWait);
    }
    let right = Answer::ClientResult(ToolResult::text("done").into());
    let delivered = scene.deliver("d", "ann", answer_to(&client, right)).await;
    assert_eq!(delivered, DeliveryOutcome::Accepted);
}
