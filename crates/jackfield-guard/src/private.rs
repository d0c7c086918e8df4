//! The memory and the environment of a process, in which there may be keys, are for itself alone.

/// Lets no other process of the same user read this one (on Linux: not `/proc/PID/environ` and `/proc/PID/mem`, and no
/// debugger), and writes no core. Programs that it starts are as they are by themselves. What the system refuses stays as
/// it is.
pub fn keep_to_itself() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Core);
        let none = Rlimit {
            current: Some(0),
            maximum,
        };
        let _refused = setrlimit(Resource::Core, none);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _refused = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
