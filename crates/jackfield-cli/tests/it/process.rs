//! The real binary, on a machine that has nothing of the real one.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A run of the binary, to be.
pub(crate) struct Jackfield {
    command: Command,
    folder: TempDir,
    stdin: Option<Vec<u8>>,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) err: String,
    pub(crate) out: String,
}

/// The binary with these arguments: no environment, an empty home, a project in it.
pub(crate) fn jackfield<const N: usize>(arguments: [&str; N]) -> Jackfield {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    fs::create_dir(&project).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
    command.args(arguments).env_clear().current_dir(project);
    command
        .env("HOME", folder.path())
        .env("USERPROFILE", folder.path());
    command.env("XDG_CONFIG_HOME", folder.path().join(".config"));
    Jackfield {
        command,
        folder,
        stdin: None,
    }
}

impl Jackfield {
    pub(crate) fn arg(mut self, argument: &str) -> Self {
        self.command.arg(argument);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Writes the user's own configuration file.
    pub(crate) fn configured(self, text: impl AsRef<[u8]>) -> Self {
        let path = self.config_file();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a file below the home.
    pub(crate) fn in_home(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a file beside it.
    pub(crate) fn beside_config(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.config_file().with_file_name(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Has a key and a provider at this address.
    pub(crate) fn at(self, base_url: &str) -> Self {
        self.configured_at(base_url, "")
    }

    /// The same, with more in the file.
    pub(crate) fn configured_at(self, base_url: &str, more: &str) -> Self {
        self.env("ANTHROPIC_API_KEY", "sk-test-key")
            .configured(format!(
                "[providers.claude]\nbase_url = \"{base_url}\"\n{more}"
            ))
    }

    pub(crate) fn config_file(&self) -> PathBuf {
        self.folder.path().join(".config/jackfield/jackfield.toml")
    }

    pub(crate) fn spawn(&mut self) -> Child {
        let stdin = if self.stdin.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        self.command
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs it to its end, off the runtime's own threads.
    pub(crate) async fn run_beside(self) -> Ran {
        tokio::task::spawn_blocking(|| self.run()).await.unwrap()
    }

    /// Runs it to its end.
    pub(crate) fn run(mut self) -> Ran {
        let mut child = self.spawn();
        if let Some(bytes) = self.stdin.take() {
            // A program that has read enough closes the pipe.
            let _written = child.stdin.take().unwrap().write_all(&bytes);
        }
        let output = child.wait_with_output().unwrap();
        let home = self.folder.path().display().to_string();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&home, "~");
        Ran {
            code: output.status.code(),
            err: text(output.stderr),
            out: text(output.stdout),
        }
    }
}
