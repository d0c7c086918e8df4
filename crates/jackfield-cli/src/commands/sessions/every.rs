//! Every session that is kept, one at a time: what adds up over all of them holds one in memory.

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

/// Goes over all sessions, the one that was changed last first.
///
/// What others change in the meantime moves to the front: at the end it is looked there once more, so
/// that no session is missed; none comes twice.
pub(crate) struct AllSessions<'e> {
    began: Instant,
    engine: &'e Engine,
    /// Whether it is looked at the front once more.
    is_again: bool,
    is_whole: bool,
    last: Option<SessionRow>,
    /// When the first one was changed last.
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
            is_again: false,
            is_whole: false,
            last: None,
            newest: None,
            rows: VecDeque::new(),
            seen: BTreeSet::new(),
            spinner: Spinner::new(io::stderr().is_terminal() && !render::is_dumb()),
        }
    }

    /// The next one.
    ///
    /// # Errors
    ///
    /// A [`CommandError`] if the journal cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Option<SessionRow>, CommandError> {
        loop {
            while let Some(row) = self.rows.pop_front() {
                if self.is_again && self.newest.is_none_or(|newest| row.changed < newest) {
                    return Ok(None);
                }
                if self.seen.insert(row.session.clone()) {
                    self.newest.get_or_insert(row.changed);
                    return Ok(Some(row));
                }
            }
            if self.is_whole {
                if self.is_again {
                    return Ok(None);
                }
                (self.is_again, self.is_whole, self.last) = (true, false, None);
            }
            let rows = self
                .engine
                .sessions(&page(self.last.as_ref(), None))
                .await?;
            self.is_whole = rows.len() < PAGE;
            self.last = rows.last().cloned();
            self.rows = rows.into();
        }
    }

    /// Passes over all that were changed before the one that came last.
    pub(crate) fn skip_older(&mut self) {
        self.rows.clear();
        self.is_whole = true;
    }

    /// Everything that is kept of it; nothing, with a word to people, where that cannot be read, and
    /// nothing where it was deleted a moment ago.
    ///
    /// # Errors
    ///
    /// A [`CommandError`] if the journal cannot be read at all.
    pub(crate) async fn load(&mut self, row: &SessionRow) -> Result<Option<Loaded>, CommandError> {
        if self.began.elapsed() >= PATIENCE {
            let read = words::counted(self.seen.len() as u64, "session");
            self.spinner.say(format!("{read} read"));
        }
        let session = &row.session;
        let newer = format!("session {session} was written by a newer version");
        if row.unreadable.is_some() {
            self.leave_out(&newer);
            return Ok(None);
        }
        match self.engine.load(session).await {
            Ok(loaded) => Ok(Some(loaded)),
            Err(EngineError::Journal(JournalError::UnknownSession { .. })) => Ok(None),
            Err(EngineError::Journal(JournalError::Newer { .. })) => {
                self.leave_out(&newer);
                Ok(None)
            }
            Err(EngineError::Journal(JournalError::Corrupt { .. })) => {
                self.leave_out(&format!(
                    "session {session} cannot be read (`jackfield doctor` says more)"
                ));
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn leave_out(&mut self, why: &str) {
        self.spinner.clear();
        render::remark(&format!("warning: {why}, and is left out"));
    }
}

/// How long nothing is said of what is read, and then how much was.
const PATIENCE: Duration = Duration::from_secs(1);
