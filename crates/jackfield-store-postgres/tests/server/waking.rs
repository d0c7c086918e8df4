//! What one process commits wakes another: by a notification at once, and without one by the next look.

use std::time::{Duration, Instant};

use jackfield_ports::journal::{Appended, Journal as _};
use jackfield_store_postgres::{Options, POLL_INTERVAL, PostgresJournal};

use crate::harness::{Place, SERVER, address, append, cancel, delivery, session};

/// Options with which nothing is noticed but by a notification.
fn listening(place: &Place) -> Options {
    let mut options = place.options();
    // Other tests run on the same server, and their connections have other names.
    let url = SERVER.url("postgres", "postgres");
    let url = format!("{url}?application_name={}", listener(place));
    options.listen = Some(address(&url));
    options.poll = Duration::from_secs(3600);
    options
}

/// The name of the connections of this place that listen.
fn listener(place: &Place) -> String {
    format!("listener_{}", place.schema)
}

fn open(place: &Place, options: &Options) -> PostgresJournal {
    PostgresJournal::open(place.address.clone(), options.clone()).expect("a journal")
}

/// Appends steps in one process that another one waits for, and returns how long each took to be noticed, sorted.
async fn noticed(one: &PostgresJournal, other: &PostgresJournal) -> Vec<Duration> {
    let id = session("watched");
    let epoch = one.own(&id).await.expect("a lease").epoch;
    let mut took = Vec::new();
    for place in 0..STEPS {
        let following = async {
            let followed = tokio::time::timeout(LIMIT, other.follow(&id, place)).await;
            let steps = followed.expect("noticed").expect("steps");
            (steps.len(), Instant::now())
        };
        let appending = async {
            // At another place between two looks each time.
            tokio::time::sleep(Duration::from_millis(23 * place % 250)).await;
            let appended = one.append(&append(&id, epoch, place)).await;
            assert!(matches!(appended, Appended::Committed), "{appended:?}");
            Instant::now()
        };
        let ((steps, then), at) = tokio::join!(following, appending);
        assert_eq!(steps, 1);
        took.push(then.saturating_duration_since(at));
    }
    took.sort_unstable();
    took
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_of_another_process_is_noticed_by_its_notification() {
    let place = Place::new();
    let options = listening(&place);
    let (one, other) = (open(&place, &options), open(&place, &options));
    let took = noticed(&one, &other).await;
    println!(
        "by notification: median {:?}, longest {:?}",
        took[took.len() / 2],
        took[took.len() - 1]
    );
    one.close().await;
    other.close().await;
}

/// Transaction mode drops notifications: they come over a connection past the pooler.
#[tokio::test(flavor = "multi_thread")]
async fn notifications_come_past_a_pooler() {
    let place = Place::pooled();
    let options = listening(&place);
    let (one, other) = (open(&place, &options), open(&place, &options));
    noticed(&one, &other).await;
    one.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_notifications_a_step_is_noticed_by_the_next_look() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let took = noticed(&one, &other).await;
    let (median, longest) = (took[took.len() / 2], took[took.len() - 1]);
    println!("by looking: median {median:?}, longest {longest:?}");
    // A busy machine delays looks, some of them by far.
    assert!(median < 10 * POLL_INTERVAL, "{took:?}");
    one.close().await;
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_by_a_process_that_owns_nothing_wakes_the_owner() {
    let place = Place::new();
    let options = listening(&place);
    let (owner, other) = (open(&place, &options), open(&place, &options));
    let id = session("s");
    owner.own(&id).await.expect("a lease");
    let inbox = tokio::time::timeout(LIMIT, owner.inbox(&id, 0));
    let delivering = other.deliver(&id, delivery("d"), "a person".into(), cancel(&id));
    let (arrived, delivered) = tokio::join!(inbox, delivering);
    delivered.expect("delivered");
    assert_eq!(arrived.expect("noticed").expect("an inbox").len(), 1);
    owner.close().await;
    other.close().await;
}

/// What is committed while nothing listens is found by the look that follows each `LISTEN`.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_committed_while_the_listener_is_lost_is_found_by_the_next() {
    let place = Place::new();
    let options = listening(&place);
    let (one, other) = (open(&place, &options), open(&place, &options));
    noticed(&one, &other).await;
    let id = session("watched");
    let epoch = one.own(&id).await.expect("a lease").epoch;
    let following = tokio::time::timeout(LIMIT, other.follow(&id, STEPS));
    let losing = async {
        let end = format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{}'",
            listener(&place)
        );
        assert_ne!(place.sql(&end), "0");
        one.append(&append(&id, epoch, STEPS)).await
    };
    let (followed, appended) = tokio::join!(following, losing);
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    assert_eq!(followed.expect("noticed").expect("steps").len(), 1);
    one.close().await;
    other.close().await;
}

/// A notification has room for 7,000 bytes of ids; more sessions are announced together.
#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_at_once_are_noticed() {
    let place = Place::new();
    let options = listening(&place);
    let (one, other) = (open(&place, &options), open(&place, &options));
    let ids: Vec<_> = (0..150)
        .map(|nth| session(&format!("{}{nth}", "s".repeat(60))))
        .collect();
    for id in &ids {
        one.own(id).await.expect("a lease");
    }
    let cancels = async {
        let delivering = ids
            .iter()
            .map(|id| one.deliver(id, delivery("d"), "a person".into(), cancel(id)));
        futures_util::future::try_join_all(delivering)
            .await
            .expect("delivered");
    };
    let inboxes = ids.iter().map(|id| other.inbox(id, 0));
    let inboxes = tokio::time::timeout(LIMIT, futures_util::future::try_join_all(inboxes));
    let (arrived, ()) = tokio::join!(inboxes, cancels);
    assert_eq!(arrived.expect("noticed").expect("inboxes").len(), ids.len());
    one.close().await;
    other.close().await;
}

const STEPS: u64 = 12;
const LIMIT: Duration = Duration::from_secs(60);
