//! The last lines of a process's standard error, for messages about its failure.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The end of the standard error. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<Mutex<Vec<u8>>>);

impl Tail {
    /// Reads until the end, and keeps the last bytes.
    pub(crate) async fn follow(self, mut source: impl AsyncRead + Unpin) {
        let mut piece = [0; 1024];
        while let Ok(read @ 1..) = source.read(&mut piece).await {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(piece.get(..read).unwrap_or_default());
            let over = kept.len().saturating_sub(KEPT);
            kept.drain(..over);
        }
    }

    /// The last line with words, cut to a length that fits a message.
    pub(crate) fn last_line(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        let printable = line.trim().chars().filter(|sign| !sign.is_control());
        Some(printable.take(SHOWN).collect())
    }
}

/// The bytes that are kept.
const KEPT: usize = 8 << 10;
/// The characters that are shown.
const SHOWN: usize = 300;
