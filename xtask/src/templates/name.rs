//! The name of a new workspace, in the places of the template's.

use std::str::FromStr;

use anyhow::bail;

/// A valid name.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Name(String);

impl Name {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// A text of a template with this name, and with this way to Jackfield.
    pub(super) fn put_into(&self, text: &str, jackfield: &str) -> String {
        let Self(name) = self;
        let snake = name.replace('-', "_");
        let camel: String = name.split('-').map(capitalized).collect();
        let forms = [
            ("../jackfield/", format!("{jackfield}/")),
            ("_brook", format!("_{snake}")),
            ("BROOK", snake.to_uppercase()),
            ("Brook", camel),
            ("brook", name.clone()),
        ];
        // By way of marks: a name or a path may contain the template's name.
        let marks = || forms.iter().zip('\u{1}'..);
        let marked = marks().fold(text.to_owned(), |text, ((form, _), mark)| {
            text.replace(form, &mark.to_string())
        });
        marks().fold(marked, |text, ((_, own), mark)| text.replace(mark, own))
    }
}

impl FromStr for Name {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        let fits = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
        };
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        if !begins || !name.split('-').all(fits) || name.len() > MAX_LENGTH {
            bail!(
                "`{name}` is no name: lower-case letters, digits and single hyphens, such as `blue-brook`, \
                 at most {MAX_LENGTH} characters"
            );
        }
        if TAKEN.contains(&name) {
            bail!("`{name}` is a part of Jackfield: choose another name");
        }
        Ok(Self(name.to_owned()))
    }
}

fn capitalized(part: &str) -> String {
    let mut letters = part.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The longest name: that of a tool begins with it, and has 64 characters.
const MAX_LENGTH: usize = 32;

/// What our own toolboxes and providers are called.
const TAKEN: &[&str] = &["builtin", "claude", "openai", "web", "web-project"];

#[cfg(test)]
mod tests {
    use super::Name;

    #[test]
    fn a_name_is_put_into_every_place() {
        let name: Name = "blue-reed2".parse().unwrap();
        let template =
            "Brook: `provider-brook` is provider_brook::BrookModel, BROOK_API_KEY, ../jackfield/x";
        let text = "BlueReed2: `provider-blue-reed2` is provider_blue_reed2::BlueReed2Model, BLUE_REED2_API_KEY, ../j/x";
        assert_eq!(name.put_into(template, "../j"), text);
        let name: Name = "brook-2".parse().unwrap();
        let text = name.put_into("brook_brook ../jackfield/", "../brook");
        assert_eq!(text, "brook-2_brook_2 ../brook/");
    }

    #[test]
    fn what_cannot_be_the_name_of_a_package_is_refused() {
        let long = "a".repeat(33);
        for name in [
            "", "-a", "a-", "a--b", "2a", "Brook", "a_b", "a b", "ö", "../a", "web", &long,
        ] {
            let refused: anyhow::Result<Name> = name.parse();
            assert!(refused.is_err(), "{name}");
        }
    }
}
