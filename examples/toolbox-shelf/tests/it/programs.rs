//! The two programs, asked as a user asks them, in front of a scripted model.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::json::parse;
use tokio::process::Command;

#[tokio::test]
async fn the_command_line_has_the_shelf() {
    let home = tempfile::tempdir().expect("a folder");
    let program = env!("CARGO_BIN_EXE_shelf-jackfield");
    let (said, _) = run(home.path(), program, &["tools", "list"]).await;
    assert!(
        said.contains("shelf/find") && said.contains("shelf/lend"),
        "{said}"
    );
}

#[tokio::test]
async fn what_only_looks_runs_where_nobody_can_be_asked_and_what_acts_does_not() {
    let (home, _model) = asked().await;
    let program = env!("CARGO_BIN_EXE_shelf-jackfield");
    let (said, told) = run(
        home.path(),
        program,
        &["ask", "--output", "json", "Lend me one"],
    )
    .await;
    let document: serde_json::Value = serde_json::from_str(&said).expect("a document");
    let of = |n: usize| document["calls"][n]["status"].as_str();
    assert_eq!(
        (of(0), of(1)),
        (Some("done"), Some("denied")),
        "{said}{told}"
    );
}

#[tokio::test]
async fn a_program_of_ones_own_allows_what_it_wants() {
    let (home, _model) = asked().await;
    let program = env!("CARGO_BIN_EXE_shelf-ask");
    let (said, told) = run(home.path(), program, &["Lend me one"]).await;
    assert!(
        said.contains("`The Waves` is lent, as number 1"),
        "{said}{told}"
    );
    assert!(said.ends_with("It is yours.\n"), "{said}{told}");
}

/// A home whose model looks for a book and lends it.
async fn asked() -> (tempfile::TempDir, ScriptedClaude) {
    let script = parse(
        r#"{"replies": [
            {"calls": [{"name": "shelf__find", "arguments": {"word": "waves"}}]},
            {"calls": [{"name": "shelf__lend", "arguments": {"title": "The Waves"}}]},
            {"text": "It is yours."}
        ]}"#,
    );
    let model = ScriptedClaude::start(script.expect("a script")).await;
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/jackfield");
    fs::create_dir_all(&folder).expect("a folder");
    let config = format!("[providers.claude]\nbase_url = \"{}\"\n", model.base_url());
    fs::write(folder.join("jackfield.toml"), config).expect("a file");
    (home, model)
}

/// What a program says and tells, in this home and without a terminal.
async fn run(home: &Path, program: &str, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(program);
    let command = command.args(arguments).current_dir(home).env_clear();
    let command = command
        .env("HOME", home)
        .env("ANTHROPIC_API_KEY", "sk-shelf-0123456789");
    let ran = command.stdin(Stdio::null()).output().await;
    let ran = ran.expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, told) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{said}{told}");
    (said, told)
}
