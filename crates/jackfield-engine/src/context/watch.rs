//! Watches of resources, which outlive a lost connection of their server.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::context_source::{
    ContextChange, ContextChanges, ContextError, ContextErrorKind,
};
use jackfield_ports::toolbox_source::RegisteredToolbox;
use tokio::time::sleep;

use super::context_of;
use crate::options::TurnOptions;
use crate::state::Engine;

impl Engine {
    /// Reports changes of these resources of a toolbox, and of its lists of resources and prompts. Once it has begun, the
    /// watch begins anew by itself, with growing pauses of at most a minute: after the connection was lost, and after the
    /// toolbox was replaced, for which it looks each quarter of a minute. Dropping the future ends it.
    ///
    /// Returns why nothing is reported: there is no such toolbox for these options, it announces no changes of these
    /// resources, or it was not available at the beginning.
    pub async fn watch_context(
        &self,
        options: &TurnOptions,
        toolbox: &ToolboxId,
        uris: &[Arc<str>],
        changes: &mut dyn ContextChanges,
    ) -> ContextError {
        let mut pause = FIRST_PAUSE;
        let mut has_begun = false;
        loop {
            let mut observed = ObservedChanges {
                changes,
                is_watching: false,
            };
            let ended = match self.context_toolbox(options, toolbox).await {
                Ok(found) => match context_of(&found) {
                    Ok(source) => tokio::select! {
                        ended = source.watch(uris, &mut observed) => ended,
                        ended = self.until_replaced(options, &found) => ended,
                    },
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if observed.is_watching {
                has_begun = true;
                pause = FIRST_PAUSE;
            }
            if !has_begun {
                return ended;
            }
            tracing::debug!(%toolbox, error = %ended, "a watch of resources ended, and begins anew");
            sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    /// Waits until a client has this toolbox no more, or another one in its place.
    async fn until_replaced(
        &self,
        options: &TurnOptions,
        watched: &RegisteredToolbox,
    ) -> ContextError {
        loop {
            sleep(BETWEEN_LOOKS).await;
            let id = watched.toolbox.id();
            match self.context_toolbox(options, id).await {
                Ok(present) if Arc::ptr_eq(&present.toolbox, &watched.toolbox) => {}
                Ok(_) => {
                    let message = format!("the server `{id}` was replaced");
                    return ContextError::new(ContextErrorKind::Unavailable, message);
                }
                Err(error) => return error,
            }
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

/// The time between two looks whether a client still has the toolbox.
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
/// The pause before a watch that has ended begins anew.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
