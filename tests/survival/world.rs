//! A world for one turn: a home, a file for the journal, a provider that refuses what is not valid, and
//! a bank whose tools write down what they do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_ports::journal::Journal;
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::mcp::http::ScriptedMcpHttp;
use jackfield_testservers::script::{Script, ScriptPart, ScriptRequest, ScriptTurn};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::shared_database::SharedDatabase;

/// The world of one turn.
pub(crate) struct World {
    pub(crate) claude: ScriptedClaude,
    /// A file, unless the journal is shared.
    database: PathBuf,
    home: TempDir,
    /// The bank, if it is at an address: it lives on when the program dies.
    remote: Option<ScriptedMcpHttp>,
    shared: Option<SharedDatabase>,
}

impl World {
    /// A world in which the bank's tools may run.
    pub(crate) async fn new() -> Self {
        Self::with("[policy.tools]\n\"bank/*\" = \"allow\"").await
    }

    /// A world for the gateway, which offers all tools, with this in the configuration.
    pub(crate) async fn serving(configuration: &str) -> Self {
        Self::with(&format!(
            "{configuration}\n[serve]\noffer = \"all\"\n[policy.tools]\n\"bank/*\" = \"allow\""
        ))
        .await
    }

    /// The same with the journal in a database that several gateways share.
    pub(crate) async fn replicated(shared: SharedDatabase, configuration: &str) -> Self {
        let mut world = Self::scripted(Script::by(answer)).await;
        world.shared = Some(shared);
        world.configure(&format!(
            "{configuration}\n[serve]\noffer = \"all\"\n[policy.tools]\n\"bank/*\" = \"allow\""
        ));
        world
    }

    /// A world with this in the configuration.
    pub(crate) async fn with(configuration: &str) -> Self {
        let world = Self::scripted(Script::by(answer)).await;
        world.configure(configuration);
        world
    }

    /// A world whose provider says what this script says.
    pub(crate) async fn scripted(script: Script) -> Self {
        let home = tempfile::tempdir().expect("a folder can be made");
        let claude = ScriptedClaude::start(script).await;
        let world = Self {
            claude,
            database: home.path().join("jackfield.db"),
            home,
            remote: None,
            shared: None,
        };
        fs::create_dir_all(world.configuration()).expect("the home can be written");
        fs::create_dir(world.path("project")).expect("the home can be written");
        world.configure("");
        world.has_bank(json!({
            "command": beside("scripted-mcp"), "args": [world.path("bank.json")], "trust": true,
        }));
        world.bank_takes(Duration::from_millis(15));
        world
    }

    /// The same with a bank over HTTP, whose calls have these steps.
    pub(crate) fn over_http(mut self, era: &str, steps: &Value) -> Self {
        let mut script = self.bank(steps);
        script["era"] = era.into();
        let remote = ScriptedMcpHttp::start(script).expect("a port can be opened");
        self.has_bank(json!({ "url": remote.url(), "trust": true }));
        self.remote = Some(remote);
        self
    }

    /// The bank is not started before a call once its tools are known, and one start of it lasts: that after there is a
    /// file `slow`, which becomes `starting`, until there is a file `go`.
    pub(crate) fn bank_starts_slowly(&self) {
        let line = r#"if mv "$2/slow" "$2/starting" 2>/dev/null; then while [ ! -e "$2/go" ]; do sleep 0.02; done; fi; exec "$0" "$1""#;
        let (bank, home) = (beside("scripted-mcp"), self.home.path());
        let arguments = json!(["-c", line, bank, self.path("bank.json"), home]);
        self.has_bank(json!({
            "command": "sh", "args": arguments, "lazy": true, "trust": true,
        }));
    }

    fn has_bank(&self, bank: Value) {
        let servers = json!({ "mcpServers": { "bank": bank } });
        let file = self.configuration().join("mcp-servers.json");
        fs::write(file, servers.to_string()).expect("the home can be written");
    }

