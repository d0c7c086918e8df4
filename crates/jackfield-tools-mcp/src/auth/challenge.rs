//! What a server demands when it refuses a request (RFC 6750, section 3, and RFC 9728, section 5.1).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// A `Bearer` challenge.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Challenge {
    /// Why the token was refused, such as `insufficient_scope`.
    pub error: Option<String>,
    /// The address of the metadata of the protected resource.
    pub resource_metadata: Option<String>,
    /// The scope that the request needs.
    pub scope: Option<String>,
}

impl Challenge {
    /// The first `Bearer` challenge of an answer, if it has one.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(WWW_AUTHENTICATE).iter();
        let texts = values.filter_map(|value| value.to_str().ok());
        texts
            .filter(|text| text.len() <= MAX_LENGTH)
            .find_map(Self::parse)
    }

    /// The first `Bearer` challenge of a header's value.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = Words(text);
        let mut challenge: Option<Self> = None;
        while let Some(name) = words.token() {
            let Some(value) = words.value() else {
                // A name without a value is a scheme.
                if challenge.is_some() {
                    break;
                }
                if name.eq_ignore_ascii_case("bearer") {
                    challenge = Some(Self::default());
                }
                continue;
            };
            let Some(challenge) = &mut challenge else {
                continue;
            };
            let slot = match &*name.to_ascii_lowercase() {
                "error" => &mut challenge.error,
                "resource_metadata" => &mut challenge.resource_metadata,
                "scope" => &mut challenge.scope,
                _ => continue,
            };
            *slot = Some(value).filter(|value| !value.trim().is_empty());
        }
        challenge
    }

    /// Whether the token is good, but does not cover the request.
    pub(crate) fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The rest of a header's value.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    /// The next token: the name of a scheme or of a parameter.
    fn token(&mut self) -> Option<&'a str> {
        self.0 = self.0.trim_start_matches([' ', '\t', ',', ';']);
        let end = self.0.find([' ', '\t', ',', ';', '=']);
        let (token, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        if token.is_empty() && !rest.is_empty() {
            // An `=` without a name.
            self.0 = rest.get(1..).unwrap_or_default();
            return self.token();
        }
        (!token.is_empty()).then_some(token)
    }

    /// The value of the parameter whose name was just read, if it is one.
    fn value(&mut self) -> Option<String> {
        let rest = self.0.trim_start().strip_prefix('=')?.trim_start();
        let Some(quoted) = rest.strip_prefix('"') else {
            let end = rest.find([' ', '\t', ',']).unwrap_or(rest.len());
            let (value, rest) = rest.split_at(end);
            self.0 = rest;
            return Some(value.to_owned());
        };
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.0 = quoted.get(at + 1..).unwrap_or_default();
                    return Some(value);
                }
                '\\' => value.extend(letters.next().map(|(_, letter)| letter)),
                _ => value.push(letter),
            }
        }
        self.0 = "";
        Some(value)
    }
}

/// The longest header that is read, in bytes.
const MAX_LENGTH: usize = 16 << 10;
