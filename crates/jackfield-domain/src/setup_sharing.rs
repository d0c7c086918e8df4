//! Shares the equal parts of the setups of a session in memory, for stores that read its steps.

use std::sync::Arc;

use crate::fact::{Envelope, Fact};
use crate::setup::Setup;

/// Shares the equal parts of the setups of consecutive turns, mostly the whole catalog: it is the largest part of a
/// session whose turns only talk.
#[derive(Debug, Default)]
pub struct SetupSharing(Option<Arc<Setup>>);

impl SetupSharing {
    /// Starts with the last setup in these steps.
    #[must_use]
    pub fn from_steps(steps: &[Envelope]) -> Self {
        let facts = steps.iter().rev().flat_map(|step| step.facts.iter().rev());
        let mut setups = facts.filter_map(|fact| {
            if let Fact::TurnOpened { setup, .. } = fact {
                Some(Arc::clone(setup))
            } else {
                None
            }
        });
        Self(setups.next())
    }

    /// Shares what equal parts a setup in this step, the next one, has with the one before.
    pub fn share(&mut self, step: &mut Envelope) {
        for fact in &mut step.facts {
            if let Fact::TurnOpened { setup, .. } = fact {
                if let (Some(before), Some(setup)) = (&self.0, Arc::get_mut(setup)) {
                    setup.share(before);
                }
                self.0 = Some(Arc::clone(setup));
            }
        }
    }
}
