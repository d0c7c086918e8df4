//! The README's first command, as whoever has just cloned the repository gives it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

#[tokio::test]
async fn the_readmes_first_command_answers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = root.expect("the tests are a folder of the workspace");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("there is a README");
    let block = readme.split("```sh\n").nth(1).expect("it shows commands");
    let command = block.lines().next().expect("it shows a command");
    assert!(command.starts_with("cargo run "), "{command}");
    let home = tempfile::tempdir().expect("a folder can be made");
    let running = Command::new("sh")
        .args(["-c", command])
        .current_dir(root)
        .env("XDG_CONFIG_HOME", home.path().join("config"))
        .env("XDG_DATA_HOME", home.path().join("data"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    // It may have to build what other tests need with other features.
    let ran = timeout(BUILD, running).await.expect("it ends");
    let ran = ran.expect("there is a shell");
    let said = String::from_utf8_lossy(&ran.stdout);
    let wrong = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command}\n{said}\n{wrong}");
    // Both of its questions have an answer.
    assert!(
        said.contains("375") && said.contains("Tokyo"),
        "{said}\n{wrong}"
    );
}

const BUILD: Duration = Duration::from_secs(900);
