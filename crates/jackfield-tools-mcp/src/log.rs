//! The last lines of a server's standard error and its log messages, within limits and without secrets.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use jackfield_ports::server_log::{LogLevel, ServerLogMessage};
use serde_json::Value;
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
        self.redact(&mut line);
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

    fn redact(&self, text: &mut String) {
        for secret in &self.secrets {
            if text.contains(secret) {
                *text = text.replace(secret, "[redacted]");
            }
        }
    }

    /// A log message for the caller of a tool, without secrets; `None` if it has no level or no content. A long one is
    /// cut, and becomes text by that.
    pub(crate) fn message(&self, params: &Value) -> Option<ServerLogMessage> {
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        let level = LogLevel::parse(text("level")?)?;
        let mut data = params.get("data")?.clone();
        self.redact_all(&mut data);
        let written = match &data {
            Value::String(text) => text.clone(),
            Value::Array(_)
            | Value::Bool(_)
            | Value::Null
            | Value::Number(_)
            | Value::Object(_) => data.to_string(),
        };
        if written.len() > MAX_LINE {
            let kept = &written[..written.floor_char_boundary(MAX_LINE)];
            data = format!("{kept} […]").into();
        }
        let logger = text("logger").map(|logger| {
            let mut logger = logger.chars().take(LAST_WORDS).collect();
            self.redact(&mut logger);
            logger
        });
        Some(ServerLogMessage {
            data,
            level,
            logger,
        })
    }

    fn redact_all(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_all(item)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|field| self.redact_all(field));
            }
            Value::String(text) => self.redact(text),
            Value::Bool(_) | Value::Null | Value::Number(_) => {}
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
