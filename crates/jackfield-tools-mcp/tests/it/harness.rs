//! A scripted server behind a toolbox, and what came of it.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test ends where its world fails"
)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use jackfield_domain::failure::ToolFailure;
use jackfield_domain::ids::{IdempotencyKey, ToolAttempt, ToolCallId, ToolboxId};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{ToolOrigin, ToolSpec};
use jackfield_domain::tool_input::{JsonInput, ToolInput};
use jackfield_domain::wait::JobHandle;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::toolbox::{ToolEnd, ToolEvents, Toolbox as _};
use jackfield_testservers::mcp::http::ScriptedMcpHttp;
use jackfield_tools_mcp::{
    ClientSettings, GuardProgram, HttpEndpoint, McpToolbox, ServerConfig, ServerMemory,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A toolbox over a scripted server.
pub(crate) struct Scripted {
    config: ServerConfig,
    folder: TempDir,
    /// The server, if it is reached over HTTP.
    pub(crate) http: Option<ScriptedMcpHttp>,
    settings: ClientSettings,
    pub(crate) toolbox: Arc<McpToolbox>,
}

impl Scripted {
    /// A server with this script, and short times.
    pub(crate) fn new(script: Value) -> Self {
        Self::with(script, |_, _| ())
    }

    /// The same, with other settings.
    pub(crate) fn with(
        mut script: Value,
        change: impl FnOnce(&mut ServerConfig, &mut ClientSettings),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        script["effects"] = json!(folder.path().join("effects"));
        script["log"] = json!(folder.path().join("log"));
        let mut config = config(&script);
        // A script may be longer than an argument may be.
        let file = folder.path().join("script");
        std::fs::write(&file, script.to_string()).unwrap();
        config.arguments = vec![file.display().to_string()];
        let mut settings = settings();
        change(&mut config, &mut settings);
        let toolbox = McpToolbox::new(config.clone(), settings.clone());
        Self {
            config,
            folder,
            http: None,
            settings,
            toolbox: Arc::new(toolbox),
        }
    }

    /// A server over HTTP with this script, and short times.
    pub(crate) fn over_http(script: Value) -> Self {
        Self::over_http_with(script, |_, _| ())
    }

    /// The same, with other settings.
    pub(crate) fn over_http_with(
        mut script: Value,
        change: impl FnOnce(&mut ServerConfig, &mut ClientSettings),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        script["effects"] = json!(folder.path().join("effects"));
        script["log"] = json!(folder.path().join("log"));
        let http = ScriptedMcpHttp::start(script).unwrap();
        let endpoint = HttpEndpoint {
            headers: Vec::new(),
            url: http.url(),
        };
        let mut config = ServerConfig::at(ToolboxId::parse("scripted").unwrap(), endpoint);
        let mut settings = settings();
        change(&mut config, &mut settings);
        let toolbox = McpToolbox::new(config.clone(), settings.clone());
        Self {
            config,
            folder,
            http: Some(http),
            settings,
            toolbox: Arc::new(toolbox),
        }
    }

    /// A toolbox with the same configuration, as the next process has it.
    pub(crate) fn restarted(&self) -> Arc<McpToolbox> {
        Arc::new(self.another())
    }

    /// The same, without a handle to share it by.
    pub(crate) fn another(&self) -> McpToolbox {
        McpToolbox::new(self.config.clone(), self.settings.clone())
    }

    /// The same, with what the first process remembers.
    pub(crate) fn restarted_with(&self, remembered: ServerMemory) -> McpToolbox {
        let (config, settings) = (self.config.clone(), self.settings.clone());
        McpToolbox::new(config, settings).remembering(remembered)
    }

    /// The effects of all calls, with the key of each.
    pub(crate) fn effects(&self) -> Vec<Value> {
        let effects = std::fs::read_to_string(self.folder.path().join("effects"));
        let effects = effects.unwrap_or_default();
        let effects = effects.lines().map(serde_json::from_str);
        effects.map(Result::unwrap).collect()
    }

    /// What the server wrote down.
    pub(crate) fn log(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log"));
        log.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Its processes, those that have ended included.
    pub(crate) fn processes(&self) -> Vec<String> {
        let log = self.log();
        let starts = log.iter().filter_map(|line| line.strip_prefix("start "));
        starts.map(str::to_owned).collect()
    }

    /// How many lines of the log begin so.
    pub(crate) fn count(&self, begin: &str) -> usize {
        let lines = self.log();
        lines.iter().filter(|line| line.starts_with(begin)).count()
    }

    /// Waits until this many lines of the log begin so.
    pub(crate) async fn until(&self, begin: &str, times: usize) {
        soon(async {
            while self.count(begin) < times {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
    }

    /// The client kept the rules.
    #[track_caller]
    pub(crate) fn kept(&self) {
        let log = self.log();
        let violations: Vec<_> = log
            .iter()
            .filter(|line| line.starts_with("violation"))
            .collect();
        assert!(violations.is_empty(), "{violations:?}");
    }

    pub(crate) async fn list(&self) -> Vec<ToolSpec> {
        soon(self.toolbox.list()).await.unwrap()
    }

    /// All problems of the last list.
    pub(crate) fn problems(&self) -> Vec<String> {
        let problems = self.toolbox.problems().into_iter();
        problems.chain(self.toolbox.skipped_tools()).collect()
    }

    pub(crate) async fn names(&self) -> Vec<String> {
        let tools = self.list().await;
        tools.iter().map(|tool| tool.name.to_string()).collect()
    }

    pub(crate) async fn end(&self, run: &ToolRun) -> Result<ToolEnd, ToolFailure> {
        let end = soon(self.toolbox.call(run, &CallContext::default(), &mut ())).await;
        end.map_err(|error| error.failure)
    }

    /// The result of a call, which has to be one.
    pub(crate) async fn result(&self, tool: &str, arguments: Value) -> ToolResult {
        match self.end(&run(tool, arguments)).await {
            Ok(ToolEnd::Finished(result)) => result,
            other @ (Ok(ToolEnd::Asked { .. }) | Err(_)) => panic!("{other:?}"),
        }
    }

    /// The failure of a call, which has to be one.
    pub(crate) async fn failure(&self, tool: &str) -> ToolFailure {
        self.end(&run(tool, json!({}))).await.unwrap_err()
    }
}

pub(crate) fn config(script: &Value) -> ServerConfig {
    let program = program("scripted-mcp").display().to_string();
    let mut config = ServerConfig::new(ToolboxId::parse("scripted").unwrap(), program);
    config.arguments = vec![script.to_string()];
    config
}

/// Settings with short times, and a guard.
pub(crate) fn settings() -> ClientSettings {
    ClientSettings {
        backoff: Duration::from_millis(20),
        grace: Duration::from_millis(300),
        guard: Some(GuardProgram {
            arguments: vec!["guard".into()],
            program: program("examples/host"),
        }),
        list_lifetime: Duration::ZERO,
        probe: Duration::from_millis(300),
        start_limit: Duration::from_secs(60),
        ..ClientSettings::default()
    }
}

/// A definition of a tool.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Scripted.", "inputSchema": { "type": "object" } })
}

/// A script with one tool that does this.
pub(crate) fn script(name: &str, steps: &Value) -> Value {
    json!({ "tools": [tool(name)], "calls": { name: steps } })
}

/// Lets the server of this configuration start through a line of the shell, in which `"$0" "$1"` is it.
pub(crate) fn through_shell(config: &mut ServerConfig, line: &str) {
    let program = std::mem::replace(&mut config.command, "sh".to_owned());
    let script = std::mem::take(&mut config.arguments);
    config.arguments = vec!["-c".to_owned(), line.to_owned(), program];
    config.arguments.extend(script);
}

/// A run of a tool, each under an id of its own.
pub(crate) fn run(tool: &str, arguments: Value) -> ToolRun {
    static RUNS: Mutex<u32> = Mutex::new(0);
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    *runs += 1;
    let call = ToolCallId::parse(&format!("call_{runs}")).unwrap();
    let Value::Object(fields) = arguments else {
        panic!("arguments are an object");
    };
    ToolRun {
        fresh: false,
        input: ToolInput::Json(JsonInput::from(fields)),
        key: IdempotencyKey::derive(&call),
        attempt: ToolAttempt { call, attempt: 1 },
        max_bytes: 1 << 20,
        time_limit: Duration::from_secs(300),
        tool: ToolOrigin {
            tool: tool.into(),
            toolbox: ToolboxId::parse("scripted").unwrap(),
        },
    }
}

/// What happens on the way.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) accepted: Vec<JobHandle>,
    pub(crate) progress: Vec<(f64, Option<f64>, Option<String>)>,
}

#[async_trait]
impl ToolEvents for Heard {
    async fn on_accepted(&mut self, handle: JobHandle) {
        self.accepted.push(handle);
    }

    async fn on_progress(&mut self, done: f64, of: Option<f64>, message: Option<String>) {
        self.progress.push((done, of, message));
    }
}

/// Whether there is such a process, and it has not ended.
pub(crate) fn is_alive(pid: &str) -> bool {
    if cfg!(target_os = "linux") {
        let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
        let state = stat.as_deref().ok().and_then(|stat| stat.rsplit_once(") "));
        return state.is_some_and(|(_, state)| !state.starts_with('Z'));
    }
    let mut list = Command::new("ps");
    let listed = list.args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&listed.stdout);
    !state.trim().is_empty() && !state.starts_with('Z')
}

/// What has to come, and comes: what never comes fails here instead of hanging.
pub(crate) async fn soon<T>(answer: impl Future<Output = T>) -> T {
    let answered = tokio::time::timeout(Duration::from_secs(60), answer).await;
    answered.expect("an answer within 60 seconds")
}

/// A program beside the tests. `cargo test` builds them before they run, unless only the tests were
/// asked for: what is not there, or older than its source, is built now.
pub(crate) fn program(name: &str) -> PathBuf {
    static BUILDING: Mutex<()> = Mutex::new(());
    let this = std::env::current_exe().unwrap();
    let folder = this.ancestors().nth(2).unwrap_or_else(|| Path::new("."));
    let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (source, wanted) = match name.strip_prefix("examples/") {
        Some(example) => (
            here.join("src"),
            ["-p", env!("CARGO_PKG_NAME"), "--example", example],
        ),
        None => (
            here.with_file_name("jackfield-testservers").join("src"),
            ["-p", "jackfield-testservers", "--bin", name],
        ),
    };
    let building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let built = program.metadata().and_then(|file| file.modified()).ok();
    if built.is_none_or(|built| built < newest(&source)) {
        // What is written during the build is not in it.
        let began = SystemTime::now();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet"]).args(wanted);
        let target = folder.parent().unwrap_or(folder);
        build.arg("--target-dir").arg(target).current_dir(here);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let done = build.status().is_ok_and(|status| status.success());
        let shown = program.display();
        assert!(done && program.is_file(), "{shown} cannot be built");
        // What did not have to be built again is as good as new.
        let file = std::fs::File::open(&program).unwrap();
        file.set_modified(began).unwrap();
    }
    drop(building);
    program
}

/// When the newest file below this folder was written.
fn newest(folder: &Path) -> SystemTime {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let written = if path.is_dir() {
            self::newest(&path)
        } else {
            entry.metadata().unwrap().modified().unwrap()
        };
        newest = newest.max(written);
    }
    newest
}
