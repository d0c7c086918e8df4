//! Quirks: single profile fields that the configuration overrides.

/// The quirk of a boolean field.
macro_rules! flag {
    ($field:ident) => {
        Quirk {
            name: stringify!($field),
            set: |profile, value| {
                profile.$field = flag(value)?;
                Ok(())
            },
        }
    };
}

/// The quirk of a field with named values.
macro_rules! word {
    ($field:ident, $($word:literal => $meant:expr),+ $(,)?) => {
        Quirk {
            name: stringify!($field),
            set: |profile, value| {
                profile.$field = word(value, &[$(($word, $meant)),+])?;
                Ok(())
            },
        }
    };
}

#[cfg(feature = "bedrock")]
mod bedrock;
#[cfg(feature = "claude")]
mod claude;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "openai")]
mod openai;

use std::sync::Arc;

use jackfield_ports::chat_model::BoxError;
use jackfield_provider_kit::by_model::ByModel;
use serde_json::Value;

use jackfield_engine::near::did_you_mean;

/// A field of a profile.
pub(crate) struct Quirk<P> {
    name: &'static str,
    /// Sets the field; the error says which values it accepts.
    set: fn(&mut P, &Value) -> Result<(), String>,
}

/// A profile whose fields can be set by name.
pub(crate) trait Profile: Clone + Send + Sync + Sized + 'static {
    /// All of its fields.
    const QUIRKS: &'static [Quirk<Self>];
}

/// Overrides profile fields by a table.
///
/// # Errors
///
/// A sentence about an unknown field or an invalid value.
pub(crate) fn over<P: Profile>(known: ByModel<P>, table: &Value) -> Result<ByModel<P>, BoxError> {
    let fields = table
        .as_object()
        .ok_or("quirks is a table of what the server takes")?;
    let mut tried = known.default_value();
    let mut set = Vec::new();
    for (name, value) in fields {
        let Some(quirk) = P::QUIRKS.iter().find(|quirk| quirk.name == name) else {
            let names: Vec<&str> = P::QUIRKS.iter().map(|quirk| quirk.name).collect();
            let hint = did_you_mean(name, &names);
            return Err(format!("there is no quirk `{name}`{hint}").into());
        };
        (quirk.set)(&mut tried, value).map_err(|why| format!("quirks.{name}: {why}"))?;
        set.push((quirk, value.clone()));
    }
    let set: Arc<[_]> = set.into();
    Ok(ByModel::new(move |model| {
        let mut profile = known.get(model);
        for (quirk, value) in &*set {
            // The same value was accepted before.
            let _set = (quirk.set)(&mut profile, value).is_ok();
        }
        profile
    }))
}

fn flag(value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| "this is true or false".to_owned())
}

fn word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Result<T, String> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    let text = value
        .as_str()
        .ok_or_else(|| format!("this is one of {}", names.join(", ")))?;
    let found = words.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, meant)| *meant)
        .ok_or_else(|| format!("`{text}` is unknown{}", did_you_mean(text, &names)))
}
