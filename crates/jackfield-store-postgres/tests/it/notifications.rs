//! Notifications of changes to other processes.
#![expect(clippy::expect_used, reason = "the ids of the test are valid")]

use jackfield_domain::ids::SessionId;
use jackfield_store_postgres::for_tests::Changes;

fn session(nth: usize) -> SessionId {
    SessionId::parse(&format!("session_{nth:012}")).expect("a valid id")
}

#[test]
fn changes_that_cannot_be_sent_stay_within_a_notification() {
    let mut changes = Changes::default();
    assert_eq!(changes.payload(), "");
    assert!(changes.add(&session(2)) && changes.add(&session(1)));
    assert!(!changes.add(&session(2)), "it is known");
    let both = format!("{} {}", session(1), session(2));
    assert_eq!(changes.payload(), both);
    for nth in 0..100_000 {
        changes.add(&session(nth));
        assert!(changes.payload().len() <= 7000);
        if changes == Changes::All {
            break;
        }
    }
    assert_eq!(changes, Changes::All);
    assert_eq!(changes.payload(), "*");
    assert!(!changes.add(&session(0)), "all are known");
}
