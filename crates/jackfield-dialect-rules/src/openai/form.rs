//! The form of objects, as tables of their fields.

use serde_json::{Map, Value};

use super::{Found, Rule};
use crate::place::Place;

/// A field of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    key: &'static str,
    is: Is,
    needed: bool,
}

/// The permitted form of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Is {
    /// Anything; checked elsewhere, or not at all.
    Any,
    /// The text of a JSON object.
    Arguments,
    Bool,
    /// A call id in the server's form.
    CallId,
    Int(i64, i64),
    List,
    /// A string of name characters, with this maximum length.
    Name(usize),
    Number(f64, f64),
    Object,
    OneOf(&'static [&'static str]),
    OrNull(&'static Self),
    Text,
    /// A string that is not blank, with this maximum length.
    Words(usize),
}

/// An optional field.
pub(crate) const fn may(key: &'static str, is: Is) -> Field {
    Field {
        key,
        is,
        needed: false,
    }
}

pub(crate) const fn need(key: &'static str, is: Is) -> Field {
    Field {
        key,
        is,
        needed: true,
    }
}

impl Field {
    pub(crate) fn is_called(&self, key: &str) -> bool {
        self.key == key
    }
}

impl Found<'_> {
    /// An object with exactly these fields permitted.
    pub(crate) fn form<'v>(
        &mut self,
        value: &'v Value,
        form: &[Field],
        place: &Place,
    ) -> Option<&'v Map<String, Value>> {
        let fields = self.object(value, place)?;
        for key in fields.keys() {
            let known = form.iter().any(|field| field.key == key);
            self.check(known, &place.at(key), Rule::UnknownField);
        }
        self.fields(fields, form, place);
        Some(fields)
    }

    /// These fields; others are permitted, too.
    pub(crate) fn fields(&mut self, fields: &Map<String, Value>, form: &[Field], place: &Place) {
        for field in form {
            let place = place.at(field.key);
            match fields.get(field.key) {
                None => self.check(!field.needed, &place, Rule::Missing),
                Some(value) => self.is(value, field.is, &place),
            }
        }
    }

    pub(crate) fn is(&mut self, value: &Value, is: Is, place: &Place) {
        match is {
            Is::Any => {}
            Is::Arguments => {
                let Some(text) = self.text(value, place) else {
                    return;
                };
                let parsed = serde_json::from_str::<Map<String, Value>>(text);
                self.check(parsed.is_ok(), place, Rule::Arguments);
            }
            Is::Bool => self.check(value.is_boolean(), place, Rule::WrongType),
            Is::CallId => {
                if let Some(id) = self.text(value, place) {
                    let sound = self.is_call_id(id);
                    self.check(sound, place, Rule::CallId);
                }
            }
            Is::Int(least, most) => match value.as_i64() {
                Some(number) => {
                    let sound = (least..=most).contains(&number);
                    self.check(sound, place, Rule::OutOfRange);
                }
                // A number that does not fit is out of range.
                None if value.is_u64() => self.broken(place, Rule::OutOfRange),
                None => self.broken(place, Rule::WrongType),
            },
            Is::List => self.check(value.is_array(), place, Rule::WrongType),
            Is::Name(longest) => {
                if let Some(name) = self.text(value, place) {
                    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    let sound = (1..=longest).contains(&name.len()) && name.chars().all(fits);
                    self.check(sound, place, Rule::Name);
                }
            }
            Is::Number(least, most) => match value.as_f64() {
                Some(number) => {
                    let sound = (least..=most).contains(&number);
                    self.check(sound, place, Rule::OutOfRange);
                }
                None => self.broken(place, Rule::WrongType),
            },
            Is::Object => self.check(value.is_object(), place, Rule::WrongType),
            Is::OneOf(values) => {
                if let Some(text) = self.text(value, place) {
                    self.check(values.contains(&text), place, Rule::WrongValue);
                }
            }
            Is::OrNull(is) => {
                if !value.is_null() {
                    self.is(value, *is, place);
                }
            }
            Is::Text => {
                self.text(value, place);
            }
            Is::Words(longest) => {
                if let Some(text) = self.text(value, place) {
                    self.check(!text.is_empty(), place, Rule::Empty);
                    let sound = text.chars().count() <= longest;
                    self.check(sound, place, Rule::TooLong);
                }
            }
        }
    }

    /// The elements of an array, which must not be empty.
    pub(crate) fn some<'v>(&mut self, value: &'v Value, place: &Place) -> &'v [Value] {
        match value.as_array() {
            Some(list) => {
                self.check(!list.is_empty(), place, Rule::Empty);
                list
            }
            None => {
                self.broken(place, Rule::WrongType);
                &[]
            }
        }
    }
}
