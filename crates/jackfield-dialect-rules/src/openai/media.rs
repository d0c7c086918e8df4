//! Rules for the sources of media.

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said};

impl Found<'_> {
    /// A web URL, or inline data; never a local file of the server.
    pub(crate) fn address(
        &mut self,
        fields: &Map<String, Value>,
        key: &str,
        addresses: bool,
        place: &Place,
    ) {
        let Some(url) = said(fields, key).and_then(Value::as_str) else {
            return;
        };
        let place = place.at(key);
        if is_inline(url) {
            return;
        }
        let web = url.starts_with("https://") || url.starts_with("http://");
        self.check(web, &place, Rule::WrongValue);
        self.check(addresses, &place, Rule::NotTaken);
    }

    /// The contents of a file, as a data URL.
    pub(crate) fn inline(&mut self, fields: &Map<String, Value>, key: &str, place: &Place) {
        if let Some(data) = said(fields, key).and_then(Value::as_str) {
            self.check(is_inline(data), &place.at(key), Rule::WrongValue);
        }
    }
}

/// Whether a text is a data URL in base64.
fn is_inline(url: &str) -> bool {
    let data = url.strip_prefix("data:");
    data.is_some_and(|data| {
        data.split_once(";base64,")
            .is_some_and(|(kind, _)| kind.contains('/'))
    })
}
