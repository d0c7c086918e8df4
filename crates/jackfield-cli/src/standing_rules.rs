//! What a person allows beyond one call, at the prompt of an approval.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jackfield_assembly::{ConfigFile, ServerToolbox};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::policy::{PolicyRule, RuleVerdict};
use jackfield_domain::tool::{CatalogEntry, Safety};

/// What a person allows beyond one call: by rules of the configuration, and for the servers whose reading tools are
/// allowed until the process ends.
#[derive(Clone, Default)]
pub struct StandingRules {
    added: Vec<PolicyRule>,
    file: Option<ConfigFile>,
    reading: BTreeSet<ToolboxId>,
    servers: Vec<ServerToolbox>,
}

impl StandingRules {
    /// No rules yet. New ones are written to this file, and these servers say which tools only read.
    #[must_use]
    pub const fn new(file: Option<ConfigFile>, servers: Vec<ServerToolbox>) -> Self {
        Self {
            added: Vec::new(),
            file,
            reading: BTreeSet::new(),
            servers,
        }
    }

    #[must_use]
    pub fn added(&self) -> &[PolicyRule] {
        &self.added
    }

    /// Whether there is a file for rules.
    #[must_use]
    pub const fn can_be_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Allows a tool by a rule of the configuration; returns the rule's pattern and the file.
    pub(crate) fn allow(&mut self, tool: &CatalogEntry) -> io::Result<(String, &Path)> {
        let origin = &tool.origin;
        let pattern = format!("{}/{}", origin.toolbox, origin.tool);
        if pattern.contains('*') {
            return Err(io::Error::other(
                "as a rule, its name would match other tools, too",
            ));
        }
        let none =
            || io::Error::other("there is no home folder, and so no configuration of your own");
        let file = self.file.as_ref().ok_or_else(none)?;
        file.allow(&pattern)?;
        self.added.push(PolicyRule {
            pattern: Arc::from(pattern.as_str()),
            verdict: RuleVerdict::Allow,
        });
        Ok((pattern, file.path()))
    }

    /// Allows the tools of a server that only read, by its own account.
    pub(crate) fn allow_reading(&mut self, server: ToolboxId) {
        self.reading.insert(server);
    }

    /// Whether a tool was allowed because it only reads.
    pub(crate) fn allows_reading(&self, tool: &CatalogEntry) -> bool {
        self.reading.contains(&tool.origin.toolbox) && self.only_reads(tool)
    }

    /// Whether a tool only reads, by its server's own account, which may be wrong.
    pub(crate) fn only_reads(&self, tool: &CatalogEntry) -> bool {
        let origin = &tool.origin;
        let mut servers = self.servers.iter();
        let server = servers.find(|server| server.config.id == origin.toolbox);
        tool.safety == Safety::ReadOnly
            || server.is_some_and(|server| server.declares_read_only(&origin.tool))
    }
}

impl fmt::Debug for StandingRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandingRules")
            .field("added", &self.added)
            .field("file", &self.file)
            .field("reading", &self.reading)
            .finish_non_exhaustive()
    }
}
