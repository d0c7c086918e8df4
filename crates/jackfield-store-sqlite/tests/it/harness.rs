//! A journal in a folder of its own, and what is written to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{DeliveryId, SessionId, TurnId};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::wait::{CancelCause, DeliveryBody};
use jackfield_ports::journal::{Append, Epoch};
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testkit::contract::journal::START;
use tempfile::TempDir;

/// A folder with a journal in it, and the journal's clock.
pub(crate) struct Place {
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            clock: Arc::new(AtomicI64::new(START.as_millis())),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("data").join("jackfield.db")
    }

    pub(crate) fn options(&self) -> Options {
        let told = Arc::clone(&self.clock);
        let mut options = Options::default();
        options.clock = Arc::new(move || WallTime::from_millis(told.load(Ordering::Relaxed)));
        options
    }

    /// The journal, as one more process has it.
    pub(crate) fn open(&self) -> SqliteJournal {
        SqliteJournal::open(self.file(), self.options()).expect("a journal")
    }
}

pub(crate) fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("a valid id")
}

pub(crate) fn delivery(id: &str) -> DeliveryId {
    DeliveryId::parse(id).expect("a valid id")
}

pub(crate) fn cancel(session: &SessionId) -> DeliveryBody {
    DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(session, 1),
    }
}

/// A step at this place that says nothing of waits.
pub(crate) fn step(number: u64) -> Envelope {
    Envelope {
        facts: vec![Fact::TurnResumed {
            nth: u32::try_from(number).unwrap_or(u32::MAX),
            restrictions: None,
        }],
        input: InputKind::Recovered,
        now: Now::default(),
        step: number,
        version: 1,
    }
}

pub(crate) fn append(session: &SessionId, epoch: Epoch, position: u64) -> Append {
    Append {
        epoch,
        position,
        seen: 0,
        session: session.clone(),
        steps: vec![step(position)],
    }
}

/// A spending record of this id, so many milliseconds after the start.
pub(crate) fn spending(id: &str, millis: i64) -> SpendingRecord {
    let at = WallTime::from_millis(START.as_millis() + millis);
    jackfield_testkit::spending::record(id, at)
}
