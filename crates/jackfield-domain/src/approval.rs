//! Approvals: what one is bound to, and what somebody allowed for a whole session.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::digest::{Digest, canonical_json};
use crate::ids::WaitId;
use crate::policy::Permission;
use crate::tool::{Catalog, CatalogEntry, ToolOrigin};
use crate::tool_input::ToolInput;

/// What an approval is bound to: the toolbox, the tool, its definition, and the exact value that is sent.
///
/// The digest of these as parts, each with its length, so that nothing can be moved from one to another.
/// JSON arguments count by their canonical form: the order in which a model wrote its keys is not sent.
#[must_use]
pub fn subject(tool: &CatalogEntry, input: &ToolInput) -> Digest {
    let (form, value) = match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => {
                let value = Value::Object(fields.as_ref().clone());
                ("json", canonical_json(&value))
            }
            // Never asked about and never run.
            Err(_) => ("malformed", input.raw().to_owned()),
        },
        ToolInput::Text(text) => ("text", text.to_string()),
    };
    let definition = tool.digest.to_hex();
    let origin = &tool.origin;
    Digest::of_parts([
        SUBJECT,
        origin.toolbox.as_str(),
        &origin.tool,
        &definition,
        form,
        &value,
    ])
}

/// What somebody allowed for a whole session: all calls of one tool, as it was defined then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionGrant {
    /// Who allowed it.
    pub by: Arc<str>,
    /// The digest of the tool's definition.
    pub digest: Digest,
    /// The question that they answered.
    pub wait: WaitId,
}

/// The tools that somebody allowed for a whole session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grants(BTreeMap<ToolOrigin, SessionGrant>);

impl Grants {
    /// The grant that covers this tool as it is defined now.
    #[must_use]
    pub fn of(&self, tool: &CatalogEntry) -> Option<&SessionGrant> {
        let grant = self.0.get(&tool.origin)?;
        (grant.digest == tool.digest).then_some(grant)
    }

    /// All of them, by tool.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ToolOrigin, &SessionGrant)> {
        self.0.iter()
    }

    /// The catalog in which these hold; `None` if they change nothing in it.
    ///
    /// They answer a question in advance. What is denied stays denied.
    #[must_use]
    pub fn applied(&self, catalog: &Catalog) -> Option<Catalog> {
        let asked = |tool: &CatalogEntry| match tool.permission {
            Permission::Ask => self.of(tool).cloned(),
            Permission::Allow | Permission::Deny(_) | Permission::Granted { .. } => None,
        };
        if !catalog.iter().any(|tool| asked(tool).is_some()) {
            return None;
        }
        let granted = catalog.iter().map(|tool| {
            let mut granted = tool.clone();
            if let Some(SessionGrant { by, wait, .. }) = asked(tool) {
                granted.permission = Permission::Granted { by, wait };
            }
            granted
        });
        Some(granted.collect())
    }

    /// Adds a grant; one that covers the same definition already stays.
    pub(crate) fn add(&mut self, tool: ToolOrigin, grant: SessionGrant) {
        let kept = self.0.get(&tool);
        if kept.is_none_or(|kept| kept.digest != grant.digest) {
            self.0.insert(tool, grant);
        }
    }

    /// Adds all of these.
    pub(crate) fn extend(&mut self, more: &Self) {
        for (tool, grant) in more.iter() {
            self.add(tool.clone(), grant.clone());
        }
    }

    /// Ends the grants of tools that are defined otherwise by now, for good: a definition that changes
    /// back is asked about again.
    pub(crate) fn end_changed(&mut self, catalog: &Catalog) {
        if self.0.is_empty() {
            return;
        }
        for tool in catalog.iter() {
            if self
                .0
                .get(&tool.origin)
                .is_some_and(|grant| grant.digest != tool.digest)
            {
                self.0.remove(&tool.origin);
            }
        }
    }
}

/// What stands before the parts of a subject, so that no other digest can be taken for one.
const SUBJECT: &str = "approval";
