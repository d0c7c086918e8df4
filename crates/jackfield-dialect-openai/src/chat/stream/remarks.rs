//! Annotations on the text of a reply, in a form that clients can accumulate.

use serde_json::Value;

/// All annotations so far.
///
/// A message has one list of them. The vendor's SDKs do not append a second chunk's list to the first: Python's
/// refuses entries without an index, Node's keeps only the last list. So they are written together, once, and later
/// entries carry their index.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    told: usize,
    waiting: Vec<Value>,
}

impl Remarks {
    /// Adds annotations.
    pub(super) fn add(&mut self, mut more: Vec<Value>) {
        self.waiting.append(&mut more);
    }

    /// The annotations to write now, if any.
    pub(super) fn take(&mut self) -> Option<Vec<Value>> {
        let mut remarks = std::mem::take(&mut self.waiting);
        let before = self.told;
        self.told += remarks.len();
        if before > 0 {
            for (place, remark) in (before..).zip(&mut remarks) {
                if let Value::Object(fields) = remark {
                    fields.insert("index".to_owned(), place.into());
                }
            }
        }
        (!remarks.is_empty()).then_some(remarks)
    }
}
