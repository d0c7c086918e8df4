//! Annotations on the text of a reply, in a form that clients can accumulate.

use serde_json::Value;

/// All annotations so far.
///
/// A message has one list of them. The vendor's SDKs do not append a second chunk's list to the first: Python's
/// refuses entries without an index, Node's keeps only the last list. So they are written together, once, and later
/// entries carry their index.
#[derive(Debug, Default)]
pub(super) struct AnnotationBuffer {
    written: usize,
    pending: Vec<Value>,
}

impl AnnotationBuffer {
    pub(super) fn add(&mut self, mut more: Vec<Value>) {
        self.pending.append(&mut more);
    }

    /// The annotations to write now, if any.
    pub(super) fn take(&mut self) -> Option<Vec<Value>> {
        let mut annotations = std::mem::take(&mut self.pending);
        let written_before = self.written;
        self.written += annotations.len();
        if written_before > 0 {
            for (place, remark) in (written_before..).zip(&mut annotations) {
                if let Value::Object(fields) = remark {
                    fields.insert("index".to_owned(), place.into());
                }
            }
        }
        (!annotations.is_empty()).then_some(annotations)
    }
}
