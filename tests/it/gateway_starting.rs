//! A gateway lets nobody in before its journal is open, and says so.

use std::fs::File;
use std::io::ErrorKind;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;
use tokio::net::TcpStream;

use crate::harness::{Gateway, Kept, kept};

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_is_let_in_before_the_journal_is_open() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    // Another process is about to bring the file up to date.
    let form = files.file().with_file_name("kept.db-form");
    let form = File::create(form).expect("the folder can be written");
    form.lock().expect("nobody else has it");
    let address = free_address();
    let serve = files.run(&["serve", "--bind", &address]);
    let running = serve.at(&claude.base_url()).start();
    waits_for_a_lock(running.id()).await;
    let early = TcpStream::connect(&address).await;
    assert_eq!(
        early.map_err(|error| error.kind()).err(),
        Some(ErrorKind::ConnectionRefused)
    );
    let said = running.err.so_far();
    assert!(!said.contains("listening"), "{said}");
    drop(form);
    let gateway = Gateway::listening(running).await;
    let body = json!({ "model": "claude-sonnet-5",
        "messages": [{ "role": "user", "content": "Hi." }] });
    let answer = gateway.post("/v1/chat/completions", &body).answered().await;
    let said = answer.is(200)["choices"][0]["message"]["content"].clone();
    assert_eq!(said, "Hello.");
    gateway.end().await;
    kept(&claude);
}

#[tokio::test]
async fn a_journal_that_cannot_be_opened_ends_it_without_a_word_of_listening() {
    let files = Kept::new();
    let claude = ScriptedClaude::start(Vec::<ScriptTurn>::new()).await;
    let damaged = [b"SQLite format 3\0".as_slice(), &[7; 4096]].concat();
    std::fs::write(files.file(), damaged).expect("the folder can be written");
    let ran = files.gateway().at(&claude.base_url()).run().await;
    ran.fails(3, "conversations cannot be kept there", "name another file");
    assert!(!ran.err.contains("listening"), "{ran:?}");
}

/// An address of this machine that nobody has.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
    listener.local_addr().expect("it has one").to_string()
}

/// Waits until a process waits for a lock of a file.
#[cfg(target_os = "linux")]
async fn waits_for_a_lock(id: u32) {
    let waiting = async {
        let id = id.to_string();
        loop {
            let locks = std::fs::read_to_string("/proc/locks").expect("Linux has a list");
            let mut waiting = locks.lines().filter(|line| line.contains("->"));
            if waiting.any(|line| line.split_whitespace().any(|word| word == id)) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let patience = std::time::Duration::from_secs(60);
    let waited = tokio::time::timeout(patience, waiting).await;
    assert!(waited.is_ok(), "it never waits for a lock");
}
