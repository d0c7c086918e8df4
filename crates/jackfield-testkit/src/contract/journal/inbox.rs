//! Clauses about the inbox.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::sync::Arc;
use std::task::Poll;

use jackfield_domain::wait::Delivery;
use jackfield_ports::journal::DeliveryOutcome;

use super::JournalHarness;
use super::scene::{JournalScene, approval, cancel, grant, with_timeout};

pub(super) async fn an_accepted_delivery_is_in_load_and_inbox<H: JournalHarness>() {
    let scene = JournalScene::<H>::with_wait(approval()).await;
    for (count, (id, body)) in (1..).zip([("c", cancel()), ("d", grant()), ("e", cancel())]) {
        assert_eq!(
            scene.deliver(id, "ann", body).await,
            DeliveryOutcome::Accepted
        );
        let inbox = scene.inbox(0).await;
        assert_eq!(inbox.len(), count, "{inbox:?}");
        assert_eq!(inbox, scene.load().await.deliveries);
    }
}

pub(super) async fn the_inbox_begins_at_the_place_asked_for<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    for id in ["c", "b", "a"] {
        scene.deliver(id, "ann", cancel()).await;
    }
    let ids = |deliveries: Vec<Delivery>| -> Vec<String> {
        deliveries.iter().map(|one| one.id.to_string()).collect()
    };
    assert_eq!(ids(scene.inbox(0).await), ["c", "b", "a"]);
    assert_eq!(ids(scene.inbox(1).await), ["b", "a"]);
    assert_eq!(ids(scene.inbox(2).await), ["a"]);
    // Reading does not consume deliveries.
    assert_eq!(ids(scene.inbox(0).await), ["c", "b", "a"]);
}

pub(super) async fn the_inbox_waits_until_there_is_something<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    for (from, id) in (0..).zip(["c", "d", "e"]) {
        let mut inbox = scene.journal.inbox(&scene.session, from);
        let early = poll_once(&mut inbox).await;
        assert!(early.is_none(), "{early:?}");
        scene.deliver(id, "ann", cancel()).await;
        let deliveries = with_timeout(inbox).await.expect("the inbox");
        assert!(
            deliveries.iter().map(|one| one.id.as_str()).eq([id]),
            "{deliveries:?}"
        );
    }
}

pub(super) async fn every_reader_of_the_inbox_gets_each_delivery<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let journal = Arc::clone(&scene.journal);
            let session = scene.session.clone();
            tokio::spawn(async move { journal.inbox(&session, 0).await })
        })
        .collect();
    tokio::task::yield_now().await;
    scene.deliver("c", "ann", cancel()).await;
    for reader in readers {
        let deliveries = with_timeout(reader)
            .await
            .expect("a reader")
            .expect("the inbox");
        assert_eq!(deliveries.len(), 1, "{deliveries:?}");
    }
}

pub(super) async fn a_dropped_reader_of_the_inbox_takes_nothing_along<H: JournalHarness>() {
    let scene = JournalScene::<H>::begin().await;
    let mut dropped = scene.journal.inbox(&scene.session, 0);
    let early = poll_once(&mut dropped).await;
    assert!(early.is_none(), "{early:?}");
    scene.deliver("c", "ann", cancel()).await;
    drop(dropped);
    let inbox = scene.inbox(0).await;
    assert_eq!(inbox.len(), 1, "{inbox:?}");
}

/// Polls once.
pub(super) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        })
    })
    .await
}
