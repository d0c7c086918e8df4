//! A server's standard output as lines, with a bound on the bytes kept of each line.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::scan::IdFinder;

/// A reader of lines. [`Lines::next`] is cancel safe.
pub(crate) struct Lines<R> {
    kept: Vec<u8>,
    max: usize,
    /// For a line that is too long: its length so far, and the search for its message's id.
    over: Option<(usize, IdFinder)>,
    source: R,
}

/// One line, without its line break.
#[derive(Debug)]
pub(crate) enum Line {
    /// The beginning of a line that is too long.
    Cut {
        /// The message's id, as JSON text.
        id: Option<Vec<u8>>,
        /// The beginning.
        kept: Vec<u8>,
        /// The length of the line in bytes.
        sent: usize,
    },
    /// A whole line.
    Whole(Vec<u8>),
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) const fn new(source: R, max: usize) -> Self {
        Self {
            kept: Vec::new(),
            max,
            over: None,
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
            match &mut self.over {
                Some((sent, finder)) => {
                    *sent += piece.len();
                    finder.feed(piece);
                }
                None => {
                    self.kept.extend_from_slice(piece);
                    if self.kept.len() > self.max {
                        let mut finder = IdFinder::default();
                        finder.feed(&self.kept);
                        self.over = Some((self.kept.len(), finder));
                        self.kept.truncate(self.max);
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
        let kept = std::mem::take(&mut self.kept);
        if let Some((sent, finder)) = self.over.take() {
            let id = finder.id().map(<[u8]>::to_vec);
            return Some(Line::Cut { id, kept, sent });
        }
        (!kept.trim_ascii().is_empty()).then_some(Line::Whole(kept))
    }
}
