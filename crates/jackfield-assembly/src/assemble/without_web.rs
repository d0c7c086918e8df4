//! What stands for `web` in a build without that feature.

use jackfield_ports::toolbox_source::RegisteredToolbox;

use crate::config::Config;
use crate::place::ConfigProblem;
use crate::surroundings::Environment;

/// No toolboxes.
pub(super) const fn toolboxes(
    _config: &Config,
    _environment: &Environment,
    _redact_details: bool,
) -> Result<Vec<RegisteredToolbox>, ConfigProblem> {
    Ok(Vec::new())
}
