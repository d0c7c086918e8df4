//! Resuming a session: shows the last turns, and continues an open turn.

use jackfield_domain::history::History;
use jackfield_engine::ResumeSession;

use super::Conversation;
use crate::commands::servers;
use crate::fault::CommandError;
use crate::render;
use crate::turn::{self, AskMode, CommandTurnEnd};

impl Conversation {
    /// Shows the last turns, and continues an open one.
    pub(super) async fn come_back(&mut self) -> Result<(), CommandError> {
        self.said = true;
        let engine = &self.assembled.engine;
        let loaded = engine.load(&self.session).await?;
        let history = History::of(&loaded.steps, &loaded.deliveries);
        self.seen.all(&loaded, &history);
        let turns = history.turns.iter().filter(|turn| turn.end.is_some());
        let turns: Vec<_> = turns.collect();
        if let Some(forked) = history
            .forked
            .as_ref()
            .filter(|_| turns.len() < SHOWN_TURNS)
        {
            self.print(|out| render::sessions::began(out, forked, SHOWN_MESSAGES, self.verbose));
        }
        for turn in turns.iter().rev().take(SHOWN_TURNS).rev() {
            self.print(|out| render::sessions::past(out, turn, self.verbose));
        }
        let Some(open) = history.turns.last().filter(|turn| turn.end.is_none()) else {
            return Ok(());
        };
        let row = self.assembled.engine.session(&self.session).await?;
        let is_left = row.is_none_or(|row| !row.owned);
        self.print(|out| render::sessions::opening(out, open, is_left));
        let ended = self.take_up().await;
        self.after(ended).await
    }

    /// Continues the open turn.
    async fn take_up(&mut self) -> Result<CommandTurnEnd, CommandError> {
        let policy = self.assembled.options.policy.clone();
        let mut resume = ResumeSession::new(self.session.clone(), policy);
        resume.stay = true;
        let asks = match (self.yes, self.at_terminal) {
            (true, _) => AskMode::Yes,
            (false, true) => AskMode::Person(&mut self.person),
            (false, false) => AskMode::Nobody,
        };
        let mut view = render::view(false, self.verbose, true);
        let _patience = servers::patience(&self.assembled.servers);
        turn::resume(&self.assembled.engine, resume, &mut *view, asks).await
    }
}

/// How many of the messages before a fork are shown.
const SHOWN_MESSAGES: usize = 6;

/// How many turns of a resumed session are shown.
const SHOWN_TURNS: usize = 3;
