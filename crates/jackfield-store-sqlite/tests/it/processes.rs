//! Several that have the file open: whose a session is, and who hears of what.

use jackfield_ports::journal::{
    AppendRefusal, Appended, DeliveryOutcome, Journal as _, JournalError,
};

use crate::harness::{Place, append, cancel, delivery, session};

#[tokio::test]
async fn what_a_live_process_owns_nobody_takes() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let s = session("s");
    let epoch = one.own(&s).await.expect("a lease").epoch;
    let refused = other.own(&s).await.expect_err("an error");
    assert!(
        matches!(&refused, JournalError::Owned { session } if *session == s),
        "{refused:?}"
    );
    // Nor was it disturbed.
    assert!(matches!(
        one.append(&append(&s, epoch, 0)).await,
        Appended::Committed
    ));
    // It may take it up again itself.
    assert!(one.own(&s).await.expect("a lease").epoch > epoch);
}

#[tokio::test]
async fn what_the_dead_owned_is_taken_at_once() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let s = session("s");
    let epoch = one.own(&s).await.expect("a lease").epoch;
    one.close().await;
    assert!(other.own(&s).await.expect("a lease").epoch > epoch);
}

#[tokio::test]
async fn what_was_let_go_others_may_own() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let s = session("s");
    let epoch = one.own(&s).await.expect("a lease").epoch;
    one.release(&s, epoch).await.expect("released");
    let theirs = other.own(&s).await.expect("a lease").epoch;
    assert!(theirs > epoch);
    // Letting go of what is no longer one's own changes nothing.
    one.release(&s, epoch).await.expect("nothing");
    one.release(&s, theirs).await.expect("nothing");
    assert!(matches!(one.own(&s).await, Err(JournalError::Owned { .. })));
    assert!(matches!(
        one.append(&append(&s, epoch, 0)).await,
        Appended::Refused(AppendRefusal::StaleEpoch)
    ));
    assert!(matches!(
        other.append(&append(&s, theirs, 0)).await,
        Appended::Committed
    ));
}

#[tokio::test]
async fn a_delivery_of_another_process_is_heard() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let s = session("s");
    one.own(&s).await.expect("a lease");
    let waits = one.inbox(&s, 0);
    tokio::pin!(waits);
    // It waits before anything is there.
    let first = std::future::poll_fn(|context| {
        std::task::Poll::Ready(waits.as_mut().poll(context).is_pending())
    });
    assert!(first.await);
    let delivered = other
        .deliver(&s, delivery("d"), "somebody".into(), cancel(&s))
        .await
        .expect("an answer");
    assert_eq!(delivered, DeliveryOutcome::Accepted);
    let heard = waits.await.expect("the inbox");
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].id, delivery("d"));
}

#[tokio::test]
async fn many_open_a_new_file_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| place.open())).collect();
        for one in opening {
            drop(one.join().expect("a journal"));
        }
    });
    place.open().close().await;
}

#[tokio::test]
async fn what_was_closed_fails_in_words() {
    let place = Place::new();
    let journal = place.open();
    let s = session("s");
    let epoch = journal.own(&s).await.expect("a lease").epoch;
    journal.close().await;
    let error = journal.load(&s).await.expect_err("an error");
    let source = std::error::Error::source(&error)
        .expect("a source")
        .to_string();
    assert!(source.contains("closed"), "{source}");
    assert!(matches!(
        journal.append(&append(&s, epoch, 0)).await,
        Appended::Unknown(_)
    ));
    assert!(journal.own(&s).await.is_err());
    assert!(journal.inbox(&s, 0).await.is_err());
}
