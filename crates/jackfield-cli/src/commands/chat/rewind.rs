//! Goes back behind the last turn, to leave it out or to run it again. The session before is kept.

use std::sync::Arc;

use jackfield_domain::ids::ForkPlace;
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::{SessionLog, TurnLog};

use super::Conversation;
use super::elsewhere::ChatSnapshot;
use crate::commands::ask;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};

/// The last turn, and the place before it.
struct LastTurn {
    /// The place before it; `None` is the beginning of the conversation.
    before: Option<(SessionId, ForkPlace)>,
    /// The message that began it.
    message: Arc<Message>,
}

impl Conversation {
    /// Leaves out the last turn.
    pub(super) async fn undo(&mut self) {
        match self.rewind().await {
            Ok(message) => {
                let said = words::shortened(&message.to_text(), SHOWN);
                render::remark(&format!(
                    "left out, with its answer: {said}{}",
                    self.kept_before()
                ));
            }
            Err(fault) => self.report(&fault),
        }
    }

    /// Leaves out the last turn, and returns its message, which is to be sent again.
    pub(super) async fn take_last_message(&mut self) -> Option<Arc<Message>> {
        match self.rewind().await {
            Ok(message) => {
                let said = words::shortened(&message.to_text(), SHOWN);
                render::remark(&format!("again: {said}"));
                Some(message)
            }
            Err(fault) => {
                self.report(&fault);
                None
            }
        }
    }

    /// Prints an error, and records it for the exit code of a script.
    pub(super) fn report(&mut self, fault: &CommandError) {
        let exit = render::fault(fault);
        self.record_failure(exit);
    }

    /// Where the turn that was left out still is.
    fn kept_before(&self) -> String {
        match &self.left {
            Some(left) if self.is_persistent => format!("; it is still in session {left}"),
            Some(_) | None => String::new(),
        }
    }

    /// Continues in a new session that ends before the last turn; returns the message of that turn.
    async fn rewind(&mut self) -> Result<Arc<Message>, CommandError> {
        let LastTurn { before, message } = self.last_turn().await?;
        let session = ask::new_session()?;
        if let Some((from, place)) = &before {
            self.assembled.engine.fork(from, place, &session).await?;
        }
        self.hold = self.assembled.engine.hold(&session).await?;
        self.snapshot = ChatSnapshot::default();
        self.has_messages = before.is_some();
        if self.has_messages {
            let loaded = self.assembled.engine.load(&session).await?;
            let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
            self.snapshot.mark_shown(&loaded, &log);
        }
        self.left = Some(std::mem::replace(&mut self.session, session));
        Ok(message)
    }

    async fn last_turn(&self) -> Result<LastTurn, CommandError> {
        let none = || CommandError::new(Exit::Usage, "nothing was said yet");
        if !self.has_messages {
            return Err(none());
        }
        let mut session = self.session.clone();
        let mut until = u32::MAX;
        loop {
            let loaded = self.assembled.engine.load(&session).await?;
            let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
            let ended = log.turns.iter().filter(|turn| turn.end().is_some());
            let mut turns = ended.filter(|turn| turn.ordinal <= until).rev();
            let forked = log.forked.as_ref();
            let Some(last) = turns.next() else {
                // Its turns are those of the session that it was forked from.
                let origin = forked.ok_or_else(none)?;
                (session, until) = (origin.from.clone(), origin.at.ordinal);
                continue;
            };
            let Opening::UserMessage(message) = &last.opening else {
                let message = "the last turn is not one that a message began";
                return Err(CommandError::new(Exit::Usage, message));
            };
            let before = match turns.next() {
                Some(turn) => Some((session, end_of(turn))),
                None => forked.map(|origin| (origin.from.clone(), origin.at.clone())),
            };
            return Ok(LastTurn {
                before,
                message: Arc::clone(message),
            });
        }
    }
}

fn end_of(turn: &TurnLog) -> ForkPlace {
    ForkPlace {
        ordinal: turn.ordinal,
        round: None,
        turn: turn.turn.clone(),
    }
}

/// How much of a message is shown, in characters.
const SHOWN: usize = 60;
