//! The present state of a turn and its calls, by their log.

use super::{CallLog, LogEntry, TurnLog, WaitLog};
use crate::block::{RanBy, ToolCall};
use crate::fact::{CallEnd, ModelCallEnd};
use crate::message::Message;
use crate::note::Note;
use crate::outcome::ToolResult;
use crate::wait::WaitKind;

impl CallLog {
    /// How it got its outcome, and the outcome, if it has one; a provider tool's is in the reply.
    #[must_use]
    pub fn outcome(&self) -> Option<(CallEnd, &ToolResult)> {
        match (&self.closed, &self.provided) {
            (Some(closed), _) => Some((closed.end, &closed.result)),
            (None, Some(provided)) => Some((CallEnd::Ran, &provided.result)),
            (None, None) => None,
        }
    }
}

impl LogEntry {
    /// The message of a reply that stands. A reply that is retried or was lost does not.
    #[must_use]
    pub fn standing_message(&self) -> Option<&Message> {
        match self {
            Self::ModelCallEnded {
                partial,
                retry_at: None,
                why: ModelCallEnd::Cancelled | ModelCallEnd::Failed(_),
                ..
            } => partial.as_deref(),
            Self::Reply { reply, .. } => Some(&reply.message),
            Self::CallClosed { .. }
            | Self::CallLost { .. }
            | Self::Compacted { .. }
            | Self::LateUsage { .. }
            | Self::ModelCallEnded { .. }
            | Self::Resumed { .. }
            | Self::TargetChosen { .. }
            | Self::TurnEnded { .. } => None,
        }
    }
}

impl TurnLog {
    /// The text of the last reply that stands, as far as there is one.
    #[must_use]
    pub fn answer(&self) -> String {
        let mut replies = self.entries.iter().rev();
        let last = replies.find_map(LogEntry::standing_message);
        last.map(Message::to_text).unwrap_or_default()
    }

    /// Whether an open wait is about this call.
    #[must_use]
    pub fn is_asked(&self, call: &CallLog) -> bool {
        self.open_waits().any(|open| open.wait.call == call.call.id)
    }

    /// The notes of its replies. Every round repeats them; each counts once, by its code and path.
    #[must_use]
    pub fn notes(&self) -> Vec<&Note> {
        let mut notes: Vec<&Note> = Vec::new();
        for note in self
            .entries
            .iter()
            .filter_map(LogEntry::reply)
            .flat_map(|reply| &reply.end.notes)
        {
            if !notes
                .iter()
                .any(|known| known.code == note.code && known.path == note.path)
            {
                notes.push(note);
            }
        }
        notes
    }

    /// Whether it is open and only waits for answers from outside.
    #[must_use]
    pub fn only_waits(&self) -> bool {
        let open = || self.calls.iter().filter(|call| call.outcome().is_none());
        if self.end().is_none() && self.is_paused() {
            return true;
        }
        self.end().is_none()
            && !self.is_calling_model
            && open().next().is_some()
            && open().all(|call| self.is_asked(call))
    }

    /// Whether it waits for room in a budget.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let is_budget = |open: &WaitLog| matches!(open.wait.kind, WaitKind::Budget { .. });
        self.open_waits().any(is_budget)
    }

    /// Who runs a call.
    #[must_use]
    pub fn ran_by(&self, call: &ToolCall) -> RanBy {
        match (call.ran_by, self.tool(call)) {
            (RanBy::Client | RanBy::Engine, Some(tool)) => tool.ran_by,
            (ran_by, _) => ran_by,
        }
    }
}
