//! Watches of resources, which outlive a lost connection of their server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::context_source::{
    ContextChange, ContextChanges, ContextError, ContextErrorKind,
};
use tokio::time::sleep;

use super::context_of;
use crate::options::TurnOptions;
use crate::state::Engine;

impl Engine {
    /// Reports changes of these resources of a toolbox, and of its lists of resources and prompts. After its connection
    /// was lost, or its server was replaced, the watch begins anew by itself, with growing pauses of at most a minute.
    /// Dropping the future ends it.
    ///
    /// Returns why nothing is reported any more: there is no such toolbox for these options, it announces no changes of
    /// these resources, or it was not available at the beginning.
    pub async fn watch_context(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
        uris: &[Arc<str>],
        changes: &mut dyn ContextChanges,
    ) -> ContextError {
        let mut pause = FIRST_PAUSE;
        let mut begun = false;
        loop {
            let mut observed = ObservedChanges {
                changes,
                is_watching: false,
            };
            let ended = match self.context_toolbox(options, toolbox).await {
                Ok(toolbox) => match context_of(&toolbox) {
                    Ok(source) => source.watch(uris, &mut observed).await,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            let may_return = match ended.kind {
                ContextErrorKind::ProtocolViolation
                | ContextErrorKind::Timeout
                | ContextErrorKind::Unavailable => true,
                ContextErrorKind::InvalidArguments
                | ContextErrorKind::NotFound
                | ContextErrorKind::TooLarge
                | ContextErrorKind::Unsupported => false,
            };
            if observed.is_watching {
                begun = true;
                pause = FIRST_PAUSE;
            }
            if !begun || !may_return {
                return ended;
            }
            tracing::debug!(%toolbox, error = %ended, "a watch of resources ended, and begins anew");
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }
}

/// Passes changes on, and notes whether the watch has begun.
struct ObservedChanges<'a> {
    changes: &'a mut dyn ContextChanges,
    is_watching: bool,
}

#[async_trait]
impl ContextChanges for ObservedChanges<'_> {
    async fn changed(&mut self, change: ContextChange) {
        self.is_watching |= change == ContextChange::Watching;
        self.changes.changed(change).await;
    }
}

/// The pause before a watch that has ended begins anew.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
