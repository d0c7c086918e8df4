//! A server's standard output as lines, with a bound on the bytes kept of each line.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::scan::IdFinder;

/// A reader of lines. [`Lines::next`] is cancel safe.
pub(crate) struct Lines<R> {
    buffer: Vec<u8>,
    max: usize,
    /// For a line that is too long: its length so far, and the search for its message's id.
    overlong: Option<(usize, IdFinder)>,
    source: R,
}

/// One line, without its line break.
#[derive(Debug)]
pub(crate) enum Line {
    /// The beginning of a line that is too long.
    Cut {
        /// The message's id, as JSON text.
        id: Option<Vec<u8>>,
        prefix: Vec<u8>,
        /// The length of the line in bytes.
        length: usize,
    },
    Whole(Vec<u8>),
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) const fn new(source: R, max: usize) -> Self {
        Self {
            buffer: Vec::new(),
            max,
            overlong: None,
            source,
        }
    }

    /// The next line that is not empty; `None` at the end of the output.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let piece = self.source.fill_buf().await?;
            if piece.is_empty() {
                return Ok(self.take());
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let piece = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
            let read = piece.len() + usize::from(end.is_some());
            match &mut self.overlong {
                Some((sent, finder)) => {
                    *sent += piece.len();
                    finder.feed(piece);
                }
                None => {
                    self.buffer.extend_from_slice(piece);
                    if self.buffer.len() > self.max {
                        let mut finder = IdFinder::default();
                        finder.feed(&self.buffer);
                        self.overlong = Some((self.buffer.len(), finder));
                        self.buffer.truncate(self.max);
                    }
                }
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
        let buffer = std::mem::take(&mut self.buffer);
        if let Some((sent, finder)) = self.overlong.take() {
            let id = finder.id().map(<[u8]>::to_vec);
            return Some(Line::Cut {
                id,
                prefix: buffer,
                length: sent,
            });
        }
        (!buffer.trim_ascii().is_empty()).then_some(Line::Whole(buffer))
    }
}
