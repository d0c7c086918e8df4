//! The form of restrictions.

use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::restrictions::{Restriction, Restrictions};

use super::stored::{Invalid, Stored};

/// A restricted tool, and the reason.
pub(crate) struct RestrictedTool {
    tool: ToolName,
    why: Restriction,
}

stored_struct! { RestrictedTool as RestrictedToolForm { tool: ToolName, why: Restriction } }

stored_enum! { Restriction as RestrictionForm { Changed, Denied(reason: Arc<str>), Gone } }

/// Restrictions are stored as a list of restricted tools.
impl Stored for Restrictions {
    type Form = Vec<RestrictedToolForm>;

    fn form(&self) -> Self::Form {
        let tools = self.tools.iter().map(|(tool, why)| RestrictedTool {
            tool: tool.clone(),
            why: why.clone(),
        });
        tools.map(|tool| tool.form()).collect()
    }

    fn of(form: Self::Form) -> Result<Self, Invalid> {
        let tools: Vec<RestrictedTool> = Stored::of(form)?;
        let tools = tools.into_iter().map(|tool| (tool.tool, tool.why));
        Ok(Self {
            tools: tools.collect(),
        })
    }
}
