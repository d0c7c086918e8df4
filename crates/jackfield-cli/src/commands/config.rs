//! `jackfield config`: the effective configuration and its origins.

use jackfield_assembly::{Registry, Surroundings, load, looked_for, servers_schema};

use crate::args::ConfigCommand;
use crate::args::config::ConfigShowArgs;
use crate::commands::{ask, init, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Shows the effective configuration, or the places where files are looked for.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(config: &ConfigCommand, registry: &Registry) -> Result<Exit, CommandError> {
    let surroundings = surroundings()?;
    let out = &mut anstream::stdout();
    let done = match config {
        ConfigCommand::Init(init) => return init::run(init, &surroundings, registry).await,
        ConfigCommand::Schema { servers: true } => render::schema(out, &servers_schema()),
        ConfigCommand::Schema { servers: false } => render::schema(out, &registry.schema()),
        ConfigCommand::Path { source, json } => {
            let looked = looked_for(&surroundings, &ask::flags_of(source));
            render::places(out, &looked, *json)
        }
        ConfigCommand::Show(show) => {
            let config = load(&surroundings, &flags(show))?;
            render::settings(out, &config, show.json)
        }
    };
    printed::ended(done, Exit::Answered)
}

/// The surroundings of this process.
///
/// # Errors
///
/// [`CommandError`] if the working directory is gone.
pub(crate) fn surroundings() -> Result<Surroundings, CommandError> {
    Surroundings::of_process().map_err(|error| {
        CommandError::new(Exit::Configuration, "the working directory cannot be seen")
            .because(&error)
    })
}

fn flags(show: &ConfigShowArgs) -> jackfield_assembly::Flags {
    let mut flags = ask::flags(&show.setup);
    (flags.model, flags.system) = (show.model.clone(), show.system.clone());
    ask::bound(&mut flags, &show.bounds);
    flags
}
