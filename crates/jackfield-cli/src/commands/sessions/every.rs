//! Iterates over all stored sessions, with only one of them in memory.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_engine::{Engine, EngineError, JournalError, Loaded, SessionRow};

use super::{PAGE, page};
use crate::fault::CommandError;
use crate::render::spinner::Spinner;
use crate::render::{self, words};

/// Iterates over all sessions, the last changed first.
///
/// Sessions that change meanwhile move to the front, so the front is read again at the end. No session is missed,
/// and none is returned twice.
pub(crate) struct AllSessions<'e> {
    began: Instant,
    engine: &'e Engine,
    /// Whether the front is being read again.
    is_second_pass: bool,
    is_exhausted: bool,
    last: Option<SessionRow>,
    /// The last change of the first session.
    newest: Option<WallTime>,
    rows: VecDeque<SessionRow>,
    seen: BTreeSet<SessionId>,
    spinner: Spinner,
}

impl<'e> AllSessions<'e> {
    /// Begins with the newest.
    pub(crate) fn new(engine: &'e Engine) -> Self {
        Self {
            began: Instant::now(),
            engine,
            is_second_pass: false,
            is_exhausted: false,
            last: None,
            newest: None,
            rows: VecDeque::new(),
            seen: BTreeSet::new(),
            spinner: Spinner::new(io::stderr().is_terminal() && !render::is_dumb()),
        }
    }

    /// The next row.
    ///
    /// # Errors
    ///
    /// [`CommandError`] if the journal cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Option<SessionRow>, CommandError> {
        loop {
            while let Some(row) = self.rows.pop_front() {
                if self.is_second_pass && self.newest.is_none_or(|newest| row.changed < newest) {
                    return Ok(None);
                }
                if self.seen.insert(row.session.clone()) {
                    self.newest.get_or_insert(row.changed);
                    return Ok(Some(row));
                }
            }
            if self.is_exhausted {
                if self.is_second_pass {
                    return Ok(None);
                }
                (self.is_second_pass, self.is_exhausted, self.last) = (true, false, None);
            }
            let rows = self
                .engine
                .sessions(&page(self.last.as_ref(), None))
                .await?;
            self.is_exhausted = rows.len() < PAGE;
            self.last = rows.last().cloned();
            self.rows = rows.into();
        }
    }

    /// Skips all sessions that changed before the last returned one.
    pub(crate) fn skip_older(&mut self) {
        self.rows.clear();
        self.is_exhausted = true;
    }

    /// Loads a session; `None` if it was just deleted, or with a warning if it cannot be read.
    ///
    /// # Errors
    ///
    /// [`CommandError`] if the journal cannot be read at all.
    pub(crate) async fn load(&mut self, row: &SessionRow) -> Result<Option<Loaded>, CommandError> {
        if self.began.elapsed() >= TIME_LIMIT {
            let read = words::counted(self.seen.len() as u64, "session");
            self.spinner.set_text(format!("{read} read"));
        }
        let session = &row.session;
        let newer = format!("session {session} was written by a newer version");
        if row.unreadable.is_some() {
            self.warn_skipped(&newer);
            return Ok(None);
        }
        match self.engine.load(session).await {
            Ok(loaded) => Ok(Some(loaded)),
            Err(EngineError::Journal(JournalError::UnknownSession { .. })) => Ok(None),
            Err(EngineError::Journal(JournalError::Newer { .. })) => {
                self.warn_skipped(&newer);
                Ok(None)
            }
            Err(EngineError::Journal(JournalError::Corrupt { .. })) => {
                self.warn_skipped(&format!(
                    "session {session} cannot be read (`jackfield doctor` says more)"
                ));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn warn_skipped(&mut self, why: &str) {
        self.spinner.clear();
        render::remark(&format!("warning: {why}, and is left out"));
    }
}

/// The interval of progress notices.
const TIME_LIMIT: Duration = Duration::from_secs(1);