    /// From the next start of the program on, this is in the configuration.
    pub(crate) fn configure(&self, configuration: &str) {
        let provider = self.claude.base_url();
        let shared = self.shared.as_ref().map(SharedDatabase::configuration);
        let text = format!(
            "providers.claude.base_url = \"{provider}\"\n{}\n{configuration}\n",
            shared.unwrap_or_default()
        );
        let file = self.configuration().join("jackfield.toml");
        fs::write(file, text).expect("the home can be written");
    }

    /// The same with the journal's file in a folder of its home that is there already.
    pub(crate) fn keeping_in(self, folder: &str) -> Self {
        Self {
            database: self.path(folder).join("jackfield.db"),
            ..self
        }
    }

    /// From its next start on, every call of the bank takes this long after it has done its work.
    pub(crate) fn bank_takes(&self, time: Duration) {
        let steps = json!([
            { "progress": [1, 2, "it is done"] },
            { "sleep": time.as_millis() },
            { "text": "done" },
        ]);
        let script = self.bank(&steps);
        fs::write(self.path("bank.json"), script.to_string()).expect("the home can be written");
    }

    /// From its next start on, every call of the bank waits, after it has done its work, until the bank
    /// [goes on](Self::bank_goes_on).
    pub(crate) fn bank_waits(&self) {
        let steps = json!([
            { "progress": [1, 2, "it is done"] },
            { "until": self.path("bank-goes-on") },
            { "text": "done" },
        ]);
        let script = self.bank(&steps);
        fs::write(self.path("bank.json"), script.to_string()).expect("the home can be written");
    }

    /// Lets all calls of the bank end.
    pub(crate) fn bank_goes_on(&self) {
        fs::write(self.path("bank-goes-on"), "").expect("the home can be written");
    }

    /// The bank's script, with these steps of each call.
    fn bank(&self, steps: &Value) -> Value {
        let tool = |name: &str, annotations: Value| {
            json!({
                "name": name,
                "description": "A tool of the bank.",
                "inputSchema": { "type": "object" },
                "annotations": annotations,
            })
        };
        json!({
            "effects": self.effects_file(),
            "log": self.path("bank.log"),
            "tools": [
                tool("balance", json!({ "readOnlyHint": true })),
                tool("limit", json!({ "readOnlyHint": false, "idempotentHint": true })),
                tool("pay", json!({ "readOnlyHint": false, "idempotentHint": false })),
            ],
            "calls": { "balance": steps, "limit": steps, "pay": steps },
        })
    }

