//! Shows turns that other processes add to the session while a chat is open.

use anstream::AutoStream;
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_domain::turn_log::{SessionLog, TurnLog};
use jackfield_engine::{Engine, Loaded};

use super::Conversation;
use crate::fault::CommandError;
use crate::render;
use crate::turn::CommandTurnEnd;

/// The part of the session that was already shown.
#[derive(Debug, Default)]
pub(super) struct ChatSnapshot {
    /// The last turn of this chat.
    own_turn: Option<TurnId>,
    /// How many steps the session had.
    steps: u64,
    /// How many of its turns were shown.
    turns: u32,
    /// A turn that was shown while it waited; its end is still to be shown.
    waiting_turn: Option<TurnId>,
}

impl ChatSnapshot {
    /// Marks everything as shown, except for an open turn.
    pub(super) fn mark_shown(&mut self, loaded: &Loaded, log: &SessionLog) {
        self.steps = loaded.steps.len() as u64;
        let mut ended = log.turns.iter().filter(|turn| turn.end().is_some());
        self.turns = ended.next_back().map_or(self.turns, |turn| turn.ordinal);
    }

    /// Marks the turn with this end as one of this chat.
    pub(super) fn mark_own(&mut self, ended: &Result<CommandTurnEnd, CommandError>) {
        match ended {
            Ok(CommandTurnEnd::Waiting(waiting)) => self.waiting_turn = Some(waiting.turn.clone()),
            Ok(CommandTurnEnd::Ended { report, .. }) => self.own_turn = Some(report.turn.clone()),
            Ok(CommandTurnEnd::NotStarted | CommandTurnEnd::OutputClosed) | Err(_) => {}
        }
    }

    /// Waits until the session grows; forever if it cannot be watched.
    pub(super) async fn wait_for_growth(&self, engine: &Engine, session: &SessionId) {
        if engine.wait_for_steps(session, self.steps).await.is_err() {
            // The next message reports the problem.
            std::future::pending::<()>().await;
        }
    }

    /// The turns to show now.
    fn unseen_turns<'h>(&mut self, log: &'h SessionLog) -> Vec<&'h TurnLog> {
        let mut unseen = Vec::new();
        for turn in &log.turns {
            let (is_ours, waits) = (
                self.own_turn.as_ref() == Some(&turn.turn),
                turn.open_waits().next().is_some(),
            );
            if turn.ordinal <= self.turns || is_ours {
                continue;
            }
            if turn.end().is_some() {
                unseen.push(turn);
            } else if waits && self.waiting_turn.as_ref() != Some(&turn.turn) {
                self.waiting_turn = Some(turn.turn.clone());
                unseen.push(turn);
            }
        }
        unseen
    }
}

impl Conversation {
    /// Shows finished turns of other processes that were not shown yet, and one that waits.
    pub(super) async fn catch_up(&mut self) {
        let Ok(loaded) = self.assembled.engine.load(&self.session).await else {
            return;
        };
        if loaded.steps.len() as u64 == self.snapshot.steps {
            return;
        }
        let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
        let choice = AutoStream::choice(&std::io::stderr());
        let mut out = AutoStream::new(Vec::new(), choice);
        for turn in self.snapshot.unseen_turns(&log) {
            // Writing to memory cannot fail.
            let _written = render::sessions::elsewhere(&mut out, turn, self.verbose);
        }
        self.snapshot.mark_shown(&loaded, &log);
        let text = String::from_utf8_lossy(&out.into_inner()).into_owned();
        if !text.is_empty() {
            self.has_messages = true;
            // The next read detects a closed terminal.
            let _shown = self.person.show(text);
        }
    }
}
