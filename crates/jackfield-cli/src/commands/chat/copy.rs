//! Copies the last answer to the clipboard of the terminal.

use std::io::{self, IsTerminal as _};

use jackfield_domain::message::Role;
use jackfield_domain::turn_log::SessionLog;

use super::Conversation;
use crate::exit::Exit;
use crate::render::{self, words};

impl Conversation {
    /// Copies the last answer, as the model wrote it.
    pub(super) async fn copy(&mut self) {
        let why = match self.last_answer().await {
            None => "there is no answer yet",
            Some(_) if !io::stdout().is_terminal() || render::is_dumb() => {
                "only a terminal has a clipboard"
            }
            Some(answer) if answer.len() > MAX_BYTES => {
                "the answer is longer than terminals take: `jackfield sessions export last --format markdown` has it"
            }
            Some(answer) => {
                // The next line finds out that the terminal is gone.
                let _written = render::chat::clipboard(&mut io::stdout(), &answer);
                let length = words::counted(answer.chars().count() as u64, "character");
                let remark = format!(
                    "{length} for the clipboard, if the terminal lets programs write to it (OSC 52)"
                );
                return render::remark(&remark);
            }
        };
        self.record_failure(Exit::Usage);
        render::remark(why);
    }

    /// The last answer of this session, or of the one that it was forked from.
    async fn last_answer(&self) -> Option<String> {
        let loaded = self.assembled.engine.load(&self.session).await.ok()?;
        let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
        let turns = log.turns.iter().rev();
        let mut answers = turns.map(jackfield_domain::turn_log::TurnLog::answer);
        let own = answers.find(|answer| !answer.trim().is_empty());
        own.or_else(|| {
            let mut before = log.before().rev();
            let last = before.find(|message| message.role == Role::Assistant)?;
            Some(last.to_text())
        })
    }
}

/// The maximum length of an answer, in bytes: its base64 is then at most 100,000 bytes, which terminals take.
const MAX_BYTES: usize = 75_000;
