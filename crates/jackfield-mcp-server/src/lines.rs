//! Reads a client's input line by line, with a limit on the length of a line.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Reads lines of bytes. [`Lines::next`] is cancel-safe.
pub(crate) struct Lines<R> {
    buffer: Vec<u8>,
    max: usize,
    /// Whether the current line has exceeded the limit.
    over: bool,
    source: R,
}

/// One line, without its end.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Line {
    /// A line that was too long, and was discarded.
    TooLong,
    Whole(Vec<u8>),
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) const fn new(source: R, max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            max,
            over: false,
            source,
        }
    }

    /// The next line that is not empty; the last one may lack a line end. `None` at the end of input.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let piece = self.source.fill_buf().await?;
            if piece.is_empty() {
                return Ok(self.take());
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let piece = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let read = piece.len() + usize::from(end.is_some());
            self.over |= self.buffer.len() + piece.len() > self.max;
            if self.over {
                self.buffer = Vec::new();
            } else {
                self.buffer.extend_from_slice(piece);
            }
            self.source.consume(read);
            if end.is_some()
                && let Some(line) = self.take()
            {
                return Ok(Some(line));
            }
        }
    }

    fn take(&mut self) -> Option<Line> {
        let kept = std::mem::take(&mut self.buffer);
        if std::mem::take(&mut self.over) {
            return Some(Line::TooLong);
        }
        (!kept.trim_ascii().is_empty()).then_some(Line::Whole(kept))
    }
}
