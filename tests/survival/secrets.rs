//! The change of the master key is killed between two secrets: both keys open them meanwhile, and a repetition finishes it.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Output, Stdio};

use tokio::io::AsyncWriteExt as _;

use crate::world::World;

#[tokio::test]
async fn killed_in_the_change_of_the_master_key_no_secret_is_lost() {
    for nth in 1..=3_u32 {
        let world = World::with("").await;
        let file = world.path("master.key");
        world.configure(&format!("[secrets]\nkey_file = {file:?}"));
        let set_keys = |keys: &str| {
            std::fs::write(&file, keys).expect("written");
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&file, private).expect("set");
        };
        let [old, new] = [new_key(&world).await, new_key(&world).await];
        set_keys(&old);
        done(&world, &["users", "add", "ann"], "").await;
        for provider in ["claude", "gemini", "openai"] {
            let key = format!("sk-of-ann-{provider}");
            done(&world, &["users", "set-key", "ann", provider], &key).await;
        }
        set_keys(&format!("{new}\n{old}"));
        let crash = format!("resealed:{nth}");
        let killed = run(&world, &["secrets", "rotate"], "", Some(&crash)).await;
        assert_eq!(killed.status.signal(), Some(9), "{crash}: {killed:?}");
        done(&world, &["secrets", "status"], "").await;
        // The control: with the new key alone, those that were not reached cannot be read.
        set_keys(&new);
        let status = run(&world, &["secrets", "status"], "", None).await;
        assert_eq!(status.status.success(), nth == 3, "{crash}: {status:?}");
        set_keys(&format!("{new}\n{old}"));
        let rotated = done(&world, &["secrets", "rotate"], "").await;
        let left = 3 - nth;
        let told = format!("{left} secret");
        assert!(
            rotated.contains(&told) && rotated.contains(&format!("{nth} before")),
            "{rotated}"
        );
        set_keys(&new);
        done(&world, &["secrets", "status"], "").await;
    }
}

async fn new_key(world: &World) -> String {
    let made = run(world, &["secrets", "new-key"], "", None).await;
    String::from_utf8(made.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

/// Runs the program, which has to succeed; returns what it says.
async fn done(world: &World, arguments: &[&str], input: &str) -> String {
    let ran = run(world, arguments, input, None).await;
    let told = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{arguments:?}: {told}");
    told
}

async fn run(world: &World, arguments: &[&str], input: &str, crash: Option<&str>) -> Output {
    let mut program = world.program(arguments, crash);
    program
        .env("JACKFIELD_DB", world.database())
        .stdin(Stdio::piped());
    let mut child = program.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("standard input");
    stdin.write_all(input.as_bytes()).await.expect("written");
    drop(stdin);
    child.wait_with_output().await.expect("it ends")
}
