//! `jackfield config`: the effective configuration and its origins.

use jackfield_assembly::{Registry, Surroundings, load, searched_files, servers_schema};

use crate::args::ConfigCommand;
use crate::args::config::ConfigShowArgs;
use crate::commands::{ask, import, init, printed};
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
        ConfigCommand::Import(one) => return import::run(one, &surroundings),
        ConfigCommand::Init(init) => return init::run(init, &surroundings, registry).await,
        ConfigCommand::Schema { servers: true } => render::schema(out, &servers_schema()),
        ConfigCommand::Schema { servers: false } => render::schema(out, &registry.schema()),
        ConfigCommand::Path { source, json } => {
            let files = searched_files(&surroundings, &ask::source_flags(source));
            render::places(out, &files, *json)
        }
        ConfigCommand::Show(show) => {
            let config = load(&surroundings, &flags(show))?;
            render::settings(out, &config, show.json)
        }
    };
    printed::finish(done, Exit::Answered)
}

/// The surroundings of this process.
///
/// # Errors
///
/// [`CommandError`] if the working directory is gone.
pub(crate) fn surroundings() -> Result<Surroundings, CommandError> {
    Surroundings::of_process().map_err(|error| {
        CommandError::new(Exit::Configuration, "the working directory cannot be seen")
            .with_cause(&error)
    })
}

fn flags(show: &ConfigShowArgs) -> jackfield_assembly::Flags {
    let mut flags = ask::flags(&show.setup);
    (flags.model, flags.system) = (show.model.clone(), show.system.clone());
    ask::set_limits(&mut flags, &show.bounds);
    flags
}
