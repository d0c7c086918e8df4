//! The settings of the program.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_guard::GuardProgram;
use jackfield_provider_kit::secret::Secret;

/// How Claude Code is started, and what it may do.
#[derive(Clone)]
#[non_exhaustive]
pub struct ClaudeCodeConfig {
    /// Permission rules for its own tools, such as `Bash(git *)`; for what they do not cover, the loop is asked.
    pub allowed_tools: Vec<String>,
    /// Further arguments, before ours.
    pub arguments: Vec<String>,
    /// The address of the API that it calls; `None` is its vendor's.
    pub base_url: Option<Arc<str>>,
    /// The names of its own tools that are on, such as `Read`. None by default.
    pub builtin_tools: Vec<String>,
    /// The program: a name that is looked up in `PATH`, or a path.
    pub command: String,
    /// Variables beside the few that every program gets.
    pub environment: Vec<(String, String)>,
    /// Its working directory, which is created if it is missing. Sessions belong to it.
    pub folder: PathBuf,
    /// How long it may take to end.
    pub grace: Duration,
    /// The guard that ends it when we are gone.
    pub guard: Option<GuardProgram>,
    /// The API key; without one, its own login counts.
    pub key: Option<Secret>,
    /// The most processes at a time. Where a further one is needed, the process that waits longest for results ends;
    /// if none waits, a turn waits for [`process_wait`](Self::process_wait), and fails then.
    pub max_processes: usize,
    /// The most rounds with tools that one process makes, its own tools included; `None` are those of the turn.
    pub max_turns: Option<u32>,
    /// How long a turn waits for a process of another one to end.
    pub process_wait: Duration,
    /// How long it may be silent while it works.
    pub silence: Duration,
    /// How long it may take until it answers the first message.
    pub start_limit: Duration,
    /// How long a process waits for results before it is ended; a later round resumes its session.
    pub wait_limit: Duration,
}

impl ClaudeCodeConfig {
    /// Settings with this working directory, and defaults for the rest.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            allowed_tools: Vec::new(),
            arguments: Vec::new(),
            base_url: None,
            builtin_tools: Vec::new(),
            command: "claude".to_owned(),
            environment: Vec::new(),
            folder: folder.into(),
            grace: Duration::from_secs(3),
            guard: None,
            key: None,
            max_processes: 16,
            max_turns: None,
            process_wait: Duration::from_secs(30),
            silence: Duration::from_mins(5),
            start_limit: Duration::from_secs(30),
            wait_limit: Duration::from_mins(10),
        }
    }
}

impl fmt::Debug for ClaudeCodeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values of variables may be keys.
        let names: Vec<&str> = self.environment.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("ClaudeCodeConfig")
            .field("builtin_tools", &self.builtin_tools)
            .field("command", &self.command)
            .field("environment", &names)
            .field("folder", &self.folder)
            .field("max_processes", &self.max_processes)
            .field("max_turns", &self.max_turns)
            .finish_non_exhaustive()
    }
}
