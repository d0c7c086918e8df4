//! The setting of the clauses: a session, its owner, and steps to append.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, TurnId, WaitId};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, Delivery, DeliveryBody, UnknownAnswer, Wait, WaitEnd, WaitKind,
};
use jackfield_ports::journal::{
    Append, AppendRefusal, Appended, DeliveryOutcome, Epoch, Journal, Loaded,
};

use super::{JournalHarness, START};

/// A session of a fresh journal, with its owner.
pub(super) struct JournalScene<H> {
    pub(super) epoch: Epoch,
    pub(super) harness: H,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) session: SessionId,
}

impl<H: JournalHarness> JournalScene<H> {
    pub(super) async fn begin() -> Self {
        let harness = H::fresh().await;
        let journal = harness.journal();
        let session = session("contract");
        let epoch = journal.own(&session).await.expect("a lease").epoch;
        Self {
            epoch,
            harness,
            journal,
            session,
        }
    }

    /// A scene in which this wait is open, as the journal's first step.
    pub(super) async fn with_wait(wait: Wait) -> Self {
        let scene = Self::begin().await;
        scene
            .commit(0, vec![step(0, vec![Fact::WaitOpened { wait }])])
            .await;
        scene
    }

    /// Takes the session over, under a new epoch.
    pub(super) async fn take_ownership(&self) -> Epoch {
        let owned = self.journal.own(&self.session).await;
        owned.expect("a lease").epoch
    }

    pub(super) fn append(&self, position: u64, steps: Vec<Envelope>) -> Append {
        Append {
            epoch: self.epoch,
            position,
            seen: 0,
            session: self.session.clone(),
            steps,
        }
    }

    /// Appends, which must succeed.
    pub(super) async fn commit(&self, position: u64, steps: Vec<Envelope>) {
        self.expect(&self.append(position, steps), None).await;
    }

    /// Appends, and expects this refusal or a commit.
    pub(super) async fn expect(&self, append: &Append, refusal: Option<&AppendRefusal>) {
        let appended = self.journal.append(append).await;
        match (&appended, refusal) {
            (Appended::Committed, None) => {}
            (Appended::Refused(why), Some(refusal)) if why == refusal => {}
            (Appended::Committed | Appended::Refused(_) | Appended::Unknown(_), _) => {
                panic!("{appended:?}, not {refusal:?}, was answered to {append:?}");
            }
        }
    }

    pub(super) async fn deliver(&self, id: &str, by: &str, body: DeliveryBody) -> DeliveryOutcome {
        let delivered = self
            .journal
            .deliver(&self.session, delivery_id(id), by.into(), body);
        delivered.await.expect("an answer")
    }

    pub(super) async fn load(&self) -> Loaded {
        self.journal.load(&self.session).await.expect("the session")
    }

    /// The deliveries from this place on, at least one of which must exist.
    pub(super) async fn inbox(&self, from: u64) -> Vec<Delivery> {
        with_timeout(self.journal.inbox(&self.session, from))
            .await
            .expect("the inbox")
    }

    /// Checks that the journal holds exactly these steps.
    pub(super) async fn assert_steps(&self, steps: &[Envelope]) {
        assert_eq!(self.load().await.steps, steps);
    }
}

/// Awaits an answer with a time limit, so that a journal that never answers fails here instead of hanging.
pub(super) async fn with_timeout<T>(answer: impl Future<Output = T>) -> T {
    let answered = tokio::time::timeout(Duration::from_secs(20), answer).await;
    answered.expect("an answer within 20 seconds")
}

pub(super) fn session(name: &str) -> SessionId {
    SessionId::parse(name).expect("a valid id")
}

pub(super) fn delivery_id(name: &str) -> DeliveryId {
    DeliveryId::parse(name).expect("a valid id")
}

/// A step with this number.
pub(super) fn step(number: u64, facts: Vec<Fact>) -> Envelope {
    Envelope {
        facts,
        input: InputKind::Woke,
        now: Now {
            wall: START,
            mono: MonoTime::from_start(Duration::from_nanos(number.wrapping_mul(1_000_000_007))),
        },
        step: number,
        version: 1,
    }
}

/// A step without other contents than this number.
pub(super) fn resumed_step(number: u64) -> Envelope {
    step(
        number,
        vec![Fact::TurnResumed {
            nth: 1,
            restrictions: None,
        }],
    )
}

/// A wait of this kind, open for a minute.
pub(super) fn wait(name: &str, kind: WaitKind) -> Wait {
    Wait {
        call: ToolCallId::parse("call").expect("a valid id"),
        deadline: DEADLINE,
        id: WaitId::parse(name).expect("a valid id"),
        kind,
    }
}

/// The deadline of the waits.
pub(super) const DEADLINE: WallTime = WallTime::from_millis(START.as_millis() + 60_000);

/// An approval, open for a minute.
pub(super) fn approval() -> Wait {
    wait("approval", WaitKind::Approval { subject: None })
}

/// A granted approval.
pub(super) fn granted() -> Answer {
    Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    })
}

/// The delivery that grants the approval.
pub(super) fn grant() -> DeliveryBody {
    answer_to(&approval(), granted())
}

pub(super) fn answer_to(wait: &Wait, answer: Answer) -> DeliveryBody {
    DeliveryBody::Answer {
        answer,
        wait: wait.id.clone(),
    }
}

/// An answer of a kind that an approval does not take.
pub(super) fn wrong_answer() -> DeliveryBody {
    answer_to(&approval(), Answer::UnknownOutcome(UnknownAnswer::Report))
}

pub(super) fn cancel() -> DeliveryBody {
    DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::parse("turn").expect("a valid id"),
    }
}

/// A step that closes the approval, half a minute after it was opened.
pub(super) fn wait_closed_step(number: u64, end: WaitEnd) -> Envelope {
    let wait = approval().id;
    let mut step = step(
        number,
        vec![Fact::WaitClosed {
            end,
            subject: None,
            wait,
        }],
    );
    step.now.wall = CLOSED;
    step
}

/// The time at which the approval is closed.
pub(super) const CLOSED: WallTime = WallTime::from_millis(START.as_millis() + 30_000);

/// The end of a wait by the delivery of this name.
pub(super) fn answered(delivery: &str, by: &str) -> WaitEnd {
    WaitEnd::Answered {
        answer: granted(),
        by: by.into(),
        delivery: delivery_id(delivery),
    }
}
