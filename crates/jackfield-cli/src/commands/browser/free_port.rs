//! A gateway whose port the browser may know.

use jackfield_assembly::{Config, Environment, Registry};
use jackfield_server::{RunError, RunningGateway};

/// Starts a gateway at the address of this configuration, or at a free port of it if that one is taken.
///
/// # Errors
///
/// [`RunError`], before any conversation was touched.
pub(crate) async fn start(
    mut config: Config,
    environment: &Environment,
    registry: &Registry,
) -> Result<RunningGateway, RunError> {
    match RunningGateway::start(config.clone(), environment, registry).await {
        Err(RunError::CannotListen { .. }) => {
            config.serve.bind.set_port(0);
            RunningGateway::start(config, environment, registry).await
        }
        started => started,
    }
}
