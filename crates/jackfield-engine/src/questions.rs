//! The questions of all sessions that somebody may answer: looked up in the journal, by whoever asks.

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

use crate::engine::Engine;
use crate::error::EngineError;

/// A question of a session, with what is known of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// How it ended, and when; an answer that nobody has acted upon yet is one.
    pub end: Option<(WallTime, WaitEnd)>,
    /// What the call would be sent.
    pub input: Option<ToolInput>,
    /// The session.
    pub session: SessionId,
    /// The tool, as it was defined when the turn began.
    pub tool: Option<CatalogEntry>,
    /// The turn.
    pub turn: Option<TurnId>,
    /// The question.
    pub wait: Wait,
}

impl Engine {
    /// The questions that a person can say yes or no to and that nobody has answered, the one asked last at
    /// the end.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Sessions that cannot be read are left out.
    pub async fn open_questions(
        &self,
        session: Option<&SessionId>,
    ) -> Result<Vec<OpenQuestion>, EngineError> {
        let query = WaitQuery {
            most: MOST_WAITS,
            session: session.cloned(),
        };
        let open = self.shared.journal.open_waits(&query).await?;
        let mut sessions: BTreeMap<SessionId, Vec<OpenQuestion>> = BTreeMap::new();
        for (session, row) in open {
            if !is_for_people(&row.wait.kind) {
                continue;
            }
            if !sessions.contains_key(&session) {
                let asked = self.questions_of(&session).await?;
                sessions.insert(session.clone(), asked);
            }
        }
        let mut asked: Vec<OpenQuestion> = sessions.into_values().flatten().collect();
        asked.retain(|asked| asked.end.is_none());
        asked.sort_by_key(|asked| asked.wait.deadline);
        Ok(asked)
    }

    /// The questions that a person can say yes or no to and whose id begins like this, whether they are
    /// answered or not: the open ones, and if there are none, those of the sessions that were changed last.
    ///
    /// # Errors
    ///
    /// [`EngineError::Journal`] if the journal cannot be read. Sessions that cannot be read are left out.
    pub async fn questions_like(&self, id: &str) -> Result<Vec<OpenQuestion>, EngineError> {
        let fits = |asked: &OpenQuestion| {
            let known = asked.wait.id.as_str();
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
            most: MOST_SESSIONS,
            ..SessionQuery::default()
        };
        for row in self.shared.journal.sessions(&query).await? {
            let asked = self.questions_of(&row.session).await?;
            found.extend(asked.into_iter().filter(fits));
        }
        Ok(found)
    }

    async fn questions_of(&self, session: &SessionId) -> Result<Vec<OpenQuestion>, EngineError> {
        match self.shared.journal.load(session).await {
            Ok(loaded) => Ok(questions(session, &loaded)),
            // Deleted meanwhile, or not for us to read: the others can be answered all the same.
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
    let mut asked: Vec<OpenQuestion> = Vec::new();
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
                Fact::WaitOpened { wait } if is_for_people(&wait.kind) => {
                    let call = calls.get(&wait.call);
                    let sent = edited.get(&wait.call).map(|input| &**input);
                    asked.push(OpenQuestion {
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
                    if let Some(known) = asked.iter_mut().find(|known| known.wait.id == *wait) {
                        known.end = Some((step.now.wall, end.clone()));
                    }
                }
                Fact::CallAccepted { .. }
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
            && let Some(known) = asked.iter_mut().find(|known| known.wait.id == *wait)
        {
            let end = WaitEnd::Answered {
                answer: answer.clone(),
                by: Arc::clone(&delivery.by),
                delivery: delivery.id.clone(),
            };
            match &mut known.end {
                None => known.end = Some((delivery.at, end)),
                // When it was said counts, not when it was heard.
                Some((at, known)) if *known == end => *at = delivery.at,
                Some(_) => {}
            }
        }
    }
    asked
}

/// Whether a yes or a no is an answer.
const fn is_for_people(kind: &WaitKind) -> bool {
    match kind {
        WaitKind::Approval { .. } | WaitKind::UnknownOutcome => true,
        WaitKind::ClientResult | WaitKind::Elicitation { .. } => false,
    }
}

/// How many sessions are searched for a question that is not open any more.
const MOST_SESSIONS: usize = 200;
/// How many open questions are looked at.
const MOST_WAITS: usize = 10_000;
