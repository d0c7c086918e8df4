//! The approvals of all sessions, queried from the journal.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::block::ToolCall;
use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{SessionId, ToolCallId, TurnId};
use jackfield_domain::setup::Setup;
use jackfield_domain::time::WallTime;
use jackfield_domain::tool::CatalogEntry;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{DeliveryBody, Wait, WaitEnd, WaitKind};
use jackfield_ports::journal::sessions::{SessionQuery, WaitQuery};
use jackfield_ports::journal::{JournalError, Loaded};

use crate::error::EngineError;
use crate::state::Engine;

/// An approval or another yes-or-no question of a session, with its context.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// How and when it ended; an answer that is not yet consumed counts.
    pub end: Option<(WallTime, WaitEnd)>,
    /// The arguments of the call.
    pub input: Option<ToolInput>,
    /// The session.
    pub session: SessionId,
    /// The tool, as defined when the turn began.
    pub tool: Option<CatalogEntry>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The wait.
    pub wait: Wait,
}

impl Engine {
    /// The open questions that a person can answer with yes or no, the newest last.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Unreadable sessions are skipped.
    pub async fn open_questions(
        &self,
        session: Option<&SessionId>,
    ) -> Result<Vec<OpenQuestion>, EngineError> {
        let query = WaitQuery {
            limit: MOST_WAITS,
            session: session.cloned(),
        };
        let open = self.shared.journal.open_waits(&query).await?;
        let mut sessions: BTreeMap<SessionId, Vec<OpenQuestion>> = BTreeMap::new();
        for (session, row) in open {
            if !is_yes_or_no(&row.wait.kind) {
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

    /// The yes-or-no questions whose id begins with `id`: the open ones or, if there are none, the closed ones
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
            limit: MOST_SESSIONS,
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
    let mut questions: Vec<OpenQuestion> = Vec::new();
    let mut calls: BTreeMap<ToolCallId, Arc<ToolCall>> = BTreeMap::new();
    let mut edited: BTreeMap<ToolCallId, Arc<ToolInput>> = BTreeMap::new();
    let mut opened: Option<(&TurnId, &Setup)> = None;
    for step in &loaded.steps {
        for fact in &step.facts {
            match fact {
                Fact::TurnOpened { setup, turn, .. } => opened = Some((turn, setup)),
                Fact::ReplyReceived { reply, .. } => {
                    let new = reply.message.calls();
                    calls.extend(new.map(|call| (call.id.clone(), Arc::clone(call))));
                }
                Fact::CallStarted {
                    attempt,
                    edited: Some(input),
                    ..
                } => {
                    edited.insert(attempt.call.clone(), Arc::clone(input));
                }
                Fact::WaitOpened { wait } if is_yes_or_no(&wait.kind) => {
                    let call = calls.get(&wait.call);
                    let sent = edited.get(&wait.call).map(|input| &**input);
                    questions.push(OpenQuestion {
                        end: None,
                        input: sent.or_else(|| call.map(|call| &call.input)).cloned(),
                        session: session.clone(),
                        tool: opened.zip(call).and_then(|((_, setup), call)| {
                            setup.catalog.tool(call.name.as_str()).cloned()
                        }),
                        turn: opened.map(|(turn, _)| turn.clone()),
                        wait: wait.clone(),
                    });
                }
                Fact::WaitClosed { end, wait, .. } => {
                    if let Some(known) = questions.iter_mut().find(|known| known.wait.id == *wait) {
                        known.end = Some((step.now.wall, end.clone()));
                    }
                }
                Fact::BackendSession { .. }
                | Fact::Compacted(_)
                | Fact::CallAccepted { .. }
                | Fact::CallClosed { .. }
                | Fact::CallLost { .. }
                | Fact::CallStarted { .. }
                | Fact::Late(_)
                | Fact::ModelCallEnded { .. }
                | Fact::ModelCallStarted { .. }
                | Fact::SessionForked { .. }
                | Fact::TurnEnded { .. }
                | Fact::TurnResumed { .. }
                | Fact::WaitOpened { .. } => {}
            }
        }
    }
    for delivery in &loaded.deliveries {
        if let DeliveryBody::Answer { answer, wait } = &delivery.body
            && let Some(known) = questions.iter_mut().find(|known| known.wait.id == *wait)
        {
            let end = WaitEnd::Answered {
                answer: answer.clone(),
                by: Arc::clone(&delivery.by),
                delivery: delivery.id.clone(),
            };
            match &mut known.end {
                None => known.end = Some((delivery.at, end)),
                // The time of the answer counts, not the time at which it was consumed.
                Some((at, known)) if *known == end => *at = delivery.at,
                Some(_) => {}
            }
        }
    }
    questions
}

/// Whether the answer is yes or no.
const fn is_yes_or_no(kind: &WaitKind) -> bool {
    match kind {
        WaitKind::Approval { .. } | WaitKind::UnknownOutcome => true,
        WaitKind::ClientResult | WaitKind::Elicitation { .. } => false,
    }
}

/// The maximum number of sessions that are searched for a closed question.
const MOST_SESSIONS: usize = 200;
/// The maximum number of open waits that are queried.
const MOST_WAITS: usize = 10_000;
