//! The options of turns with another model.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_domain::opaque::Extension;
use jackfield_domain::request::ModelRef;
use jackfield_engine::TurnOptions;

use crate::place::ValueSource;

/// Switches the options to this model, with the configured extensions of its dialect.
pub(super) fn switch(
    options: &mut TurnOptions,
    dialects: &BTreeMap<Arc<str>, Arc<str>>,
    (always, extensions): (&[Extension], &[(Extension, ValueSource)]),
    model: ModelRef,
) {
    let dialect = dialects.get(&model.provider);
    let extensions = extensions.iter().map(|(extension, _)| extension);
    let dialect_extensions = extensions.filter(|extension| Some(&extension.dialect) == dialect);
    let always = always.iter();
    options.settings.extensions = always.chain(dialect_extensions).cloned().collect();
    options.model = model;
}
