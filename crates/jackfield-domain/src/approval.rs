//! Approvals: what an approval is bound to, and the grants of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::digest::{Digest, canonical_json};
use crate::ids::WaitId;
use crate::tool::{Catalog, CatalogEntry, Permission, ToolOrigin};
use crate::tool_input::ToolInput;

/// The subject that an approval is bound to, and that equal calls share: the toolbox, the tool, its definition, and the
/// exact arguments.
///
/// It is the digest of these parts, each with its length, so that no content can move from one part to another.
/// JSON arguments are digested in canonical form, because the key order that the model wrote is not sent.
#[must_use]
pub fn subject(tool: &CatalogEntry, input: &ToolInput) -> Digest {
    let (form, value) = match input {
        ToolInput::Json(input) => match input.object() {
            Ok(fields) => {
                let value = Value::Object(fields.as_ref().clone());
                ("json", canonical_json(&value))
            }
            // Malformed arguments never need an approval and never run.
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

/// A permission for all calls of one tool in a session, bound to the tool's definition at the time.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SessionGrant {
    /// The person who granted it.
    pub by: Arc<str>,
    /// The digest of the tool's definition.
    pub digest: Digest,
    /// The approval that they answered.
    pub wait: WaitId,
}

/// The session grants, by tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grants(BTreeMap<ToolOrigin, SessionGrant>);

impl Grants {
    /// The grant that covers this tool with its present definition.
    #[must_use]
    pub fn find(&self, tool: &CatalogEntry) -> Option<&SessionGrant> {
        let grant = self.0.get(&tool.origin)?;
        (grant.digest == tool.digest).then_some(grant)
    }

    /// All grants, by tool.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&ToolOrigin, &SessionGrant)> {
        self.0.iter()
    }

    /// The catalog with these grants applied; `None` if they change nothing.
    ///
    /// A grant answers an approval in advance. Denied tools stay denied.
    #[must_use]
    pub fn apply_to(&self, catalog: &Catalog) -> Option<Catalog> {
        let session_grant = |tool: &CatalogEntry| match tool.permission {
            Permission::Ask => self.find(tool).cloned(),
            Permission::Allow | Permission::Deny(_) | Permission::Granted { .. } => None,
        };
        if !catalog.iter().any(|tool| session_grant(tool).is_some()) {
            return None;
        }
        let granted = catalog.iter().map(|tool| {
            let mut granted = tool.clone();
            if let Some(SessionGrant { by, wait, .. }) = session_grant(tool) {
                granted.permission = Permission::Granted { by, wait };
            }
            granted
        });
        Some(granted.collect())
    }

    /// Adds a grant; an existing grant for the same definition is kept.
    pub(crate) fn add(&mut self, tool: ToolOrigin, grant: SessionGrant) {
        let existing = self.0.get(&tool);
        if existing.is_none_or(|kept| kept.digest != grant.digest) {
            self.0.insert(tool, grant);
        }
    }

    /// Adds all of these grants.
    pub(crate) fn extend(&mut self, more: &Self) {
        for (tool, grant) in more.iter() {
            self.add(tool.clone(), grant.clone());
        }
    }

    /// Revokes the grants of tools whose definition has changed. A definition that changes back needs a new
    /// approval.
    pub(crate) fn revoke_changed(&mut self, catalog: &Catalog) {
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

/// The prefix of a subject's parts; it separates subjects from other digests.
const SUBJECT: &str = "approval";
