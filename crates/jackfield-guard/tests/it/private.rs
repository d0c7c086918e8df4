//! What other processes of the user see of one.

use std::process::Command;

use jackfield_guard::keep_to_itself;
use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};

#[test]
fn a_process_keeps_its_memory_to_itself_and_leaves_its_programs_as_they_are() {
    keep_to_itself();
    assert_eq!(
        dumpable_behavior().expect("Linux knows"),
        DumpableBehavior::NotDumpable
    );
    assert_eq!(getrlimit(Resource::Core).current, Some(0));
    // A program that it starts can be looked at by its own user.
    let read = Command::new("cat").arg("/proc/self/environ").output();
    assert!(read.expect("a program starts").status.success());
}
