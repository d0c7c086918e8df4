//! A tool in its wire form. A client brings the same ones with every request, and a provider is sent the same
//! ones, so what was read or written of one is kept.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use jackfield_domain::tool::ToolDefinition;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::body;
use crate::shelf::Shelf;

/// The wire form of tools of one language.
pub trait WireTool: DeserializeOwned + 'static {
    /// Where they are kept.
    fn shelf() -> &'static Shelf<Brought<Self>>;
}

/// A tool in its wire form, what it means once somebody asked, and its text once it was written. Cloning
/// shares all of them.
#[derive(Debug)]
pub struct Brought<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    definition: OnceLock<Arc<ToolDefinition>>,
    text: OnceLock<Box<RawValue>>,
    tool: T,
}

impl<T> Brought<T> {
    /// What the tool means: a function of its wire form alone.
    ///
    /// # Errors
    ///
    /// Those of `mean`.
    pub fn definition<E>(
        &self,
        mean: impl FnOnce(&T) -> Result<ToolDefinition, E>,
    ) -> Result<Arc<ToolDefinition>, E> {
        if let Some(known) = self.0.definition.get() {
            return Ok(Arc::clone(known));
        }
        let definition = Arc::new(mean(&self.0.tool)?);
        Ok(Arc::clone(self.0.definition.get_or_init(|| definition)))
    }
}

impl<T: Serialize> Brought<T> {
    /// Its text, if it can be written, which then is done once.
    pub(crate) fn text(&self) -> Option<&RawValue> {
        if let Some(text) = self.0.text.get() {
            return Some(text);
        }
        let text = to_raw_value(&self.0.tool).ok()?;
        Some(self.0.text.get_or_init(|| text))
    }
}

impl<T> Clone for Brought<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> From<T> for Brought<T> {
    fn from(tool: T) -> Self {
        Self(Arc::new(Inner {
            definition: OnceLock::new(),
            text: OnceLock::new(),
            tool,
        }))
    }
}

impl<T> Deref for Brought<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.tool
    }
}

impl<T: PartialEq> PartialEq for Brought<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.tool == other.0.tool
    }
}

impl<T: Serialize> Serialize for Brought<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => text.serialize(serializer),
            // The same error again, from where it is told.
            None => self.0.tool.serialize(serializer),
        }
    }
}

impl<'de, T: WireTool> Deserialize<'de> for Brought<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if body::is_searched() {
            return T::deserialize(deserializer).map(Self::from);
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let read = T::shelf().read(text.get(), |text| serde_json::from_str(text).map(T::into));
        read.map_err(|error: serde_json::Error| D::Error::custom(error))
    }
}