    /// The program, which dies where this says.
    pub(crate) fn program(&self, arguments: &[&str], crash: Option<&str>) -> Command {
        let mut command = Command::new(beside("jackfield"));
        command
            .args(arguments)
            .current_dir(self.path("project"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("XDG_CONFIG_HOME", self.path(".config"))
            .env("XDG_DATA_HOME", self.path(".data"))
            .env("ANTHROPIC_API_KEY", "sk-survival-never-to-be-seen")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(crash) = crash {
            command.env("JACKFIELD_CRASH", crash);
        }
        command
    }

    /// The program with these arguments, on the journal.
    pub(crate) fn about(&self, arguments: &[&str], crash: Option<&str>) -> Command {
        let mut program = self.program(arguments, crash);
        if self.shared.is_none() {
            program.arg("--db").arg(self.database());
        }
        program
    }

    /// The journal, as one more process has it; `None` if nothing has made it.
    pub(crate) fn journal(&self) -> Option<Box<dyn Journal>> {
        if let Some(shared) = &self.shared {
            return Some(Box::new(shared.open()));
        }
        if !self.database.exists() {
            return None;
        }
        let journal = SqliteJournal::open(&self.database, Options::default());
        let journal = journal.expect("the journal opens, whatever befell the program");
        Some(Box::new(journal))
    }

    /// The program that begins the turn.
    pub(crate) fn ask(&self, crash: Option<&str>) -> Command {
        self.about(&["ask", "--json", "--session", SESSION, QUESTION], crash)
    }

    /// The program that goes on with it.
    pub(crate) fn resume(&self, crash: Option<&str>) -> Command {
        self.about(&["sessions", "resume", "--json", SESSION], crash)
    }

    /// The same, whatever a person would have to be asked first.
    pub(crate) fn resume_again(&self) -> Command {
        self.about(&["sessions", "resume", "--json", "--again", SESSION], None)
    }

    /// What the bank did so far, in order.
    pub(crate) fn effects(&self) -> Vec<Value> {
        let effects = fs::read_to_string(self.effects_file()).unwrap_or_default();
        let lines = effects.lines().map(serde_json::from_str);
        lines.map(|line| line.expect("an effect is JSON")).collect()
    }

    /// What the bank found wrong with what it was told.
    pub(crate) fn bank_violations(&self) -> Vec<String> {
        self.bank_logged("violation")
    }

    /// The lines of the bank's log that begin so.
    pub(crate) fn bank_logged(&self, begin: &str) -> Vec<String> {
        let log = fs::read_to_string(self.path("bank.log")).unwrap_or_default();
        let lines = log.lines().filter(|line| line.starts_with(begin));
        lines.map(str::to_owned).collect()
    }

    /// The journal's file.
    pub(crate) fn database(&self) -> PathBuf {
        self.database.clone()
    }

    /// The journal's files as they are, while nobody has them open: with the witness, without which it would
    /// be seen that a copy is older.
    pub(crate) fn copied(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let files = [
            "jackfield.db",
            "jackfield.db-shm",
            "jackfield.db-wal",
            "jackfield.db-witness",
        ];
        let copies = files.map(|name| {
            let path = self.path(name);
            let bytes = fs::read(&path).ok();
            (path, bytes)
        });
        copies.into()
    }

    /// Puts an older copy of the journal's files in their place.
    pub(crate) fn put_back(&self, copy: &[(PathBuf, Option<Vec<u8>>)]) {
        for (path, bytes) in copy {
            match bytes {
                Some(bytes) => fs::write(path, bytes).expect("the home can be written"),
                // It may never have been there.
                None => drop(fs::remove_file(path)),
            }
        }
    }

    fn configuration(&self) -> PathBuf {
        self.path(".config/jackfield")
    }

    fn effects_file(&self) -> PathBuf {
        self.path("effects")
    }

    /// A place in its home.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }
}

/// The session of every world.
pub(crate) fn session() -> SessionId {
    SessionId::parse(SESSION).expect("a valid id")
}

/// What the provider says, by what it is sent alone: a round that is asked for again is answered in the
/// same way.
fn answer(asked: &ScriptRequest<'_>) -> Option<ScriptTurn> {
    let messages = asked.body["messages"].as_array()?;
    let replies = messages
        .iter()
        .filter(|message| message["role"] == "assistant");
    let first = || {
        ScriptTurn::text("I look at the balance, raise the limit, and pay.")
            .and(call("balance", 1))
            .and(call("limit", 1))
            .and(call("pay", 1))
            .and(call("pay", 2))
    };
    let tools = asked.body["tools"].as_array();
    let brings = tools.is_some_and(|tools| tools.iter().any(|tool| tool["name"] == "stamp"));
    Some(match replies.count() {
        // A client that brings a tool of its own is to use it, too.
        0 if brings => first().and(ScriptPart::Call {
            arguments: "{}".to_owned(),
            id: None,
            name: "stamp".to_owned(),
        }),
        0 => first(),
        1 => ScriptTurn::text("Now the rest.")
            .and(call("pay", 3))
            .and(call("balance", 2)),
        _ => ScriptTurn::text(ANSWER),
    })
}

fn call(tool: &str, nth: u32) -> ScriptPart {
    ScriptPart::Call {
        arguments: json!({ "nth": nth }).to_string(),
        id: None,
        name: format!("bank__{tool}"),
    }
}

/// A binary beside the tests.
fn beside(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("a process knows its program");
    let folder = this.ancestors().nth(2).unwrap_or_else(|| Path::new("."));
    let binary = folder.join(name);
    assert!(
        binary.is_file(),
        "{} is not there: `cargo xtask survival` builds it",
        binary.display()
    );
    binary
}

/// What a turn ends with that nothing befalls.
pub(crate) const ANSWER: &str = "Everything is paid, and the balance is as it should be.";
const QUESTION: &str = "Pay the three bills, and tell me what is left.";
const SESSION: &str = "survivor";
