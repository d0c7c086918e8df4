//! The formats of an instant.

use jiff::Zoned;
use jiff::fmt::{rfc2822, strtime};

use super::zone::offset_text;

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum DateFormat {
    Date,
    Human,
    Iso8601,
    Pattern(String),
    Rfc2822,
    Time,
    Unix,
}

impl DateFormat {
    /// Parses the name of a format, or a `strftime` pattern.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let name = text.trim().to_lowercase();
        Ok(match name.as_str() {
            "" | "iso8601" | "iso" | "iso-8601" | "rfc3339" => Self::Iso8601,
            "rfc2822" => Self::Rfc2822,
            "unix" => Self::Unix,
            "date" => Self::Date,
            "time" => Self::Time,
            "human" => Self::Human,
            _ if text.contains('%') => {
                let length = text.chars().count();
                if length > MAX_PATTERN {
                    return Err(format!(
                        "the pattern has {length} characters, at most {MAX_PATTERN} are allowed"
                    ));
                }
                Self::Pattern(text.to_owned())
            }
            _ => {
                let shown: String = text.chars().take(40).collect();
                return Err(format!(
                    "the format `{shown}` is not known: use iso8601, rfc2822, unix, date, time, human, or a pattern such as `%Y-%m-%d %H:%M`"
                ));
            }
        })
    }

    pub(crate) fn write(&self, time: &Zoned) -> Result<String, String> {
        match self {
            Self::Date => plain("%Y-%m-%d", time),
            Self::Human => human(time),
            Self::Iso8601 => iso(time),
            Self::Pattern(pattern) => {
                let written = plain(pattern, time)?;
                if written.chars().count() > MAX_WRITTEN {
                    return Err(format!(
                        "the pattern writes more than {MAX_WRITTEN} characters: make it shorter"
                    ));
                }
                Ok(written)
            }
            Self::Rfc2822 => rfc2822::to_string(time).map_err(|error| error.to_string()),
            Self::Time => plain("%H:%M:%S", time),
            Self::Unix => Ok(time.timestamp().as_second().to_string()),
        }
    }
}

/// Formats an instant as `2026-05-06T21:30:00+09:00`.
pub(crate) fn iso(time: &Zoned) -> Result<String, String> {
    let civil = plain("%Y-%m-%dT%H:%M:%S", time)?;
    Ok(format!("{civil}{}", offset_text(time.offset())))
}

/// Formats an instant by a pattern.
pub(crate) fn plain(pattern: &str, time: &Zoned) -> Result<String, String> {
    strtime::format(pattern, time).map_err(|error| format!("the pattern cannot be used: {error}"))
}

fn human(time: &Zoned) -> Result<String, String> {
    let civil = plain("%A, %-d %B %Y, %H:%M:%S", time)?;
    let offset = offset_text(time.offset());
    Ok(match time.time_zone().iana_name() {
        Some("UTC") => format!("{civil} UTC"),
        Some(name) => format!("{civil} ({name}, UTC{offset})"),
        None => format!("{civil} (UTC{offset})"),
    })
}

/// The longest pattern, in characters.
pub(crate) const MAX_PATTERN: usize = 100;

/// The longest output of a pattern: a few characters can request much padding.
const MAX_WRITTEN: usize = 500;
