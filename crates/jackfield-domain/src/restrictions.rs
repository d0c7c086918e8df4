//! Restrictions: what today takes away from a turn that was set up before.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::ToolName;

/// What today forbids of calls that have not started. It can only take away, never allow, and holds
/// until the turn ends or is taken up once more.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Restrictions {
    /// By model-facing name.
    pub tools: BTreeMap<ToolName, Restriction>,
}

/// Why a call that has not started may not start today.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Restriction {
    /// The tool's definition is not the one that the model was told.
    Changed,
    /// Policy denies it now; says why.
    Denied(Arc<str>),
    /// There is no such tool any more.
    Gone,
}
