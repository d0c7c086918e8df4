//! Parses the values of the configuration.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::price::Money;
use jackfield_domain::request::ModelRef;
use serde_json::Value;
use toml::de::DeValue;

use jackfield_engine::near::did_you_mean;

/// Parses a string.
pub(crate) fn text(value: &DeValue<'_>) -> Result<String, String> {
    value
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| expected("a text in quotes", value))
}

/// Parses a string into a shared one.
pub(crate) fn shared(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    text(value).map(Into::into)
}

/// Parses a string that is not blank.
pub(crate) fn filled(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let text = text(value)?;
    if text.trim().is_empty() {
        Err("this must not be empty".to_owned())
    } else {
        Ok(text.into())
    }
}

/// Parses several strings.
pub(crate) fn texts(value: &DeValue<'_>) -> Result<Vec<Arc<str>>, String> {
    let items = value
        .as_array()
        .ok_or_else(|| expected("a list of texts", value))?;
    items.iter().map(|item| shared(item.get_ref())).collect()
}

/// Parses `true` or `false`.
pub(crate) fn flag(value: &DeValue<'_>) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| expected("true or false", value))
}

/// Parses an integer that fits the type.
pub(crate) fn whole<T: TryFrom<i128>>(value: &DeValue<'_>) -> Result<T, String> {
    let number = value
        .as_integer()
        .ok_or_else(|| expected("a whole number", value))?;
    let digits = number.as_str().replace('_', "");
    let number = i128::from_str_radix(&digits, number.radix()).ok();
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("{digits} is out of range"))
}

/// Parses an integer of at least 1.
pub(crate) fn at_least_one(value: &DeValue<'_>) -> Result<u32, String> {
    match whole(value)? {
        0 => Err("this must be at least 1".to_owned()),
        number => Ok(number),
    }
}

/// Parses a number in a range.
pub(crate) fn between(low: f64, high: f64) -> impl FnOnce(&DeValue<'_>) -> Result<f64, String> {
    move |value| {
        let number = match value.as_float() {
            Some(number) => number.as_str().replace('_', "").parse().ok(),
            None => whole::<i32>(value).ok().map(f64::from),
        };
        let number: f64 = number.ok_or_else(|| expected("a number", value))?;
        if (low..=high).contains(&number) {
            Ok(number)
        } else {
            Err(format!("{number} is not between {low} and {high}"))
        }
    }
}

/// Parses an amount of money: a decimal number, kept exactly.
pub(crate) fn money(value: &DeValue<'_>) -> Result<Money, String> {
    let digits = match (value.as_float(), value.as_integer()) {
        (Some(number), _) => number.as_str().replace('_', ""),
        (None, Some(_)) => whole::<u64>(value)?.to_string(),
        (None, None) => return Err(expected("an amount such as 0.50", value)),
    };
    Money::parse(&digits).map_err(|error| error.to_string())
}

/// Parses a duration such as "30s" or "1h 30m".
pub(crate) fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    let text = value
        .as_str()
        .ok_or_else(|| expected("a length of time such as \"30s\"", value))?;
    length_of_time(text)
}

/// Parses a duration such as "30s" or "30d".
///
/// # Errors
///
/// Why it is invalid, as text.
pub fn length_of_time(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(Duration::ZERO) => Err("this must be longer than nothing".to_owned()),
        Ok(duration) if duration > MAX_TIME => {
            Err(format!("`{text}` is longer than a hundred years"))
        }
        Ok(duration) => Ok(duration),
        Err(why) => Err(format!(
            "`{text}` is not a length of time such as \"30s\" or \"2m\": {why}"
        )),
    }
}

/// Parses a number of bytes, or a size such as "256KiB".
pub(crate) fn size(value: &DeValue<'_>) -> Result<usize, String> {
    let Some(text) = value.as_str() else {
        return whole(value)
            .map_err(|_| expected("a size such as \"256KiB\", or a number of bytes", value));
    };
    let bytes = size_in_bytes(text)?;
    usize::try_from(bytes).map_err(|_| format!("`{text}` is out of range"))
}

/// Parses a size such as "256KiB" or "4MB".
///
/// # Errors
///
/// Why it is invalid, as text.
pub fn size_in_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = text[digits.len()..].trim();
    let factor = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit))
        .map(|(_, factor)| *factor);
    let bytes = digits
        .parse::<u64>()
        .ok()
        .zip(factor)
        .and_then(|(count, factor)| count.checked_mul(factor));
    bytes.ok_or_else(|| format!("`{text}` is not a size such as \"256KiB\" or \"4MB\""))
}

/// Parses `provider/model`. The model name may contain more slashes.
pub(crate) fn parse_model(name: &str) -> Option<ModelRef> {
    let (provider, model) = name.split_once('/')?;
    let filled = !provider.is_empty() && !model.trim().is_empty();
    filled.then(|| ModelRef {
        model: model.into(),
        provider: provider.into(),
    })
}

/// Parses one of these words.
pub(crate) fn one_of<T: Clone>(
    words: &[(&str, T)],
) -> impl FnOnce(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
        let text = value
            .as_str()
            .ok_or_else(|| expected(&format!("one of {}", names.join(", ")), value))?;
        let found = words
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, meant)| meant.clone());
        found.ok_or_else(|| format!("`{text}` is unknown{}", did_you_mean(text, &names)))
    }
}

/// Parses an address to listen on. `localhost`, and a port alone, mean this machine.
///
/// # Errors
///
/// Why it is invalid, as text.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    let is_local = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    let local = port.parse().ok().filter(|_| is_local);
    let local = local.map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    local.map_or_else(|| text.parse(), Ok).map_err(|_| {
        format!(
            "`{text}` is not an address with a port, such as \"127.0.0.1:8350\" or \"localhost:8350\""
        )
    })
}

/// Converts any simple value to JSON, for adapters to interpret.
pub(crate) fn any(value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::Array(items) => items.iter().map(|item| any(item.get_ref())).collect(),
        DeValue::Boolean(flag) => Ok(Value::Bool(*flag)),
        DeValue::Datetime(time) => Ok(Value::String(time.to_string())),
        DeValue::Float(_) => between(f64::MIN, f64::MAX)(value).map(Value::from),
        DeValue::Integer(_) => whole::<i64>(value).map(Value::from),
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Table(fields) => fields
            .iter()
            .map(|(name, field)| Ok((name.get_ref().to_string(), any(field.get_ref())?)))
            .collect(),
    }
}

fn expected(what: &str, found: &DeValue<'_>) -> String {
    format!(
        "{what} was expected, not {}",
        with_article(found.type_str())
    )
}

/// The name of a type, with its article.
pub(crate) fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {kind}")
}

/// A hundred years: the clock's range ends not much later.
const MAX_TIME: Duration = Duration::from_secs(100 * 31_557_600);

/// The units of sizes.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("kb", 1_000),
    ("kib", 1 << 10),
    ("mb", 1_000_000),
    ("mib", 1 << 20),
    ("gb", 1_000_000_000),
    ("gib", 1 << 30),
];

/// The names of rates.
pub(crate) const RATES: [&str; 9] = [
    "audio_input",
    "audio_output",
    "cache_read",
    "cache_write",
    "cache_write_long",
    "image_input",
    "image_output",
    "input",
    "output",
];
