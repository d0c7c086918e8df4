//! OpenAI's rules: sound bodies pass, and every rule is broken once.

mod chat_messages;
mod chat_settings;
mod chat_tools;
mod responses_items;
mod responses_settings;
mod responses_tools;

use jackfield_dialect_openai::profile::Profile;
use jackfield_dialect_rules::openai::{Rule, Violation};
use serde_json::Value;

type Check = fn(&Value, &Profile) -> Vec<Violation>;

/// A check, and the body that it is tried on: sound as it is, and broken by one change.
struct Try {
    body: Value,
    check: Check,
    profile: Profile,
}

impl Try {
    #[track_caller]
    fn new(check: Check, profile: Profile, body: Value) -> Self {
        assert_eq!(check(&body, &profile), [], "{body:#}");
        Self {
            body,
            check,
            profile,
        }
    }

    /// Of a profile that is a little different, for which the body is sound as well.
    #[track_caller]
    fn with(&self, change: impl FnOnce(&mut Profile)) -> Self {
        let mut profile = self.profile;
        change(&mut profile);
        Self::new(self.check, profile, self.body.clone())
    }

    /// What the check says once this stands at this pointer; nothing there if it is null twice.
    fn told(&self, pointer: &str, value: Option<Value>) -> Vec<(String, Rule)> {
        let mut body = self.body.clone();
        let (above, key) = pointer.rsplit_once('/').expect("a pointer");
        match body.pointer_mut(above).expect("a place") {
            Value::Object(fields) => match value {
                Some(value) => {
                    fields.insert(key.to_owned(), value);
                }
                None => {
                    fields.shift_remove(key).expect("a field to remove");
                }
            },
            Value::Array(list) => {
                let place = key.parse().unwrap_or(list.len());
                match value {
                    Some(value) if place < list.len() => list[place] = value,
                    Some(value) => list.push(value),
                    None => {
                        list.remove(place);
                    }
                }
            }
            other => panic!("nothing stands below {other}"),
        }
        let violations = (self.check)(&body, &self.profile);
        violations.into_iter().map(|v| (v.path, v.rule)).collect()
    }

    /// One change breaks one rule, at the place that it names or below it.
    #[track_caller]
    fn breaks(&self, pointer: &str, value: Value, path: &str, rule: Rule) {
        let told = self.told(pointer, Some(value));
        assert_eq!(told, [(path.to_owned(), rule)], "{pointer}");
    }

    /// Leaving something out breaks one rule.
    #[track_caller]
    fn needs(&self, pointer: &str, path: &str, rule: Rule) {
        assert_eq!(
            self.told(pointer, None),
            [(path.to_owned(), rule)],
            "{pointer}"
        );
    }

    /// A change that breaks nothing.
    #[track_caller]
    fn takes(&self, pointer: &str, value: Value) {
        assert_eq!(self.told(pointer, Some(value)), [], "{pointer}");
    }
}
