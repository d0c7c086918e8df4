//! A key that does not come back in a body: asterisks stand in its place, so that the length stays.

use bytes::{Bytes, BytesMut};

use crate::secret::Secret;

/// Hides a key in bytes that arrive in pieces.
pub(super) struct Mask {
    /// The end of what has arrived, as far as it may be the beginning of the key.
    held: BytesMut,
    key: Secret,
}

impl Mask {
    /// A mask of this key, unless it is empty.
    pub(super) fn new(key: &Secret) -> Option<Self> {
        (!key.expose().is_empty()).then(|| Self {
            held: BytesMut::new(),
            key: key.clone(),
        })
    }

    /// What can be passed on, once this piece has arrived.
    pub(super) fn push(&mut self, piece: &[u8]) -> Bytes {
        self.held.extend_from_slice(piece);
        let key = self.key.expose().as_bytes();
        let mut at = 0;
        while let Some(rest) = self.held.get_mut(at..).filter(|rest| !rest.is_empty()) {
            if let Some(found) = rest.get_mut(..key.len()).filter(|found| **found == *key) {
                found.fill(b'*');
                at += key.len();
            } else if key.starts_with(rest) {
                break;
            } else {
                at += 1;
            }
        }
        self.held.split_to(at).freeze()
    }

    /// What is left at the end.
    pub(super) fn finish(self) -> Bytes {
        self.held.freeze()
    }
}
