//! All descendants of a process, including those in process groups and sessions of their own.

use rustix::process::Pid;

/// Makes this process the new parent of its orphaned descendants.
pub(super) fn adopt() {
    #[cfg(target_os = "linux")]
    {
        let this = rustix::process::getpid();
        if let Err(error) = rustix::process::set_child_subreaper(Some(this)) {
            tracing::debug!(%error, "orphans go elsewhere");
        }
    }
}

/// All living descendants of this process. Only Linux lists them; elsewhere only the server's process group is
/// ended.
pub(super) fn all() -> Vec<Pid> {
    #[cfg(target_os = "linux")]
    {
        linux::all()
    }
    #[cfg(not(target_os = "linux"))]
    {
        Vec::new()
    }
}

#[cfg(target_os = "linux")]
mod linux {
    //! The process table of the kernel below `/proc`.

    use std::fs;

    use rustix::process::{Pid, getpid};

    pub(super) fn all() -> Vec<Pid> {
        let table = table();
        let mut found = vec![getpid().as_raw_nonzero().get()];
        let mut at = 0;
        while let Some(&parent) = found.get(at) {
            let children = table.iter().filter(|process| process.parent == parent);
            found.extend(children.map(|process| process.id));
            at += 1;
        }
        let alive = |id: &i32| table.iter().any(|other| other.id == *id && other.alive);
        let descendants = found.into_iter().skip(1).filter(alive);
        descendants.filter_map(Pid::from_raw).collect()
    }

    struct Process {
        alive: bool,
        id: i32,
        parent: i32,
    }

    fn table() -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read(entry.path().join("stat")).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            // The name, in parentheses, may contain any characters, including parentheses.
            let mut rest = stat.rsplit_once(')')?.1.split_ascii_whitespace();
            let (state, parent) = (rest.next()?, rest.next()?.parse().ok()?);
            let alive = state != "Z" && state != "X";
            Some(Process { alive, id, parent })
        });
        processes.collect()
    }
}
