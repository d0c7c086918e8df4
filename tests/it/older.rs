//! The file of the sessions is damaged, or older than what was written to it: no call with an effect is made
//! once more, and that something is missing is said.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_ports::journal::Journal as _;
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testkit::server::{Gate, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Gateway, Jackfield, Running, jackfield};

/// A bank behind a web API, which is paid at, and a model that pays.
struct World {
    bank: TestServer,
    claude: ScriptedClaude,
    folder: TempDir,
}

impl World {
    async fn new(script: impl Into<Script>) -> Self {
        Self {
            bank: TestServer::start().await,
            claude: ScriptedClaude::start(script).await,
            folder: tempfile::tempdir().expect("a folder can be made"),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("kept.db")
    }

    fn on(&self, file: &Path, arguments: &[&str]) -> Jackfield {
        let more = format!(
            "[policy.tools]\n\"web/*\" = \"allow\"\n\
             [network]\nallow_private = [\"127.0.0.1\"]\n\
             [web.tools.pay]\ndescription = \"Pays\"\nmethod = \"POST\"\nurl = \"{}/pay\"",
            self.bank.base_url()
        );
        let run = jackfield([]).more(arguments).env("JACKFIELD_DB", file);
        run.at_with(&self.claude.base_url(), &more)
    }

    /// Begins the turn that pays.
    fn pays(&self) -> Running {
        let file = self.file();
        let ask = self.on(&file, &["ask", "--session", "one", "--json", "Pay."]);
        ask.start()
    }

    /// The files as they are, in a folder of their own.
    fn copy(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        fs::create_dir(&folder).expect("a folder");
        let to = folder.join("kept.db");
        for suffix in ["", "-wal", "-witness"] {
            let from = beside(&self.file(), suffix);
            if from.exists() {
                fs::copy(from, beside(&to, suffix)).expect("a copy");
            }
        }
        to
    }

    /// How often was paid, and the model asked.
    fn done(&self) -> (usize, usize) {
        (self.bank.requests().len(), self.claude.requests().len())
    }

    /// Looks at a file in which the open turn, if it is there, is older than what was done.
    async fn is_older(&self, file: &Path, what: &str) {
        let done = self.done();
        let resumed = self.on(file, &["sessions", "resume", "one"]).run().await;
        // Before the first append there is no turn, either.
        let gone = ["there is no session", "has no open turn"];
        let is_gone = gone.iter().any(|gone| resumed.err.contains(gone));
        assert!(
            is_gone || resumed.code == Some(12) && resumed.err.contains("restored from a copy"),
            "{what}: {:?} {}",
            resumed.code,
            resumed.err
        );
        let list = self.on(file, &["sessions", "list"]).run().await;
        assert_eq!(list.code, Some(13), "{what}: {}", list.err);
        let said = "is older than what was written to it: session one had";
        assert!(list.err.contains(said), "{what}: {}", list.err);
        assert!(list.err.contains("-restored"), "{what}: {}", list.err);
        assert_eq!(
            list.out.contains("parked"),
            !is_gone,
            "{what}: {}",
            list.out
        );
        assert_eq!(self.done(), done, "{what}");
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Where the commits of a log end.
fn commits(log: &[u8]) -> Vec<usize> {
    let frames = (LOG_HEADER..log.len()).step_by(FRAME);
    let is_commit = |at: &usize| log.get(at + 4..at + 8).is_some_and(|size| size != [0; 4]);
    frames.filter(is_commit).map(|at| at + FRAME).collect()
}

/// A turn that has paid and is killed while the model is asked what to say of it.
async fn paid() -> World {
    let gate = Gate::new();
    let world = World::new([
        ScriptTurn::call("web__pay", &json!({})),
        ScriptTurn::text("It is paid.").pause_after(2, &gate),
        ScriptTurn::text("It is paid.").again(),
    ])
    .await;
    world.bank.answer(Response::json(200, r#"{"paid":true}"#));
    world
        .bank
        .answer(Response::json(200, r#"{"paid":"again"}"#));
    let running = world.pays();
    gate.reached().await;
    running.kill();
    running.end().await;
    gate.open();
    assert_eq!(world.done(), (1, 2));
    world
}

#[tokio::test]
async fn a_log_that_was_cut_at_any_commit_repeats_no_payment() {
    let world = paid().await;
    let log = fs::read(beside(&world.file(), "-wal")).expect("a log");
    let ends = commits(&log);
    assert!(ends.len() > 3, "{ends:?}");
    for end in &ends[..ends.len() - 1] {
        let copy = world.copy(&format!("cut-{end}"));
        fs::write(beside(&copy, "-wal"), &log[..*end]).expect("written");
        world.is_older(&copy, &format!("cut at {end}")).await;
    }
    for (name, from) in [("half", log.len() / 2), ("head", 0)] {
        let copy = world.copy(name);
        let mut garbage = log.clone();
        garbage[from..].fill(0xa5);
        fs::write(beside(&copy, "-wal"), garbage).expect("written");
        world.is_older(&copy, name).await;
        let copy = world.copy(&format!("cut-{name}"));
        fs::write(beside(&copy, "-wal"), &log[..from + 100]).expect("written");
        world.is_older(&copy, &format!("cut within {name}")).await;
    }
    // What nobody touched goes on, and pays nothing twice.
    let resumed = world.on(&world.file(), &["sessions", "resume", "one"]);
    resumed.run().await.answers("It is paid.\n");
    assert_eq!(world.done(), (1, 3));
}

#[tokio::test]
async fn a_gateway_leaves_what_was_restored_to_a_person_and_says_so() {
    let world = paid().await;
    let log = fs::read(beside(&world.file(), "-wal")).expect("a log");
    let ends = commits(&log);
    let copy = world.copy("cut");
    // The payment was asked for, and that it was made is lost.
    let end = ends[ends.len() - 2];
    fs::write(beside(&copy, "-wal"), &log[..end]).expect("written");
    let serve = world.on(&copy, &["serve", "--bind", "127.0.0.1:0"]);
    let gateway = Gateway::listening(serve.start()).await;
    let said = gateway.running.err.so_far();
    assert!(said.contains("older than what was written to it"), "{said}");
    assert!(said.contains("1 turn is parked"), "{said}");
    gateway.end().await;
    assert_eq!(world.done(), (1, 2));
    let doctor = world.on(&copy, &["doctor", "--offline"]).run().await;
    assert_eq!(doctor.code, Some(3), "{}", doctor.out);
    assert!(doctor.out.contains("session one had"), "{}", doctor.out);
    assert!(doctor.out.contains("--again"), "{}", doctor.out);
    // Whoever wants it to go on says so, and the rest is as ever.
    let again = world.on(&copy, &["sessions", "resume", "one", "--again"]);
    again.run().await.answers("It is paid.\n");
    let list = world.on(&copy, &["sessions", "list"]).run().await;
    assert_eq!(list.code, Some(13), "{}", list.err);
    fs::remove_file(beside(&copy, "-restored")).expect("it is there");
    let list = world.on(&copy, &["sessions", "list"]).run().await;
    assert_eq!(list.code, Some(0), "{}", list.err);
}

#[tokio::test]
async fn an_older_copy_of_the_file_repeats_no_payment() {
    for with_log in [true, false] {
        let world = paid().await;
        let older = world.copy("backup");
        let resumed = world.on(&world.file(), &["sessions", "resume", "one"]);
        resumed.run().await.answers("It is paid.\n");
        if !with_log {
            // As a backup is that SQLite made: all of it in one file.
            let journal = SqliteJournal::open(&older, Options::default()).expect("a journal");
            journal.close().await;
        }
        for suffix in ["", "-wal"] {
            let (from, to) = (beside(&older, suffix), beside(&world.file(), suffix));
            if from.exists() {
                fs::copy(from, to).expect("a copy");
            } else {
                assert!(!to.exists(), "it was closed in order");
            }
        }
        let what = format!("with its log: {with_log}");
        world.is_older(&world.file(), &what).await;
    }
}

#[tokio::test]
async fn a_page_that_was_overwritten_is_told_wherever_it_is() {
    let world = World::new([ScriptTurn::text("It is a long story.").again()]).await;
    let file = world.file();
    for session in ["one", "two"] {
        let ask = world.on(&file, &["ask", "--session", session, "Tell me."]);
        ask.run().await.answers("It is a long story.\n");
    }
    let whole = fs::read(&file).expect("a file");
    let mut listed = 0;
    for page in 1..whole.len() / PAGE {
        let mut bytes = whole.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xa5);
        fs::write(&file, bytes).expect("written");
        let list = world.on(&file, &["sessions", "list", "--json"]).run().await;
        // Without the list of its tables, the file cannot even be opened.
        let lost = &whole[page * PAGE..(page + 1) * PAGE];
        let mut words = lost.windows(12);
        let is_schema = words.any(|word| word == b"CREATE TABLE");
        let code = if is_schema { 3 } else { 13 };
        assert_eq!(
            list.code,
            Some(code),
            "page {page}: {} {}",
            list.out,
            list.err
        );
        for said in ["kept.db is damaged", ".recover"] {
            assert!(list.err.contains(said), "page {page}: {}", list.err);
        }
        listed += usize::from(list.out.contains("\"one\""));
    }
    assert!(listed > 3, "what is left is listed: {listed}");
    let serve = world
        .on(&file, &["serve", "--bind", "127.0.0.1:0"])
        .run()
        .await;
    serve.fails(13, "kept.db is damaged", ".recover");
    let doctor = world.on(&file, &["doctor", "--offline"]).run().await;
    assert_eq!(doctor.code, Some(3), "{}", doctor.out);
    assert!(doctor.out.contains(".recover"), "{}", doctor.out);
}

/// How many bytes the header of a log has, that of a frame with its page, and a page.
const LOG_HEADER: usize = 32;
const FRAME: usize = 24 + PAGE;
const PAGE: usize = 4096;
