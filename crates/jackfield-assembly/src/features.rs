//! The problem of a setting that needs a feature which this build leaves out.

use crate::place::{ConfigProblem, ValueSource};

/// The problem of such a setting.
pub(crate) fn left_out(feature: &str, place: ValueSource) -> ConfigProblem {
    ConfigProblem::new(place, reason(feature)).with_help(help(feature))
}

/// What a person can do who needs it.
pub(crate) fn help(feature: &str) -> String {
    format!(
        "build it with `--features {feature}`, or take a program that was built with all features"
    )
}

/// Why such a setting cannot be used.
pub(crate) fn reason(feature: &str) -> String {
    format!("this program was built without the feature `{feature}`")
}
