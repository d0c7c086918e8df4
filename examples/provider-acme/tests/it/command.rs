//! The whole command line, with acme: configured by its kind, asked through the real program.

use std::fs;
use std::process::Stdio;

use jackfield_testkit::server::{Response, TestServer};
use tokio::process::Command;

#[tokio::test]
async fn the_command_asks_acme() {
    let server = TestServer::start().await;
    let events = "data: {\"text\":\"15% of 2500 is 375.\"}\n\ndata: {\"end\":\"done\"}\n\n";
    server.answer(Response::event_stream(events));
    let home = tempfile::tempdir().expect("a folder");
    let base_url = server.base_url();
    let config = format!("[providers.acme]\nbase_url = \"{base_url}\"\n");
    let file = home.path().join("jackfield.toml");
    fs::write(&file, config).expect("a file");
    let ran = Command::new(env!("CARGO_BIN_EXE_acme-jackfield"))
        .args(["ask", "--model", "acme/anvil-2", "--config"])
        .arg(&file)
        .arg("What is 15% of 2500?")
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path())
        .env("ACME_API_KEY", "sk-acme-0123456789")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("the program runs");
    let (said, told) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{said}{told}");
    assert_eq!(said, "15% of 2500 is 375.\n", "{told}");
}
