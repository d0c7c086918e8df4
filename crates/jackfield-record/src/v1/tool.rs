//! Forms of tools and catalogs.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId, WaitId};
use jackfield_domain::opaque::Extension;
use jackfield_domain::tool::{
    Catalog, CatalogEntry, Discovery, Grammar, InputFormat, Permission, Safety, ToolChoice,
    ToolDefinition, ToolOrigin, UnknownPolicy,
};
use serde_json::Value;

use super::stored::{Invalid, Stored};

stored_struct! { CatalogEntry as CatalogEntryForm {
    definition: Arc<ToolDefinition>,
    digest: Digest,
    origin: ToolOrigin,
    permission: Permission,
    ran_by: RanBy,
    safety: Safety,
    when_unknown: UnknownPolicy;
    maybe asked_by: Arc<str>, discovery: Discovery, icon: Arc<str>, time_limit: Duration, title: Arc<str>
} }

stored_enum! { Discovery as DiscoveryForm { Deferred, Revealed(number: u32) } }

stored_struct! { Grammar as GrammarForm { syntax: Arc<str>, definition: Arc<str> } }

stored_enum! { InputFormat as InputFormatForm {
    Json(schema: Arc<Value>),
    Text(grammar: Option<Grammar>),
} }

stored_enum! { Permission as PermissionForm {
    Allow,
    Ask,
    Deny(reason: Arc<str>),
    Granted { by: Arc<str>, wait: WaitId },
} }

stored_enum! { Safety as SafetyForm { Idempotent, ReadOnly, Unknown } }

stored_enum! { ToolChoice as ToolChoiceForm {
    Auto,
    Forbidden,
    Named(name: ToolName),
    Only { required: bool, tools: Vec<ToolName> },
    Required,
} }

stored_struct! { ToolDefinition as ToolDefinitionForm {
    name: ToolName, description: Arc<str>, input: InputFormat;
    maybe output: Arc<Value>, strict: bool;
    many extensions: Extension
} }

stored_struct! { ToolOrigin as ToolOriginForm { toolbox: ToolboxId, tool: Arc<str> } }

stored_enum! { UnknownPolicy as UnknownPolicyForm { Ask, Report, Retry } }

/// A catalog is stored as the list of its tools, by name.
impl Stored for Catalog {
    type Form = Vec<CatalogEntryForm>;

    fn form(&self) -> Self::Form {
        self.iter().map(Stored::form).collect()
    }

    fn of(form: Self::Form) -> Result<Self, Invalid> {
        let tools: Vec<CatalogEntry> = Stored::of(form)?;
        let twice = tools.windows(2).find_map(|pair| match pair {
            [one, two] if one.definition.name >= two.definition.name => Some(two),
            _ => None,
        });
        match twice {
            Some(tool) => Err(Invalid::CatalogName(tool.definition.name.to_string())),
            None => Ok(Self::from_iter(tools)),
        }
    }
}
