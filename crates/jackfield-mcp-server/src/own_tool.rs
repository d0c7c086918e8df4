//! Tools of the server itself, besides those of its engine.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::block::RanBy;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{
    CatalogEntry, InputFormat, Permission, Safety, ToolDefinition, ToolOrigin, UnknownPolicy,
};
use jackfield_engine::DirectCall;
use serde_json::Value;

/// A tool that a server offers besides those of its engine, such as one that runs a turn.
#[async_trait]
pub trait OwnTool: fmt::Debug + Send + Sync {
    fn entry(&self) -> &OwnToolEntry;

    /// Runs it. Dropping the future cancels the call. The arguments were not checked.
    async fn call(&self, call: DirectCall) -> ToolResult;
}

/// A tool of the server itself, as clients see it.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnToolEntry(pub(crate) CatalogEntry);

impl OwnToolEntry {
    /// A tool of this name, of whose effects nothing is known; `input` and `output` are JSON schemas of objects.
    #[must_use]
    pub fn new(
        name: ToolName,
        toolbox: ToolboxId,
        title: &str,
        description: &str,
        input: Value,
        output: Value,
    ) -> Self {
        let digest = Digest::of_parts([name.as_str(), description]);
        Self(CatalogEntry {
            asked_by: None,
            digest,
            discovery: None,
            icon: None,
            origin: ToolOrigin {
                tool: name.as_str().into(),
                toolbox,
            },
            definition: Arc::new(ToolDefinition {
                description: description.into(),
                extensions: Vec::new(),
                input: InputFormat::Json(Arc::new(input)),
                name,
                output: Some(Arc::new(output)),
                strict: None,
            }),
            permission: Permission::Allow,
            ran_by: RanBy::Engine,
            safety: Safety::Unknown,
            time_limit: None,
            title: Some(title.into()),
            when_unknown: UnknownPolicy::default(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.0.definition.name.as_str()
    }
}
