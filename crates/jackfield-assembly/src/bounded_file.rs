//! Reads user-named files, with limits on size and time.

use std::fs::{File, metadata};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

/// Reads a whole file of at most this many bytes.
///
/// A pipe is read until its writer closes it. A pipe without a writer fails after a short wait.
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
    // Opening a pipe waits for a writer indefinitely, so a thread does it.
    let (opened, opens) = mpsc::channel();
    let own = path.to_owned();
    std::thread::Builder::new().spawn(move || opened.send(File::open(own)))?;
    opens.recv_timeout(TIME_LIMIT).unwrap_or_else(|_| {
        let seconds = TIME_LIMIT.as_secs();
        let message = format!("it is a pipe, and nothing was written to it within {seconds} s");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    })
}

/// How long to wait for the writer of a pipe.
const TIME_LIMIT: Duration = Duration::from_secs(3);
