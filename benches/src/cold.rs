//! Whole processes: one cold turn with the server that it starts, and what the binary costs by itself.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::json;
use tempfile::TempDir;

use crate::measure::Series;
use crate::plan::Plan;
use crate::process::{Memory, Provider, beside, run};
use crate::provider::ANSWER;

/// A home in which the binary finds a provider and a server.
#[derive(Debug)]
pub struct Home {
    folder: TempDir,
    program: PathBuf,
    /// The provider.
    pub provider: Provider,
    server: PathBuf,
}

/// What cold turns took, from the start of the process to the last byte of the answer.
#[derive(Clone, Debug, Default)]
pub struct Cold {
    /// The floor.
    pub floor: Series,
    /// The most memory that was seen of our process.
    pub memory: Memory,
    /// Ours.
    pub ours: Series,
}

impl Home {
    /// Makes it.
    ///
    /// # Errors
    ///
    /// If the files cannot be written, or a program is missing.
    pub fn new() -> anyhow::Result<Self> {
        Self::with_tools(1)
    }

    /// Makes it, with a server of so many tools.
    ///
    /// # Errors
    ///
    /// If the files cannot be written, or a program is missing.
    pub fn with_tools(tools: usize) -> anyhow::Result<Self> {
        let home = Self {
            folder: tempfile::tempdir()?,
            program: beside("jackfield")?,
            provider: Provider::start()?,
            server: beside("bench-echo")?,
        };
        let folder = home.folder.path().join(".config/jackfield");
        std::fs::create_dir_all(&folder)?;
        let base_url = &home.provider.base_url;
        let config = format!(
            "model = \"bench/bench\"\n\n[providers.bench]\nkind = \"openai-compatible\"\n\
             base_url = \"{base_url}\"\napi_key_env = \"\"\napi = \"chat\"\n"
        );
        std::fs::write(folder.join("jackfield.toml"), config)?;
        let more = [
            "--more-tools".to_owned(),
            tools.saturating_sub(1).to_string(),
        ];
        let server = json!({ "command": home.server, "args": more, "trust": true });
        let servers = json!({ "mcpServers": { "echo": server } });
        std::fs::write(folder.join("mcp-servers.json"), servers.to_string())?;
        Ok(home)
    }

    /// The binary, in this home.
    #[must_use]
    pub fn jackfield(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// The size of the binary in bytes.
    ///
    /// # Errors
    ///
    /// If it cannot be looked at.
    pub fn size(&self) -> anyhow::Result<u64> {
        Ok(self.program.metadata()?.len())
    }

    /// Cold turns of ours and of the floor, turn about.
    ///
    /// # Errors
    ///
    /// If one does not end with the answer.
    pub fn turns(&self, plan: Plan, times: usize) -> anyhow::Result<Cold> {
        let plan = plan.to_string();
        let floor = beside("bench-floor")?;
        let mut cold = Cold::default();
        for _ in 0..times {
            let ran = run(&mut self.jackfield(&["ask", &plan]), false)?;
            ensure!(ran.output.trim() == ANSWER, "ours said: {}", ran.output);
            cold.ours.push(ran.took);
            let mut command = Command::new(&floor);
            command.args([&self.provider.base_url, &self.server.display().to_string()]);
            let ran = run(command.arg(&plan), false)?;
            ensure!(
                ran.output.trim() == ANSWER,
                "the floor said: {}",
                ran.output
            );
            cold.floor.push(ran.took);
        }
        // Apart from the others, because looking takes time.
        let ran = run(&mut self.jackfield(&["ask", &plan]), true)?;
        cold.memory = ran.memory;
        Ok(cold)
    }

    /// How long a command takes to its last byte.
    ///
    /// # Errors
    ///
    /// If it fails.
    pub fn command(&self, arguments: &[&str], times: usize) -> anyhow::Result<Series> {
        let mut series = Series::default();
        for _ in 0..times {
            let ran = run(&mut self.jackfield(arguments), false);
            series.push(ran.with_context(|| arguments.join(" "))?.took);
        }
        Ok(series)
    }
}
