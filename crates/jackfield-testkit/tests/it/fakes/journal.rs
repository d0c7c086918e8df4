//! The faulty journal.

use std::sync::Arc;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::Now;
use jackfield_ports::journal::spending::SpendingQuery;
use jackfield_ports::journal::{Append, AppendRefusal, Appended, Epoch, Journal as _};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{AppendFault, FaultyJournal, Gate, JournalRequest};

use super::is_ready;

fn session() -> SessionId {
    SessionId::parse("s").unwrap_or_else(|invalid| panic!("{invalid}"))
}

async fn faulty() -> (FaultyJournal, Append) {
    let journal = FaultyJournal::new(Arc::new(MemoryJournal::new()));
    let owned = journal.own(&session()).await;
    let append = Append {
        epoch: owned.map_or(Epoch(0), |lease| lease.epoch),
        position: 0,
        seen: 0,
        session: session(),
        steps: vec![Envelope {
            facts: vec![Fact::TurnResumed {
                nth: 1,
                restrictions: None,
            }],
            input: InputKind::Woke,
            now: Now::default(),
            step: 0,
            version: 1,
        }],
    };
    (journal, append)
}

async fn steps(journal: &FaultyJournal) -> usize {
    let loaded = journal.load(&session()).await;
    loaded.map_or(usize::MAX, |loaded| loaded.steps.len())
}

#[tokio::test]
async fn an_answer_may_get_lost_after_the_commit_or_before_it() {
    for (fault, written) in [(AppendFault::CommitAndLose, 1), (AppendFault::Lose, 0)] {
        let (journal, append) = faulty().await;
        journal.push_fault(fault);
        let lost = journal.append(&append).await;
        assert!(matches!(lost, Appended::Unknown(_)), "{lost:?}");
        assert_eq!(steps(&journal).await, written);
        // The repetition tells.
        let again = journal.append(&append).await;
        assert!(matches!(again, Appended::Committed), "{again:?}");
        assert_eq!(steps(&journal).await, 1);
        assert_eq!(journal.appends(), [append.clone(), append]);
    }
}

#[tokio::test]
async fn an_append_may_be_refused_or_find_its_session_in_other_hands() {
    let (journal, append) = faulty().await;
    journal
        .push_fault(AppendFault::Refuse(AppendRefusal::Unwritable {
            why: "full".into(),
        }))
        .push_successes(1)
        .push_fault(AppendFault::ChangeHands);
    let refused = journal.append(&append).await;
    assert!(
        matches!(refused, Appended::Refused(AppendRefusal::Unwritable { .. })),
        "{refused:?}"
    );
    assert_eq!(steps(&journal).await, 0);
    let passed = journal.append(&append).await;
    assert!(matches!(passed, Appended::Committed), "{passed:?}");
    let stale = journal.append(&append).await;
    assert!(
        matches!(stale, Appended::Refused(AppendRefusal::StaleEpoch)),
        "{stale:?}"
    );
    // From then on.
    let stale = journal.append(&append).await;
    assert!(
        matches!(stale, Appended::Refused(AppendRefusal::StaleEpoch)),
        "{stale:?}"
    );
}

#[tokio::test]
async fn a_held_append_is_written_when_its_gate_opens_and_a_held_answer_before() {
    let gate = Gate::new();
    for (fault, written) in [
        (AppendFault::Hold(gate.clone()), 0),
        (AppendFault::HoldAnswer(gate.clone()), 1),
    ] {
        let (journal, append) = faulty().await;
        journal.push_fault(fault);
        assert!(!is_ready(journal.append(&append)));
        assert_eq!(steps(&journal).await, written);
    }
    gate.open();
    let (journal, append) = faulty().await;
    journal.push_fault(AppendFault::Hold(gate));
    assert!(matches!(journal.append(&append).await, Appended::Committed));
}

#[tokio::test]
async fn a_journal_that_cannot_be_reached_answers_nothing() {
    let (journal, append) = faulty().await;
    journal.set_unreachable(true);
    assert!(journal.own(&session()).await.is_err());
    assert!(journal.load(&session()).await.is_err());
    assert!(journal.inbox(&session(), 0).await.is_err());
    let log = journal.spending().unwrap_or_else(|| panic!("a log"));
    assert!(log.records(&SpendingQuery::default()).await.is_err());
    assert!(matches!(
        journal.append(&append).await,
        Appended::Unknown(_)
    ));
    journal.set_unreachable(false);
    assert_eq!(steps(&journal).await, 0);
}

#[tokio::test]
async fn requests_of_one_kind_may_fail_for_a_while() {
    let (journal, append) = faulty().await;
    journal.fail_next(JournalRequest::Release, 2);
    for left in [1, 0] {
        let failed = journal.release(&session(), append.epoch).await;
        assert!(failed.is_err(), "{failed:?}");
        assert_eq!(journal.remaining_failures(JournalRequest::Release), left);
        assert_eq!(steps(&journal).await, 0);
    }
    let released = journal.release(&session(), append.epoch).await;
    assert!(released.is_ok(), "{released:?}");
    let refused = journal.append(&append).await;
    assert!(matches!(refused, Appended::Refused(_)), "{refused:?}");
}
