//! Makes the toolboxes of `[web]`.

mod apis;
mod internet;

use jackfield_ports::toolbox_source::RegisteredToolbox;

use crate::config::Config;
use crate::place::ConfigProblem;
use crate::surroundings::Environment;

/// The toolboxes of the configuration. If details are redacted, only the log has the reason why an API cannot be used.
pub(super) fn toolboxes(
    config: &Config,
    environment: &Environment,
    redact_details: bool,
) -> Result<Vec<RegisteredToolbox>, ConfigProblem> {
    let mut toolboxes = Vec::new();
    apis::join(config, environment, &mut toolboxes, redact_details)?;
    internet::join(config, environment, &mut toolboxes)?;
    Ok(toolboxes)
}
