//! The arguments of `jackfield notes-server`.

use std::path::PathBuf;

use clap::ValueEnum;

/// `jackfield notes-server`
#[derive(Clone, Debug, clap::Args)]
pub struct NotesServer {
    /// The file of the notes; it is made if there is none.
    #[arg(value_name = "FILE", required_unless_present = "samples")]
    pub file: Option<PathBuf>,
    /// Whose notes they are; the name under which others share notes with this person.
    #[arg(long, value_name = "NAME", required_unless_present = "samples")]
    pub person: Option<String>,
    /// Offer the tools of the person's own notes alone, or those of shared notes.
    #[arg(long, value_enum, value_name = "KIND")]
    pub only: Option<NotesKind>,
    /// Serve sample notes in memory instead of a file.
    #[arg(long, conflicts_with_all = ["file", "person"])]
    pub samples: bool,
}

/// Which notes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum NotesKind {
    /// The person's own.
    Private,
    /// Those of others.
    Shared,
}

pub(super) const EXAMPLES: &str = r#"Examples:
  jackfield notes-server notes.db --person ann
  jackfield notes-server notes.db --person ann --only shared

In mcp-servers.json, both halves with prefixes of their own:
  {"mcpServers": {
    "private": {"command": "jackfield", "args": ["notes-server", "notes.db", "--person", "ann", "--only", "private"],
                "prefix": "private_", "trust": true},
    "shared":  {"command": "jackfield", "args": ["notes-server", "notes.db", "--person", "ann", "--only", "shared"],
                "prefix": "shared_", "trust": true}
  }}"#;
