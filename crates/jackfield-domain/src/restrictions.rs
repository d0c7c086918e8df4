//! Restrictions: what a turn may no longer do since it was set up.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::ToolName;

/// The restrictions on calls that have not started. They can only deny, never allow, and hold until the turn
/// ends or is resumed again.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Restrictions {
    /// By model-facing name.
    pub tools: BTreeMap<ToolName, Restriction>,
}

/// Why a call that has not started may not start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Restriction {
    /// The tool's definition differs from the one that the model got.
    Changed,
    /// The policy denies it now, for this reason.
    Denied(Arc<str>),
    /// The tool does not exist anymore.
    Gone,
}
