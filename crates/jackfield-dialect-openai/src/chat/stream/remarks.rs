//! Remarks on the words of a reply, in a form that clients can add up.

use serde_json::Value;

/// The remarks on all words so far.
///
/// A message has one list of them. The vendor's SDKs take the list of one chunk as it is and do not add a
/// second one to it: Python's refuses entries that do not say their place, Node's keeps the last list alone.
/// So they are told together, once, and what is left to be told later says its place.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    told: usize,
    waiting: Vec<Value>,
}

impl Remarks {
    /// More of them.
    pub(super) fn add(&mut self, mut more: Vec<Value>) {
        self.waiting.append(&mut more);
    }

    /// What is to be told now, if there is anything.
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
