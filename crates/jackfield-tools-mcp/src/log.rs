//! The last lines of a server's standard error, within limits.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// The last lines of a server, limited in number and in bytes.
#[derive(Debug)]
pub(crate) struct Log {
    tail: Mutex<LogTail>,
    max_bytes: usize,
    max_lines: usize,
    /// Secrets that are redacted from each line.
    secrets: Vec<String>,
}

#[derive(Debug, Default)]
struct LogTail {
    bytes: usize,
    lines: VecDeque<String>,
}

impl Log {
    pub(crate) fn new(max_lines: usize, max_bytes: usize, secrets: Vec<String>) -> Self {
        Self {
            tail: Mutex::default(),
            max_bytes,
            max_lines,
            secrets,
        }
    }

    /// Adds a line, and removes the oldest lines that exceed the limits.
    pub(crate) fn push(&self, line: &[u8]) {
        let line = line.get(..MAX_LINE).unwrap_or(line);
        let mut line = String::from_utf8_lossy(line).into_owned();
        for secret in &self.secrets {
            if line.contains(secret) {
                line = line.replace(secret, "[redacted]");
            }
        }
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.bytes += line.len();
        tail.lines.push_back(line);
        while tail.lines.len() > self.max_lines || tail.bytes > self.max_bytes {
            let Some(oldest) = tail.lines.pop_front() else {
                break;
            };
            tail.bytes -= oldest.len();
        }
    }

    /// The lines, the oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.lines.iter().cloned().collect()
    }

    /// The last line that is not blank, shortened for a message.
    pub(crate) fn last_line(&self) -> Option<String> {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let last = tail.lines.iter().rev().find(|line| !line.trim().is_empty());
        last.map(|line| line.trim().chars().take(LAST_WORDS).collect())
    }

    /// Adds lines from the source until its end. It never stops reading early, as a full pipe would block the
    /// server.
    pub(crate) async fn follow(&self, source: impl AsyncRead + Unpin) {
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        while let Ok(piece) = source.fill_buf().await {
            if piece.is_empty() {
                break;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let content = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let room = MAX_LINE.saturating_sub(line.len());
            line.extend(content.iter().take(room));
            let read = content.len() + usize::from(end.is_some());
            source.consume(read);
            if end.is_some() {
                self.push(line.trim_ascii_end());
                line.clear();
            }
        }
        if !line.is_empty() {
            self.push(&line);
        }
    }
}

/// How much of a line is quoted in a message.
const LAST_WORDS: usize = 200;
/// How much of a line is kept, in bytes.
const MAX_LINE: usize = 8 << 10;
