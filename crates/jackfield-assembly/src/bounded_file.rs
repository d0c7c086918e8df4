//! Files that people name, read within bounds.

use std::fs::{File, metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Reads a file of at most this many bytes whole.
///
/// A pipe is read until whoever writes to it ends, and one that nobody writes to is given up soon.
///
/// # Errors
///
/// It cannot be read, or it is larger, which is [`io::ErrorKind::FileTooLarge`].
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let bound = most.saturating_add(1);
    open(path)?.take(bound).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is larger than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn open(path: &Path) -> io::Result<File> {
    let kind = metadata(path)?.file_type();
    if kind.is_file() || kind.is_dir() {
        return File::open(path);
    }
    // To open a pipe waits for whoever writes to it, without an end.
    let (opened, opens) = mpsc::channel();
    let own = path.to_owned();
    std::thread::Builder::new().spawn(move || opened.send(File::open(own)))?;
    opens.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        let message = format!("it is a pipe that nobody wrote to within {seconds} s");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    })
}

/// How long a pipe waits for whoever writes to it.
const PATIENCE: Duration = Duration::from_secs(3);
