//! Configured approvers, which decide before a person is asked: a program of the user, or a tool of an MCP
//! server.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::tool::ToolOrigin;
use jackfield_engine::{ApprovalRequest, Approver, Decision, EngineBuilder};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::place::{ConfigProblem, ValueSource};

/// The configured approver.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ApprovalsConfig {
    /// A program with its arguments, and where it is configured.
    pub command: Option<(Vec<String>, ValueSource)>,
    /// The time limit of its answer.
    pub timeout: Duration,
    /// A tool, as `server/tool`, and where it is configured.
    pub tool: Option<(Arc<str>, ValueSource)>,
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        Self {
            command: None,
            timeout: Duration::from_secs(30),
            tool: None,
        }
    }
}

impl ApprovalsConfig {
    /// Adds the approver to an engine. `is_there` returns whether a server exists.
    pub(crate) fn join(
        &self,
        builder: EngineBuilder,
        is_there: impl Fn(&ToolboxId) -> bool,
    ) -> Result<EngineBuilder, ConfigProblem> {
        match (&self.command, &self.tool) {
            (None, None) => Ok(builder),
            (Some(_), Some((_, place))) => {
                let message = "there is a `command`, too, and only one of the two is asked";
                Err(ConfigProblem::new(place.clone(), message).with_help("leave one of them out"))
            }
            (Some((command, place)), None) => match command.split_first() {
                Some((program, arguments)) if !program.trim().is_empty() => {
                    Ok(builder.approver(Arc::new(Program {
                        arguments: arguments.to_vec(),
                        name: format!("`{program}`").into(),
                        program: program.clone(),
                        timeout: self.timeout,
                    })))
                }
                Some(_) | None => {
                    let problem = ConfigProblem::new(place.clone(), "there is no program in it");
                    Err(problem.with_help("write it as `command = [\"may-it-run\", \"--strict\"]`"))
                }
            },
            (None, Some((tool, place))) => {
                let origin = origin(tool).filter(|origin| is_there(&origin.toolbox));
                let Some(origin) = origin else {
                    let message = format!("there is no server with a tool `{tool}`");
                    let help = "name a tool of one of your MCP servers, as `server/tool`";
                    return Err(ConfigProblem::new(place.clone(), message).with_help(help));
                };
                Ok(builder.approving_tool(origin, self.timeout))
            }
        }
    }
}

fn origin(tool: &str) -> Option<ToolOrigin> {
    let (toolbox, tool) = tool.split_once('/')?;
    (!tool.is_empty()).then_some(())?;
    Some(ToolOrigin {
        tool: tool.into(),
        toolbox: ToolboxId::parse(toolbox).ok()?,
    })
}

/// An approver program: reads a call as JSON on standard input, and writes a decision as JSON on standard output.
struct Program {
    arguments: Vec<String>,
    name: Arc<str>,
    program: String,
    timeout: Duration,
}

#[async_trait]
impl Approver for Program {
    fn name(&self) -> &str {
        &self.name
    }

    async fn decide(&self, request: &ApprovalRequest) -> Decision {
        let limit = self.timeout;
        let decided = tokio::time::timeout(limit, self.run(request)).await;
        let decided =
            decided.unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs_f64())));
        decided.unwrap_or_else(|why| Decision::failed(&self.name, &why))
    }
}

impl Program {
    async fn run(&self, request: &ApprovalRequest) -> Result<Decision, String> {
        let mut running = self
            .start()
            .map_err(|error| format!("it cannot be started: {error}"))?;
        let question = Value::Object(request.to_json()).to_string();
        let streams = (
            running.child.stdin.take(),
            running.child.stdout.take(),
            running.child.stderr.take(),
        );
        let (Some(mut input), Some(output), Some(errors)) = streams else {
            return Err("it has no pipes".to_owned());
        };
        let tell = async move {
            // A program may decide without reading.
            let _read = input.write_all(question.as_bytes()).await;
        };
        // A child that it leaves running would hold the streams open, so that is not waited for.
        let (answer, said, (), ended) =
            tokio::join!(read(output), read(errors), tell, running.end());
        let answer = answer.ok_or("its answer is longer than 1 MiB")?;
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            let said = String::from_utf8_lossy(&said);
            tracing::info!(
                approver = &*self.name,
                said = said.trim(),
                "an approver says"
            );
        }
        let ended = ended.map_err(|error| format!("its end is not known: {error}"))?;
        if !ended.success() {
            return Err(match ended.code() {
                Some(code) => format!("it ended with code {code}"),
                None => "it was ended by a signal".to_owned(),
            });
        }
        Decision::read(&answer)
    }

    fn start(&self) -> io::Result<ApprovalProcess> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A process group of its own, so that its children end with it, and Ctrl-C at the terminal does not reach
        // it.
        #[cfg(unix)]
        command.process_group(0);
        command.spawn().map(|child| ApprovalProcess { child })
    }
}

/// A running program. Dropping it kills its process group.
struct ApprovalProcess {
    child: Child,
}

impl ApprovalProcess {
    /// Waits for its exit, and kills the rest of its process group.
    async fn end(&mut self) -> io::Result<ExitStatus> {
        let group = self.group();
        let ended = self.child.wait().await;
        // The group id is not reused while a member of the group exists.
        kill(group);
        ended
    }

    /// The id of its process group; `None` once its exit was observed, as the id may be reused then.
    fn group(&self) -> Option<u32> {
        self.child.id()
    }
}

impl Drop for ApprovalProcess {
    fn drop(&mut self) {
        kill(self.group());
    }
}

/// Kills a process group.
fn kill(group: Option<u32>) {
    #[cfg(unix)]
    if let Some(group) = group
        .and_then(|id| i32::try_from(id).ok())
        .and_then(rustix::process::Pid::from_raw)
    {
        use rustix::process::{Signal, kill_process_group};
        let _gone = kill_process_group(group, Signal::KILL);
    }
    #[cfg(not(unix))]
    let _none = group;
}

/// Reads a stream to its end; `None` if it is too long.
async fn read(mut stream: impl AsyncRead + Unpin) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    // The output before a read error is truncated, and does not parse as an answer.
    let _broken = (&mut stream).take(most).read_to_end(&mut bytes).await;
    (bytes.len() <= MAX_BYTES).then_some(bytes)
}

/// The variables that programs need, without keys.
fn environment() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        PASSED.contains(&&*name) || name.starts_with("LC_")
    })
}

/// The maximum length of an answer, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The variables passed on.
const PASSED: &[&str] = &[
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
];
