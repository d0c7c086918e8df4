//! The end of an output.

use std::process::Command;
use std::time::Duration;

use jackfield_guard::{Child, ChildProgram};
use tokio::io::AsyncReadExt as _;

#[tokio::test]
async fn an_output_that_a_descendant_holds_open_ends_with_the_process_once_it_was_read() {
    let line = "sleep 600 & head -c 50000 /dev/zero | tr '\\0' x; echo $!; echo gone >&2";
    let (mut child, mut streams) = Child::start(&ChildProgram {
        arguments: &["-c".to_owned(), line.to_owned()],
        command: "sh",
        environment: &[],
        folder: None,
        grace: Duration::ZERO,
        guard: None,
    })
    .unwrap();
    let (mut said, mut complaint) = (String::new(), String::new());
    let read = async {
        streams.stdout.read_to_string(&mut said).await.unwrap();
        streams.stderr.read_to_string(&mut complaint).await.unwrap();
    };
    let read = tokio::time::timeout(Duration::from_mins(1), child.watch(read)).await;
    let holder = said.trim_start_matches('x').trim();
    let killed = Command::new("kill").arg(holder).status().unwrap();
    assert!(read.is_ok() && killed.success(), "{holder}");
    assert_eq!(said.matches('x').count(), 50_000);
    assert_eq!(complaint, "gone\n");
}
