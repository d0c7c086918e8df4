//! The whole command line, with the ledger: selected by its kind, asked through the real program.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;

use jackfield_cli::Registry;
use jackfield_journal_ledger::LedgerFactory;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::json::parse;
use tokio::process::Command;

#[tokio::test]
async fn the_command_keeps_its_conversation_in_the_ledger() {
    let (success, said, told) = run("kind = \"ledger\"\nlabel = \"mine\"", &["ask", "Hello"]).await;
    assert!(success, "{said}{told}");
    assert_eq!(said, "It is noted.\n");
    assert!(!told.contains("warning"), "{told}");
}

#[tokio::test]
async fn commands_on_stored_sessions_say_that_the_ledger_ends_with_its_process() {
    let (success, _, told) = run("kind = \"ledger\"", &["sessions", "list"]).await;
    assert!(!success);
    assert!(told.contains("no sessions are kept"), "{told}");
    assert!(
        told.contains("the journal of the kind `ledger` ends with its process"),
        "{told}"
    );
    let (_, said, told) = run("kind = \"ledger\"", &["doctor", "--offline"]).await;
    let says = "sessions are kept in a journal of the kind `ledger`, which ends with the process";
    assert!(said.contains(says), "{said}{told}");
}

#[tokio::test]
async fn a_kind_that_is_not_registered_is_an_error_that_names_those_that_are() {
    for command in [["ask", "Hello"], ["sessions", "list"]] {
        let (success, _, told) = run("kind = \"legder\"", &command).await;
        assert!(!success);
        assert!(
            told.contains("there is no kind of journal `legder`"),
            "{told}"
        );
        assert!(told.contains("did you mean `ledger`?"), "{told}");
        assert!(
            told.contains("there are: memory, postgres, sqlite, ledger"),
            "{told}"
        );
    }
}

#[tokio::test]
async fn an_option_that_its_factory_does_not_name_is_unknown() {
    for kind in ["ledger", "memory"] {
        let journal = format!("kind = \"{kind}\"\nlable = \"mine\"");
        let (success, _, told) = run(&journal, &["ask", "Hello"]).await;
        assert!(!success);
        assert!(told.contains("key `journal.lable`: unknown"), "{told}");
    }
    let (success, _, told) = run("kind = \"ledger\"\nlabel = 7", &["ask", "Hello"]).await;
    assert!(!success);
    assert!(told.contains("`label` is a string"), "{told}");
}

#[test]
fn editors_know_the_kind_and_its_options() {
    let registry = Registry::default().journal("ledger", Arc::new(LedgerFactory));
    let schema = registry.schema();
    let journal = &schema["properties"]["journal"]["properties"];
    assert!(journal["label"].is_object(), "{journal}");
    let kinds = journal["kind"]["enum"].as_array().expect("a list");
    assert_eq!(kinds, &["memory", "postgres", "sqlite", "ledger"]);
}

/// Whether a command succeeds, what it says, and what it tells, with this in `[journal]`.
async fn run(journal: &str, arguments: &[&str]) -> (bool, String, String) {
    let script = parse(r#"{"replies": [{"text": "It is noted."}]}"#).expect("a script");
    let model = ScriptedClaude::start(script).await;
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/jackfield");
    fs::create_dir_all(&folder).expect("a folder");
    let address = model.base_url();
    let config = format!("[journal]\n{journal}\n\n[providers.claude]\nbase_url = \"{address}\"\n");
    fs::write(folder.join("jackfield.toml"), config).expect("a file");
    let ran = Command::new(env!("CARGO_BIN_EXE_ledger-jackfield"))
        .args(arguments)
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("ANTHROPIC_API_KEY", "sk-ledger-0123456789")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.success(), text(&ran.stdout), text(&ran.stderr))
}
