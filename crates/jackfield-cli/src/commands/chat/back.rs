//! Resuming a session: shows the last turns, and continues an open turn.

use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::ResumeSession;

use super::Conversation;
use crate::commands::servers;
use crate::fault::CommandError;
use crate::render;
use crate::turn::{self, AskMode, CommandTurnEnd};

impl Conversation {
    /// Shows the last turns, and continues an open one.
    pub(super) async fn show_recent(&mut self) -> Result<(), CommandError> {
        self.has_messages = true;
        let engine = &self.assembled.engine;
        let loaded = engine.load(&self.session).await?;
        let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
        self.snapshot.mark_shown(&loaded, &log);
        let turns = log.turns.iter().filter(|turn| turn.end().is_some());
        let turns: Vec<_> = turns.collect();
        if turns.len() < SHOWN_TURNS {
            self.print(|out| render::sessions::beginning(out, &log, SHOWN_MESSAGES, self.verbose));
        }
        for turn in turns.iter().rev().take(SHOWN_TURNS).rev() {
            self.print(|out| render::sessions::past(out, turn, self.verbose));
        }
        let Some(open) = log.turns.last().filter(|turn| turn.end().is_none()) else {
            return Ok(());
        };
        let row = self.assembled.engine.session(&self.session).await?;
        let is_left = row.is_none_or(|row| !row.owned);
        self.print(|out| render::sessions::opening(out, open, is_left));
        let ended = self.resume_turn().await;
        self.handle_end(ended).await
    }

    async fn resume_turn(&mut self) -> Result<CommandTurnEnd, CommandError> {
        let policy = self.assembled.options.policy.clone();
        let mut resume = ResumeSession::new(self.session.clone(), policy);
        resume.stay = true;
        let ask_mode = match (self.yes, self.at_terminal) {
            (true, _) => AskMode::Yes,
            (false, true) => AskMode::Person(&mut self.person),
            (false, false) => AskMode::Nobody,
        };
        let asks = matches!(ask_mode, AskMode::Person(_));
        let mut view = render::view(false, self.verbose, true, asks, None);
        let _patience = servers::start_notice(&self.assembled.servers.all());
        turn::resume(&self.assembled.engine, resume, &mut *view, ask_mode).await
    }
}

/// How many of the messages before a fork are shown.
const SHOWN_MESSAGES: usize = 6;

/// How many turns of a resumed session are shown.
const SHOWN_TURNS: usize = 3;
