//! The approvals of all sessions, queried from the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::ids::{SessionId, TurnId, WaitId};
use jackfield_domain::setup::Setup;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::CatalogEntry;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::{Wait, WaitEnd, WaitKind};
use jackfield_ports::journal::sessions::{SessionQuery, WaitQuery};
use jackfield_ports::journal::{Journal as _, JournalError, Loaded};

use crate::error::EngineError;
use crate::state::Engine;

/// A question of a session to a person, with its context: an approval, whether a call of unknown outcome runs again, or
/// a tool's own question.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// How and when it ended; an answer that is not yet consumed counts.
    pub end: Option<(WallTime, WaitEnd)>,
    /// The arguments of the call.
    pub input: Option<ToolInput>,
    /// The session.
    pub session: SessionId,
    /// What the turn began with.
    pub setup: Arc<Setup>,
    /// The tool, as defined when the turn began.
    pub tool: Option<CatalogEntry>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The wait.
    pub wait: Wait,
}

impl Engine {
    /// The open questions that a person can answer, the newest last.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Unreadable sessions are skipped.
    pub async fn open_questions(
        &self,
        session: Option<&SessionId>,
    ) -> Result<Vec<OpenQuestion>, EngineError> {
        let query = WaitQuery {
            limit: MAX_WAITS,
            session: session.cloned(),
        };
        let open = self.shared.journal.open_waits(&query).await?;
        let mut sessions: BTreeMap<SessionId, Vec<OpenQuestion>> = BTreeMap::new();
        for (session, row) in open {
            if !is_for_person(&row.wait.kind) {
                continue;
            }
            if !sessions.contains_key(&session) {
                let questions = self.load_questions(&session).await?;
                sessions.insert(session.clone(), questions);
            }
        }
        let mut questions: Vec<OpenQuestion> = sessions.into_values().flatten().collect();
        questions.retain(|asked| asked.end.is_none());
        questions.sort_by_key(|asked| asked.wait.deadline);
        Ok(questions)
    }

    /// The ids of the open questions that a person can answer, the newest last. It reads no session, so it tells cheaply
    /// whether there are others than before.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn open_question_ids(&self) -> Result<Vec<WaitId>, EngineError> {
        let query = WaitQuery {
            limit: MAX_WAITS,
            session: None,
        };
        let open = self.shared.journal.open_waits(&query).await?;
        let asked = open.into_iter().map(|(_, row)| row.wait);
        let asked = asked.filter(|wait| is_for_person(&wait.kind));
        Ok(asked.map(|wait| wait.id).collect())
    }

    /// The questions whose id begins with `id`: the open ones or, if there are none, the closed ones
    /// of the sessions that changed last.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Unreadable sessions are skipped.
    pub async fn find_questions(&self, id: &str) -> Result<Vec<OpenQuestion>, EngineError> {
        let fits = |question: &OpenQuestion| {
            let known = question.wait.id.as_str();
            known.starts_with(id)
                || known
                    .strip_prefix("wait_")
                    .is_some_and(|known| known.starts_with(id))
        };
        let mut found = self.open_questions(None).await?;
        found.retain(fits);
        if !found.is_empty() {
            return Ok(found);
        }
        let query = SessionQuery {
            limit: MAX_SESSIONS,
            ..SessionQuery::default()
        };
        for row in self.shared.journal.sessions(&query).await? {
            let questions = self.load_questions(&row.session).await?;
            found.extend(questions.into_iter().filter(fits));
        }
        Ok(found)
    }

    async fn load_questions(&self, session: &SessionId) -> Result<Vec<OpenQuestion>, EngineError> {
        match self.shared.journal.load(session).await {
            Ok(loaded) => Ok(questions(session, &loaded)),
            // Deleted meanwhile, or unreadable: the other questions can still be answered.
            Err(
                JournalError::Corrupt { .. }
                | JournalError::Newer { .. }
                | JournalError::UnknownSession { .. },
            ) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }
}

fn questions(session: &SessionId, loaded: &Loaded) -> Vec<OpenQuestion> {
    let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
    let waits = log
        .turns
        .iter()
        .flat_map(|turn| turn.waits.iter().map(move |asked| (turn, asked)));
    let questions = waits.filter(|(_, asked)| is_for_person(&asked.wait.kind));
    let questions = questions.map(|(turn, asked)| {
        let call = turn.call(&asked.wait.call).map(|known| &known.call);
        let input = asked.edited.as_deref();
        OpenQuestion {
            end: asked.decided().cloned(),
            input: input.or_else(|| call.map(|call| &call.input)).cloned(),
            session: session.clone(),
            setup: Arc::clone(&turn.setup),
            tool: call.and_then(|call| turn.tool(call)).cloned(),
            turn: Some(turn.turn.clone()),
            wait: asked.wait.clone(),
        }
    });
    questions.collect()
}

/// Whether a person can answer it.
const fn is_for_person(kind: &WaitKind) -> bool {
    match kind {
        WaitKind::Approval { .. }
        | WaitKind::Budget { .. }
        | WaitKind::Elicitation { .. }
        | WaitKind::UnknownOutcome => true,
        WaitKind::ClientResult => false,
    }
}

/// The maximum number of sessions that are searched for a closed question.
const MAX_SESSIONS: usize = 200;
/// The maximum number of open waits that are queried.
const MAX_WAITS: usize = 10_000;
