//! The bot's program in front of a scripted model: two people, a message that comes twice, and a crash.
#![expect(clippy::expect_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::process::Stdio;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::json::parse;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A bot that runs.
struct Running {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Running {
    /// Starts the bot in this home.
    fn start(home: &TempDir) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_jackfield-chat-bot"))
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("ANTHROPIC_API_KEY", "sk-bot-0123456789")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = child.stdout.take().expect("a pipe");
        Self {
            child,
            stdin,
            stdout: BufReader::new(stdout).lines(),
        }
    }

    async fn send(&mut self, line: &str) {
        let line = format!("{line}\n");
        let sent = self.stdin.write_all(line.as_bytes()).await;
        sent.expect("it reads");
    }

    async fn next(&mut self) -> String {
        let line = self.stdout.next_line().await.expect("it writes");
        line.expect("a line")
    }
}

/// A home whose model gives these replies, in order.
async fn home(replies: &str) -> (TempDir, ScriptedClaude) {
    let script = parse(&format!(r#"{{"replies": [{replies}]}}"#)).expect("a script");
    let model = ScriptedClaude::start(script).await;
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/jackfield");
    fs::create_dir_all(&folder).expect("a folder");
    let config = format!("[providers.claude]\nbase_url = \"{}\"\n", model.base_url());
    fs::write(folder.join("jackfield.toml"), config).expect("a file");
    (home, model)
}

#[tokio::test]
async fn a_message_that_comes_twice_has_one_answer() {
    let (home, model) = home(r#"{"text": "Hello Ann."}, {"text": "Hello Bob."}"#).await;
    let mut bot = Running::start(&home);
    for (message, answer) in [
        ("m1 ann Hello", "m1 Hello Ann."),
        ("m2 bob Hello", "m2 Hello Bob."),
        ("m1 ann Hello", "m1 Hello Ann."),
    ] {
        bot.send(message).await;
        assert_eq!(bot.next().await, answer);
    }
    assert_eq!(model.requests().len(), 2);
    bot.send("m3").await;
    assert_eq!(bot.next().await, "? expected `ID AUTHOR TEXT`");
}

#[tokio::test]
async fn the_author_sees_why_a_turn_failed() {
    let refused = r#"{"status": 400, "body": {"type": "error", "error": {"type": "invalid_request_error", "message": "no such beta"}}}"#;
    let (home, _model) = home(refused).await;
    let mut bot = Running::start(&home);
    bot.send("m1 ann Hello").await;
    let answer = bot.next().await;
    assert!(answer.starts_with("m1 cannot be answered: "), "{answer}");
    assert!(answer.contains("no such beta"), "{answer}");
}

#[tokio::test]
async fn a_message_survives_a_crash_and_has_one_answer_when_it_comes_again() {
    let stalled = r#"{"text": "Hello Ann.", "stall_after_bytes": 0}"#;
    let (home, model) = home(&format!(
        r#"{stalled}, {{"text": "Hello Ann."}}, {{"text": "Again?"}}"#
    ))
    .await;
    let mut bot = Running::start(&home);
    bot.send("m1 ann Hello").await;
    model.server().request(0).await;
    bot.child.kill().await.expect("it ends");
    let mut bot = Running::start(&home);
    bot.send("m1 ann Hello").await;
    assert_eq!(bot.next().await, "m1 Hello Ann.");
    bot.send("m1 ann Hello").await;
    assert_eq!(bot.next().await, "m1 Hello Ann.");
    bot.send("m2 ann Hello again").await;
    assert_eq!(bot.next().await, "m2 Again?");
    let requests = model.requests();
    assert_eq!(requests.len(), 3, "{requests:#?}");
    // The session has one message m1, though it came three times.
    let last = requests[2]["messages"].as_array().expect("messages");
    assert_eq!(last.len(), 3, "{last:#?}");
}
