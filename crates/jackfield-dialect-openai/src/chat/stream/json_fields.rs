//! Lenient access to JSON of uncertain form.

use jackfield_domain::failure::ModelFailure;
use serde_json::Value;

/// Why a chunk cannot be read.
#[derive(Debug)]
pub(super) enum Fault {
    Broken(&'static str),
    Failed(ModelFailure),
}

impl From<&'static str> for Fault {
    fn from(reason: &'static str) -> Self {
        Self::Broken(reason)
    }
}

/// A field that is neither missing nor null.
pub(super) fn field<'a>(json: &'a Value, key: &str) -> Option<&'a Value> {
    json.get(key).filter(|value| !value.is_null())
}

/// A string that is not empty.
pub(super) fn text<'a>(json: &'a Value, key: &str) -> Option<&'a str> {
    let text = json.get(key)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// A number, possibly written as a string.
pub(super) fn number(json: &Value, key: &str) -> Option<i64> {
    let value = json.get(key)?;
    value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// The most bytes held back or kept, over all calls and fields: as many as a reply may have.
const MAX_BUFFERED: usize = 1 << 24;

/// The bytes held back or kept so far.
#[derive(Debug, Default)]
pub(super) struct BufferedBytes(usize);

impl BufferedBytes {
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), Fault> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 > MAX_BUFFERED {
            return Err("the reply is longer than any may be".into());
        }
        Ok(())
    }
}
