//! Writing: together where that is possible, whole in any case.

use std::sync::Arc;

use jackfield_ports::journal::{Appended, Journal as _};

use crate::harness::{Place, append, session};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_side_by_side_lose_nothing() {
    let place = Place::new();
    let journal = Arc::new(place.open());
    let mut turns = tokio::task::JoinSet::new();
    for nth in 0..32 {
        let journal = Arc::clone(&journal);
        turns.spawn(async move {
            let s = session(&format!("s{nth}"));
            let epoch = journal.own(&s).await.expect("an epoch");
            for position in 0..20 {
                assert!(matches!(
                    journal.append(&append(&s, epoch, position)).await,
                    Appended::Committed
                ));
            }
            s
        });
    }
    let sessions = turns.join_all().await;
    // As the next process finds it.
    journal.close().await;
    let journal = place.open();
    for s in sessions {
        assert_eq!(journal.load(&s).await.expect("the session").steps.len(), 20);
    }
}
