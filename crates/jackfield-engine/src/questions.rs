//! The approvals of all sessions, queried from the journal.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use jackfield_domain::ids::{SessionId, TurnId, WaitId};
use jackfield_domain::setup::Setup;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::CatalogEntry;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::turn_log::SessionLog;
use jackfield_domain::wait::{Wait, WaitEnd, WaitKind};
use jackfield_ports::journal::sessions::{ListedWait, OpenWaitsMark, WaitQuery};
use jackfield_ports::journal::waits::WaitState;
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
    /// The owner of the session: the principal of the first caller that began a turn in it, if any.
    pub principal: Option<Arc<str>>,
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

/// A page of open questions.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QuestionPage {
    /// What the next page takes as [`WaitQuery::after`], if there may be one.
    pub next: Option<u64>,
    /// The waits, in the order in which they were opened.
    pub waits: Vec<ListedWait>,
}

impl Engine {
    /// The open waits of a query that a person can answer and that `sees` lets through. It reads no session:
    /// [`Engine::load_questions`] does.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn open_questions(
        &self,
        query: &WaitQuery,
        sees: impl Fn(&ListedWait) -> bool,
    ) -> Result<QuestionPage, EngineError> {
        let mut page = QuestionPage::default();
        let mut next = WaitQuery {
            limit: query.limit.saturating_add(1),
            ..query.clone()
        };
        for _ in 0..MAX_READS {
            let found = self.shared.journal.waits(&next).await?;
            let is_last = found.len() < next.limit;
            for listed in found {
                let number = listed.number;
                if is_for_person(&listed.row.wait.kind) && sees(&listed) {
                    if page.waits.len() == query.limit {
                        page.next = Some(next.after);
                        return Ok(page);
                    }
                    page.waits.push(listed);
                }
                next.after = number;
            }
            if is_last {
                return Ok(page);
            }
            next.limit = WAITS_PER_READ;
        }
        page.next = Some(next.after);
        Ok(page)
    }

    /// Tells without a list whether the open questions may be others than at an earlier call.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn open_waits_mark(&self) -> Result<OpenWaitsMark, EngineError> {
        Ok(self.shared.journal.open_waits_mark().await?)
    }

    /// The questions of these waits with their contexts, in the same order. Each session is read once; what was deleted
    /// meanwhile or is unreadable is left out.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn load_questions(
        &self,
        waits: &[ListedWait],
    ) -> Result<Vec<OpenQuestion>, EngineError> {
        let mut sessions: BTreeMap<&SessionId, Vec<OpenQuestion>> = BTreeMap::new();
        let mut found = Vec::new();
        for listed in waits {
            let asked = match sessions.entry(&listed.session) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(self.questions_of(listed).await?),
            };
            let is_asked = |asked: &&OpenQuestion| asked.wait.id == listed.row.wait.id;
            found.extend(asked.iter().find(is_asked).cloned());
        }
        Ok(found)
    }

    /// The question with this id that `sees` lets through, open or not.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read.
    pub async fn find_question(
        &self,
        id: &WaitId,
        sees: impl Fn(&ListedWait) -> bool,
    ) -> Result<Option<OpenQuestion>, EngineError> {
        // No id is so short, and many begin alike.
        if id.as_str().len() < WaitId::LENGTH {
            return Ok(None);
        }
        let waits = self.questions_by_id(id.as_str().into()).await?;
        let Some(listed) = waits.into_iter().find(sees) else {
            return Ok(None);
        };
        Ok(self.load_questions(&[listed]).await?.pop())
    }

    /// The questions whose id begins with `id`, or with `wait_` and it: the open ones or, if there are none, the closed
    /// ones; up to 100.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Unreadable sessions are skipped.
    pub async fn find_questions(&self, id: &str) -> Result<Vec<OpenQuestion>, EngineError> {
        for id in [id.to_owned(), format!("wait_{id}")] {
            let mut waits = self.questions_by_id(id.into()).await?;
            let is_open = |listed: &ListedWait| listed.row.state == WaitState::Open;
            if waits.iter().any(is_open) {
                waits.retain(is_open);
            }
            let found = self.load_questions(&waits).await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    async fn questions_by_id(&self, id: Arc<str>) -> Result<Vec<ListedWait>, EngineError> {
        let query = WaitQuery {
            id: Some(id),
            limit: MAX_FOUND,
            ..WaitQuery::default()
        };
        let mut waits = self.shared.journal.waits(&query).await?;
        waits.retain(|listed| is_for_person(&listed.row.wait.kind));
        Ok(waits)
    }

    async fn questions_of(&self, listed: &ListedWait) -> Result<Vec<OpenQuestion>, EngineError> {
        match self.shared.journal.load(&listed.session).await {
            Ok(loaded) => Ok(questions(listed, &loaded)),
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

fn questions(listed: &ListedWait, loaded: &Loaded) -> Vec<OpenQuestion> {
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
            principal: listed.principal.clone(),
            session: listed.session.clone(),
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

/// The maximum number of questions that are found by the beginning of an id.
const MAX_FOUND: usize = 100;
/// The maximum number of reads for a page.
const MAX_READS: usize = 20;
/// How many waits a read gets after the first one, if others than those that were asked for are among them.
const WAITS_PER_READ: usize = 1000;
