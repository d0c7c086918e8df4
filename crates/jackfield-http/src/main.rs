//! The `jackfield-http` command: the gateway alone, configured by files and environment.

use std::process::ExitCode;

use jackfield_assembly::{Flags, Registry, Surroundings, load};
use jackfield_http::{Running, asked_to_end, start_log};

fn main() -> ExitCode {
    // Before anything else: what a guard is given is no command line.
    if let Some(code) = jackfield_assembly::guard() {
        return code;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(serve());
            // A thread that is stuck must not hold the process.
            runtime.shutdown_background();
            code
        }
        Err(error) => {
            start_log(jackfield_assembly::LogFormat::default());
            tracing::error!(%error, "the runtime does not start");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> ExitCode {
    let surroundings = match Surroundings::of_process() {
        Ok(surroundings) => surroundings,
        Err(error) => {
            start_log(jackfield_assembly::LogFormat::default());
            tracing::error!(%error, "the working directory cannot be seen");
            return ExitCode::FAILURE;
        }
    };
    let config = match load(&surroundings, &Flags::default()) {
        Ok(config) => config,
        Err(error) => {
            start_log(jackfield_assembly::LogFormat::default());
            tracing::error!("{error}");
            return ExitCode::from(WRONG);
        }
    };
    start_log(config.serve.log);
    let registry = Registry::default().guarded();
    match Running::start(config, &surroundings.environment, &registry).await {
        Ok(running) => {
            tracing::info!(address = %running.address, "listening");
            running.until(asked_to_end(), asked_to_end()).await;
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{}", jackfield_http::told(&error));
            ExitCode::from(WRONG)
        }
    }
}

/// The exit code of a wrong configuration, as that of `jackfield`.
const WRONG: u8 = 3;
