//! Turns that other processes put into the session while a chat is open in it.

use anstream::AutoStream;
use jackfield_domain::history::{History, PastTurn};
use jackfield_domain::ids::{SessionId, TurnId};
use jackfield_engine::{Engine, Loaded};

use super::Conversation;
use crate::fault::CommandError;
use crate::render;
use crate::turn::CommandTurnEnd;

/// What is known of the session of a chat.
#[derive(Debug, Default)]
pub(super) struct ChatSnapshot {
    /// The turn that was held here last.
    ours: Option<TurnId>,
    /// How many steps it has had.
    steps: u64,
    /// How many of its turns were shown.
    turns: u32,
    /// The turn that was shown while it waited; how it ends is to be shown, too.
    waiting: Option<TurnId>,
}

impl ChatSnapshot {
    /// All that there is was shown, but for a turn that is not over.
    pub(super) fn all(&mut self, loaded: &Loaded, history: &History) {
        self.steps = loaded.steps.len() as u64;
        let mut over = history.turns.iter().filter(|turn| turn.end.is_some());
        self.turns = over.next_back().map_or(self.turns, |turn| turn.ordinal);
    }

    /// The turn that ended so was held here.
    pub(super) fn is_ours(&mut self, ended: &Result<CommandTurnEnd, CommandError>) {
        match ended {
            Ok(CommandTurnEnd::Waits(waiting)) => self.waiting = Some(waiting.turn.clone()),
            Ok(CommandTurnEnd::With { report, .. }) => self.ours = Some(report.turn.clone()),
            Ok(CommandTurnEnd::BeforeItBegan | CommandTurnEnd::Unread) | Err(_) => {}
        }
    }

    /// Waits until there is more of the session; for ever where that cannot be told.
    pub(super) async fn more(&self, engine: &Engine, session: &SessionId) {
        if engine.grown(session, self.steps).await.is_err() {
            // Whoever sends the next message is told what is wrong.
            std::future::pending::<()>().await;
        }
    }

    /// The turns that are to be shown now.
    fn news<'h>(&mut self, history: &'h History) -> Vec<&'h PastTurn> {
        let mut news = Vec::new();
        for turn in &history.turns {
            let (is_ours, waits) = (
                self.ours.as_ref() == Some(&turn.turn),
                !turn.waits.is_empty(),
            );
            if turn.ordinal <= self.turns || is_ours {
                continue;
            }
            if turn.end.is_some() {
                news.push(turn);
            } else if waits && self.waiting.as_ref() != Some(&turn.turn) {
                self.waiting = Some(turn.turn.clone());
                news.push(turn);
            }
        }
        news
    }
}

impl Conversation {
    /// Shows the turns of other processes that were not shown yet: those that are over, and one that waits.
    pub(super) async fn catch_up(&mut self) {
        let Ok(loaded) = self.assembled.engine.load(&self.session).await else {
            return;
        };
        if loaded.steps.len() as u64 == self.seen.steps {
            return;
        }
        let history = History::of(&loaded.steps, &loaded.deliveries);
        let choice = AutoStream::choice(&std::io::stderr());
        let mut out = AutoStream::new(Vec::new(), choice);
        for turn in self.seen.news(&history) {
            // Memory can always be written.
            let _written = render::sessions::elsewhere(&mut out, turn, self.verbose);
        }
        self.seen.all(&loaded, &history);
        let text = String::from_utf8_lossy(&out.into_inner()).into_owned();
        if !text.is_empty() {
            self.said = true;
            // A terminal that is gone is noticed by whoever reads.
            let _shown = self.person.show(text);
        }
    }
}
