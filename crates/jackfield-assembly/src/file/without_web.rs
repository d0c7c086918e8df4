//! What stands for `web` in a build without that feature.

use serde_json::Value;

use crate::config::Config;
use crate::document::Section;
use crate::features;
use crate::file::Trust;
use crate::place::ValueSource;
use crate::web::Web;

/// Says that `[web]` cannot be used.
pub(crate) fn read(_web: &mut Web, section: Section<'_>, _trust: Trust) {
    if let Some(place) = section.first_place() {
        section.problem(features::left_out("web", place));
    }
}

/// Changes nothing.
pub(crate) const fn whole(
    _config: &mut Config,
    said: Vec<(Value, ValueSource)>,
    _trust: Trust,
) -> Vec<(Value, ValueSource)> {
    said
}

/// No keywords of parameters.
pub(crate) const KEYWORDS: &[&str] = &[];
