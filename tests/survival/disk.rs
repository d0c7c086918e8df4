//! What a journal lies on, and how it fails for a while.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::deaths::TIME_LIMIT;

/// A small file system in memory. It is unmounted when this is dropped.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Mounts one at a folder, which it makes.
    pub(crate) fn mount(folder: PathBuf) -> Self {
        fs::create_dir(&folder).expect("the home can be written");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "jackfield-survival"])
            .arg(&folder)
            .output();
        let mounted = mounted.expect("there is a `mount`: install the package `mount`");
        assert!(
            mounted.status.success(),
            "no small file system can be mounted at {}: {}\nrun this as root, where mounting is allowed \
             (in a container: with the capability SYS_ADMIN)",
            folder.display(),
            String::from_utf8_lossy(&mounted.stderr)
        );
        Self { folder }
    }

    /// Fills it up to the last byte.
    pub(crate) fn fill(&self) {
        let mut filler = File::create(self.filler()).expect("the disk can be written");
        for piece in [65_536, 4_096, 1] {
            let bytes = vec![0; piece];
            while filler.write_all(&bytes).is_ok() {}
        }
    }

    /// Makes room again.
    pub(crate) fn free(&self) {
        fs::remove_file(self.filler()).expect("the filler can be removed");
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: whoever has a file open there is about to end.
        let unmount = std::process::Command::new("umount")
            .arg("--lazy")
            .arg(&self.folder)
            .status();
        if !unmount.is_ok_and(|status| status.success()) {
            println!("{} stays mounted", self.folder.display());
        }
    }
}

/// System calls of a running process that fail, or take long, until this is ended.
pub(crate) struct Failing(Child);

impl Failing {
    /// Has this befall these calls of a process, as `strace` puts it: an error, or a delay.
    pub(crate) fn of(process: u32, calls: &str, fault: &str, log: &Path) -> Self {
        let strace = Command::new("strace")
            .args(["-f", "-qq", "-p", &process.to_string()])
            .args(["-e", &format!("trace={calls}")])
            .args(["-e", &format!("inject={calls}:{fault}")])
            .arg("-o")
            .arg(log)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        Self(strace.expect("there is a `strace`: `cargo xtask survival` installs it"))
    }

    /// Lets them work again.
    pub(crate) async fn end(mut self) {
        let id = self
            .0
            .id()
            .expect("strace has not ended: it may trace here");
        let kill = std::process::Command::new("kill")
            .args(["-INT", &id.to_string()])
            .status();
        assert!(kill.expect("there is a `kill`").success());
        let ended = timeout(TIME_LIMIT, self.0.wait()).await;
        ended.expect("strace ends").expect("a status");
    }
}

/// Enough for the turns of a test, and soon filled.
const SIZE: &str = "size=4m";
