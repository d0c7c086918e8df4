//! The values of a configuration as they were written.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::place::ValueSource;

/// Raw values by key. Some are secret.
#[derive(Clone, Default)]
pub(crate) struct ConfiguredValues(pub(crate) BTreeMap<String, (Value, ValueSource)>);

impl fmt::Debug for ConfiguredValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
