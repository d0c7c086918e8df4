//! Rules for the options of a body.

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::{Place, said};

impl Found<'_> {
    pub(super) fn options(&mut self, body: &Map<String, Value>, root: &Place) {
        let place = root.at("options");
        let Some(fields) = said(body, "options").and_then(|options| self.object(options, &place))
        else {
            return;
        };
        for (name, value) in fields {
            let place = place.at(name);
            match name.as_str() {
                "stop" => {
                    for (n, one) in self.array(value, &place).into_iter().flatten().enumerate() {
                        self.words_of_any_kind(one, &place.at(n));
                    }
                }
                "use_mmap" => self.boolean(value, &place),
                name if NUMBERS.contains(&name) => {
                    self.check(value.is_number(), &place, Rule::WrongType);
                }
                name if WHOLE.contains(&name) => {
                    let is_whole = value.as_i64();
                    self.check(is_whole.is_some(), &place, Rule::WrongType);
                    let fits = is_whole.is_none_or(|number| i32::try_from(number).is_ok());
                    self.check(fits, &place, Rule::OutOfRange);
                }
                _ => self.broken(&place, Rule::UnknownField),
            }
        }
    }

    /// A text that is not empty; blanks are words of a stop sequence, too.
    fn words_of_any_kind(&mut self, value: &Value, place: &Place) {
        if let Some(text) = self.text(value, place) {
            self.check(!text.is_empty(), place, Rule::Empty);
        }
    }
}

const NUMBERS: &[&str] = &[
    "frequency_penalty",
    "min_p",
    "presence_penalty",
    "repeat_penalty",
    "temperature",
    "top_p",
    "typical_p",
];

/// Options with a whole number.
const WHOLE: &[&str] = &[
    "draft_num_predict",
    "main_gpu",
    "num_batch",
    "num_ctx",
    "num_gpu",
    "num_keep",
    "num_predict",
    "num_thread",
    "repeat_last_n",
    "seed",
    "top_k",
];
