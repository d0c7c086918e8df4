//! Replaces the beginning of the conversation by a summary. The session before is kept as it is.

use jackfield_domain::turn_log::SessionLog;
use jackfield_engine::{CompactSession, CompactedSession};

use super::Conversation;
use super::elsewhere::ChatSnapshot;
use crate::commands::ask;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, spent};
use crate::signals::{self, Interrupts};

impl Conversation {
    /// Goes on in a fork that begins with a summary, and says what that cost.
    pub(super) async fn compact(&mut self) {
        match self.compacted().await {
            Ok(CompactedSession { compaction, cost }) => {
                let mut line = spent::paid_compaction(&compaction, cost.as_ref());
                if let Some(usage) = compaction.usage {
                    let model = self.assembled.options.model.clone();
                    self.turn_usage.push((model, usage, cost));
                }
                if let Some(left) = self.left.as_ref().filter(|_| self.is_persistent) {
                    line.push_str(&format!("; session {left} keeps all of it"));
                }
                render::remark(&line);
            }
            Err(fault) => self.report(&fault),
        }
    }

    async fn compacted(&mut self) -> Result<CompactedSession, CommandError> {
        self.catch_up().await;
        if !self.has_messages {
            return Err(CommandError::new(Exit::Usage, "nothing was said yet"));
        }
        let session = ask::new_session()?;
        let request = CompactSession {
            from: self.session.clone(),
            options: self.options(),
            principal: PRINCIPAL.into(),
            to: session.clone(),
        };
        let mut interrupts = Interrupts::watch();
        let engine = &self.assembled.engine;
        let compacted = tokio::select! {
            compacted = engine.compact(request) => compacted?,
            signal = interrupts.recv() => {
                signals::remember(signal);
                return Err(CommandError::new(Exit::Cancelled, "the compaction was cancelled"));
            }
        };
        self.hold = engine.hold(&session).await?;
        let loaded = engine.load(&session).await?;
        let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
        self.snapshot = ChatSnapshot::default();
        self.snapshot.mark_shown(&loaded, &log);
        self.left = Some(std::mem::replace(&mut self.session, session));
        Ok(compacted)
    }
}

/// The principal of what is used here.
const PRINCIPAL: &str = "local";
