//! The current date and time in any zone.
//!
//! The clock is passed in, and the zones are built in, so the same instant has the same answer on every machine.

mod cities;
mod format;
mod zone;

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use jiff::{Timestamp, Zoned};
use serde_json::{Value, json};

use self::format::{DateFormat, MAX_PATTERN, iso, plain};
use self::zone::{Meaning, NamedZone, Zones, offset_text};
use crate::answer::{ToolAnswer, ToolFault};

/// Answers with the date and time.
#[derive(Clone)]
pub struct CurrentDatetime {
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    local: Option<NamedZone>,
    zones: Zones,
}

impl CurrentDatetime {
    /// Creates a tool with this clock, which answers in UTC by default.
    pub fn new(clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            local: None,
            zones: Zones::bundled(),
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
        let now = self.now()?;
        match self.zones.find(zone, now) {
            Meaning::One(place) => {
                self.local = Some(place);
                Ok(self)
            }
            Meaning::Several(places) => {
                let choices: Vec<String> =
                    places.iter().map(|place| place.zone_name(now)).collect();
                Err(ToolFault::Arguments(format!(
                    "`{zone}` may be any of {}",
                    choices.join(", ")
                )))
            }
            Meaning::Nothing(similar) => Err(unknown(zone, &similar)),
            Meaning::OffEarth => Err(off_earth(zone)),
        }
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
        let now = self.now()?;
        match self.place(zone, now)? {
            Ok(place) => one(&place, now, &format),
            Err(places) => several(zone.unwrap_or(""), &places, now, &format),
        }
    }

    /// Returns the tool's description for a model.
    #[must_use]
    pub const fn description() -> &'static str {
        "Tells the current date, time and weekday, in any time zone or city. \
         Use it whenever the answer depends on today's date or the time now. \
         A city name that exists more than once is answered for each place."
    }

    /// Returns the JSON Schema of the arguments.
    #[must_use]
    pub fn input_schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "timezone": {
                    "type": "string",
                    "description": "Where: an IANA zone (`Europe/Berlin`), a city (`Tokyo`, `Токио`, `东京`, `Portland, Maine`) or an offset (`+05:30`, `UTC-3`). Leave it out for the user's own zone if one is configured, else UTC.",
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
                "place": {"type": "string", "description": "The place that the name was understood as."},
                "choices": {
                    "type": "array",
                    "description": "Instead of all others: the same for each place that has the name.",
                    "items": {"type": "object"},
                },
            },
            "additionalProperties": false,
        })
    }

    fn now(&self) -> Result<Timestamp, ToolFault> {
        Timestamp::try_from((self.clock)()).map_err(|_| {
            ToolFault::Unanswerable("the clock shows a year that no calendar has".to_owned())
        })
    }

    /// Returns the place of the arguments, or the candidates if it is ambiguous.
    fn place(
        &self,
        zone: Option<&str>,
        now: Timestamp,
    ) -> Result<Result<NamedZone, Vec<NamedZone>>, ToolFault> {
        let zone = zone.map(str::trim).filter(|zone| !zone.is_empty());
        let asked = match (zone, &self.local) {
            (None, None) => "UTC",
            (None, Some(local)) => return Ok(Ok(local.clone())),
            (Some(zone), Some(local)) if zone.eq_ignore_ascii_case("local") => {
                return Ok(Ok(local.clone()));
            }
            (Some(zone), None) if zone.eq_ignore_ascii_case("local") => {
                return Err(ToolFault::Arguments(
                    "no local zone is configured: name a zone or a city".to_owned(),
                ));
            }
            (Some(zone), _) => zone,
        };
        if asked.chars().count() > MAX_ZONE {
            return Err(ToolFault::Arguments(format!(
                "the time zone has more than {MAX_ZONE} characters"
            )));
        }
        match self.zones.find(asked, now) {
            Meaning::One(place) => Ok(Ok(place)),
            Meaning::Several(places) => Ok(Err(places)),
            Meaning::Nothing(similar) => Err(unknown(asked, &similar)),
            Meaning::OffEarth => Err(off_earth(asked)),
        }
    }
}

impl fmt::Debug for CurrentDatetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentDatetime")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

fn one(place: &NamedZone, now: Timestamp, format: &DateFormat) -> Result<ToolAnswer, ToolFault> {
    let structured = describe(place, now, format).map_err(ToolFault::Arguments)?;
    let part = |name: &str| structured[name].as_str().unwrap_or_default();
    let text = match format {
        DateFormat::Iso8601 => format!(
            "{} ({}, {})",
            part("formatted"),
            part("weekday"),
            part("timezone")
        ),
        DateFormat::Date
        | DateFormat::Human
        | DateFormat::Pattern(_)
        | DateFormat::Rfc2822
        | DateFormat::Time
        | DateFormat::Unix => part("formatted").to_owned(),
    };
    Ok(ToolAnswer { text, structured })
}

fn several(
    name: &str,
    places: &[NamedZone],
    now: Timestamp,
    format: &DateFormat,
) -> Result<ToolAnswer, ToolFault> {
    let mut text = format!("`{name}` may be any of these; ask again with the zone that is meant:");
    let mut choices = Vec::new();
    for place in places {
        let choice = describe(place, now, format).map_err(ToolFault::Arguments)?;
        let part = |name: &str| choice[name].as_str().unwrap_or_default();
        text.push_str(&format!(
            "\n- {} ({}): {}",
            part("place"),
            part("timezone"),
            part("formatted")
        ));
        choices.push(choice);
    }
    Ok(ToolAnswer {
        text,
        structured: json!({ "choices": choices }),
    })
}

fn describe(place: &NamedZone, now: Timestamp, format: &DateFormat) -> Result<Value, String> {
    let time = Zoned::new(now, place.zone.clone());
    let mut described = json!({
        "formatted": format.write(&time)?,
        "iso": iso(&time)?,
        "date": plain("%Y-%m-%d", &time)?,
        "time": plain("%H:%M:%S", &time)?,
        "weekday": plain("%A", &time)?,
        "unix": now.as_second(),
        "timezone": place.zone_name(now),
        "utc_offset": offset_text(time.offset()),
    });
    if let Some(label) = &place.label {
        described["place"] = json!(label);
    }
    Ok(described)
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

fn unknown(zone: &str, similar: &[String]) -> ToolFault {
    let hint = if similar.is_empty() {
        "use an IANA zone such as `Europe/Berlin`, a large city or an offset such as `+05:30`"
            .to_owned()
    } else {
        format!("similar: {}", similar.join("; "))
    };
    ToolFault::Arguments(format!("the time zone `{zone}` is not known; {hint}"))
}

fn off_earth(zone: &str) -> ToolFault {
    ToolFault::Arguments(format!(
        "the offset `{zone}` is not in use anywhere: offsets lie between -12:00 and +14:00"
    ))
}

/// The longest name of a zone, in characters.
const MAX_ZONE: usize = 100;
