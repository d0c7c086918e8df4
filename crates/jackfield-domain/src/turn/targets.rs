//! The targets of a turn's route that are left.

use std::collections::BTreeSet;

use crate::failure::ModelFailure;
use crate::routing::{HopTarget, Hops};
use crate::turn::Turn;

impl Turn {
    /// What is left once the target in flight has failed so.
    pub(crate) fn hops_after(&self, failure: &ModelFailure) -> Hops {
        let mut hops = self.hops.clone();
        hops.fail(self.target, failure, &self.hop_targets());
        hops
    }

    /// The targets that may be called without a pause, in their order.
    pub(crate) fn left_targets(&self) -> BTreeSet<u32> {
        self.hops.left(&self.hop_targets())
    }

    /// Whether a target takes tools as text only.
    pub(crate) fn takes_tools_as_text(&self, target: u32) -> bool {
        self.text_targets.contains(&target)
    }

    /// What matters of the targets for whether they are left.
    pub(crate) fn hop_targets(&self) -> Vec<HopTarget> {
        let setup = &self.setup;
        let models = (0..setup.targets()).filter_map(|target| setup.model_of(target));
        let targets = (0..setup.targets()).map(|target| HopTarget {
            account: HopTarget::account_of(target, models.clone()),
            content_filter: setup.is_for_content_filter(target),
            window: setup.window_of(target),
        });
        targets.collect()
    }
}
