//! The contract of a journal, and what holds for this one besides.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolAttempt, ToolCallId, TurnId};
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::wait::{CancelCause, DeliveryBody, JobHandle};
use jackfield_ports::journal::{Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Journal};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::contract::journal::{JournalHarness, START};
use serde_json::json;

jackfield_testkit::journal_contract!(Memory);

mod directory {
    jackfield_testkit::directory_contract!(super::Memory);
}

mod logins {
    jackfield_testkit::logins_contract!(super::Memory);
}

mod upstream_responses {
    jackfield_testkit::upstream_responses_contract!(super::Memory);
}

mod meters {
    jackfield_testkit::meters_contract!(super::Memory);
}

mod secrets {
    jackfield_testkit::secrets_contract!(super::Memory);
}

struct Memory {
    clock: Arc<AtomicI64>,
    journal: Arc<MemoryJournal>,
}

#[async_trait]
impl JournalHarness for Memory {
    async fn fresh() -> Self {
        let clock = Arc::new(AtomicI64::new(START.as_millis()));
        let told = Arc::clone(&clock);
        let now = move || WallTime::from_millis(told.load(Ordering::Relaxed));
        Self {
            clock,
            journal: Arc::new(MemoryJournal::with_clock(now)),
        }
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal) as _
    }

    fn set_clock(&self, now: WallTime) {
        self.clock.store(now.as_millis(), Ordering::Relaxed);
    }
}

#[tokio::test]
async fn without_a_clock_of_its_own_a_journal_takes_the_time_from_the_system() {
    let journal = MemoryJournal::new();
    let session = SessionId::parse("s").expect("a valid id");
    journal.own(&session).await.expect("a lease");
    let body = DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(&session, 1),
    };
    let id = DeliveryId::parse("d").expect("a valid id");
    let delivered = journal.deliver(&session, id, "test".into(), body).await;
    assert_eq!(delivered.expect("an answer"), DeliveryOutcome::Accepted);
    let deliveries = journal.inbox(&session, 0).await.expect("the inbox");
    // Some time after this was written.
    assert!(deliveries[0].at > WallTime::from_millis(1_750_000_000_000));
}

#[tokio::test]
async fn what_has_no_form_is_refused_and_nothing_is_written() {
    let journal = MemoryJournal::new();
    let session = SessionId::parse("s").expect("a valid id");
    let epoch = journal.own(&session).await.expect("a lease").epoch;
    // Deeper than anything that came over a wire, and than any record.
    let deep = (0..500).fold(json!(null), |inner, _| json!([inner]));
    let attempt = ToolAttempt {
        call: ToolCallId::parse("call").expect("a valid id"),
        attempt: 1,
    };
    let accepted = |number, handle| Envelope {
        facts: vec![Fact::CallAccepted {
            attempt: attempt.clone(),
            handle: JobHandle(Arc::new(handle)),
        }],
        input: InputKind::ToolAccepted,
        now: Now::default(),
        step: number,
        version: 1,
    };
    let append = Append {
        epoch,
        position: 0,
        seen: 0,
        session: session.clone(),
        steps: vec![accepted(0, json!(1)), accepted(1, deep)],
    };
    let refused = journal.append(&append).await;
    let unwritable = matches!(refused, Appended::Refused(AppendRefusal::Unwritable { .. }));
    assert!(unwritable, "{refused:?}");
    assert_eq!(journal.load(&session).await.expect("the session").steps, []);
}

/// What a contract of the stored form does not say: a journal in passing gives back the very values.
#[tokio::test]
async fn in_passing_a_step_is_kept_as_it_is_and_told_again_when_it_is_repeated() {
    let journal = MemoryJournal::new().ephemeral();
    let session = SessionId::parse("s").expect("a valid id");
    let epoch = journal.own(&session).await.expect("a lease").epoch;
    let deep = Arc::new((0..500).fold(json!(null), |inner, _| json!([inner])));
    let step = |number: u64, deep: &Arc<serde_json::Value>| Envelope {
        facts: vec![Fact::CallAccepted {
            attempt: ToolAttempt {
                call: ToolCallId::parse("call").expect("a valid id"),
                attempt: 1,
            },
            handle: JobHandle(Arc::clone(deep)),
        }],
        input: InputKind::ToolAccepted,
        now: Now::default(),
        step: number,
        version: 1,
    };
    let append = |position: u64, deep| Append {
        epoch,
        position,
        seen: 0,
        session: session.clone(),
        steps: vec![step(position, deep), step(position + 1, deep)],
    };
    let other = Arc::new(json!(1));
    let appended = journal.append(&append(0, &deep)).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
    let again = journal.append(&append(0, &deep)).await;
    assert!(matches!(again, Appended::Committed), "{again:?}");
    // What is not the same is no repetition.
    for refused in [append(0, &other), append(1, &deep)] {
        let refused = journal.append(&refused).await;
        let at_odds = matches!(refused, Appended::Refused(AppendRefusal::Position));
        assert!(at_odds, "{refused:?}");
    }
    let loaded = journal.load(&session).await.expect("the session");
    assert_eq!(loaded.steps, append(0, &deep).steps);
    assert_eq!(
        journal.follow(&session, 1).await.expect("steps"),
        loaded.steps[1..]
    );
    journal.release(&session, epoch).await.expect("let go");
    journal.delete(&session).await.expect("deleted");
    assert!(journal.load(&session).await.is_err());
}

#[tokio::test]
async fn an_append_to_a_session_that_nobody_owns_is_stale() {
    let journal = MemoryJournal::new();
    let session = SessionId::parse("s").expect("a valid id");
    let append = Append {
        epoch: Epoch(1),
        position: 0,
        seen: 0,
        session: session.clone(),
        steps: Vec::new(),
    };
    let refused = journal.append(&append).await;
    let stale = matches!(refused, Appended::Refused(AppendRefusal::StaleEpoch));
    assert!(stale, "{refused:?}");
    assert!(journal.load(&session).await.is_err());
}
