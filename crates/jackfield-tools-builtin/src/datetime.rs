//! The current date and time in any zone.
//!
//! The clock is passed in, and the zones are built in, so the same instant has the same answer on every machine.

mod format;
mod zone;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

use self::format::{DateFormat, MAX_PATTERN, iso, plain};
use self::zone::offset_text;
use crate::answer::{ToolAnswer, ToolFault};

/// Answers with the date and time.
#[derive(Clone)]
pub struct CurrentDatetime {
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    local: Option<TimeZone>,
}

impl CurrentDatetime {
    /// Creates a tool with this clock, which answers in UTC by default.
    pub fn new(clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            local: None,
        }
    }

    /// Creates a tool with the system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::new(SystemTime::now)
    }

    /// Sets the default zone.
    ///
    /// # Errors
    ///
    /// Returns a fault if the zone is unknown or ambiguous.
    pub fn with_local_zone(mut self, zone: &str) -> Result<Self, ToolFault> {
        self.local = Some(zone::find(zone).map_err(ToolFault::Arguments)?);
        Ok(self)
    }

    /// Answers with the date and time in the zone and format of the arguments.
    ///
    /// # Errors
    ///
    /// Returns a fault if the zone or the format is unknown.
    pub fn answer(&self, arguments: &Value) -> Result<ToolAnswer, ToolFault> {
        let zone = text(arguments, "timezone")?;
        let format = DateFormat::parse(text(arguments, "format")?.unwrap_or(""))
            .map_err(ToolFault::Arguments)?;
        let now = Timestamp::try_from((self.clock)()).map_err(|_| {
            ToolFault::Unanswerable("the clock shows a year that no calendar has".to_owned())
        })?;
        let time = now.to_zoned(self.zone(zone)?);
        let structured = describe(&time, &format).map_err(ToolFault::Arguments)?;
        let part = |name: &str| structured[name].as_str().unwrap_or_default();
        let mut text = part("formatted").to_owned();
        if format == DateFormat::Iso8601 {
            text.push_str(&format!(" ({}, {})", part("weekday"), part("timezone")));
        }
        Ok(ToolAnswer { text, structured })
    }

    /// Returns the tool's description for a model.
    #[must_use]
    pub const fn description() -> &'static str {
        "Tells the current date, time and weekday, in any time zone. \
         Use it whenever the answer depends on today's date or the time now."
    }

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "timezone": {
                    "type": "string",
                    "description": "Where: an IANA zone (`Europe/Berlin`), the city in the name of one (`Tokyo`, `New York`) or an offset (`+05:30`, `UTC-3`). Leave it out for the user's own zone if one is configured, else UTC.",
                    "maxLength": MAX_ZONE,
                },
                "format": {
                    "type": "string",
                    "description": "How: `iso8601` (the default), `rfc2822`, `unix`, `date`, `time`, `human`, or a strftime pattern such as `%d.%m.%Y %H:%M`.",
                    "maxLength": MAX_PATTERN,
                },
            },
            "additionalProperties": false,
        })
    }

    /// Returns the JSON Schema of the structured answer.
    #[must_use]
    pub fn output_schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "formatted": {"type": "string", "description": "The instant in the form that was asked for."},
                "iso": {"type": "string", "description": "Date, time and offset, as in ISO 8601."},
                "date": {"type": "string"},
                "time": {"type": "string"},
                "weekday": {"type": "string"},
                "unix": {"type": "integer", "description": "Seconds since 1970 in UTC."},
                "timezone": {"type": "string"},
                "utc_offset": {"type": "string"},
            },
            "additionalProperties": false,
        })
    }

    /// The zone of the arguments.
    fn zone(&self, asked: Option<&str>) -> Result<TimeZone, ToolFault> {
        let asked = asked.map(str::trim).filter(|zone| !zone.is_empty());
        let is_local = asked.is_none_or(|zone| zone.eq_ignore_ascii_case("local"));
        let fault = match (asked, &self.local) {
            (_, Some(local)) if is_local => return Ok(local.clone()),
            (None, _) => return Ok(TimeZone::UTC),
            (Some(_), None) if is_local => "no local zone is configured: name a zone".to_owned(),
            (Some(zone), _) if zone.chars().count() > MAX_ZONE => {
                format!("the time zone has more than {MAX_ZONE} characters")
            }
            (Some(zone), _) => return zone::find(zone).map_err(ToolFault::Arguments),
        };
        Err(ToolFault::Arguments(fault))
    }
}

impl fmt::Debug for CurrentDatetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentDatetime")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

fn describe(time: &Zoned, format: &DateFormat) -> Result<Value, String> {
    let offset = offset_text(time.offset());
    Ok(json!({
        "formatted": format.write(time)?,
        "iso": iso(time)?,
        "date": plain("%Y-%m-%d", time)?,
        "time": plain("%H:%M:%S", time)?,
        "weekday": plain("%A", time)?,
        "unix": time.timestamp().as_second(),
        "timezone": time.time_zone().iana_name().unwrap_or(&offset),
        "utc_offset": offset,
    }))
}

/// Returns a text argument, if it is present.
fn text<'value>(arguments: &'value Value, name: &str) -> Result<Option<&'value str>, ToolFault> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            Err(ToolFault::Arguments(format!("`{name}` must be a string")))
        }
    }
}

/// The longest name of a zone, in characters.
const MAX_ZONE: usize = 100;
