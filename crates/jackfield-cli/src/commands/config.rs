//! `jackfield config`: what holds, and where it comes from.

use jackfield_assembly::{Registry, Surroundings, load, looked_for, servers_schema};

use crate::args::Config;
use crate::args::config::Show;
use crate::commands::{ask, init, printed};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::render;

/// Shows the configuration, or where it is looked for.
///
/// # Errors
///
/// A [`Fault`], which says what to do and how the run ends.
pub async fn run(config: &Config, registry: &Registry) -> Result<Exit, Fault> {
    let surroundings = surroundings()?;
    let out = &mut anstream::stdout();
    let done = match config {
        Config::Init(init) => return init::run(init, &surroundings, registry).await,
        Config::Schema { servers: true } => render::schema(out, &servers_schema()),
        Config::Schema { servers: false } => render::schema(out, &registry.schema()),
        Config::Path { source, json } => {
            let looked = looked_for(&surroundings, &ask::flags_of(source));
            render::places(out, &looked, *json)
        }
        Config::Show(show) => {
            let config = load(&surroundings, &flags(show))?;
            render::settings(out, &config, show.json)
        }
    };
    printed::ended(done, Exit::Answered)
}

/// What this process is surrounded by.
///
/// # Errors
///
/// A [`Fault`] if the working directory is gone.
pub(crate) fn surroundings() -> Result<Surroundings, Fault> {
    Surroundings::of_process().map_err(|error| {
        Fault::new(Exit::Configuration, "the working directory cannot be seen").because(&error)
    })
}

fn flags(show: &Show) -> jackfield_assembly::Flags {
    let mut flags = ask::flags(&show.setup);
    (flags.model, flags.system) = (show.model.clone(), show.system.clone());
    ask::bound(&mut flags, &show.bounds);
    flags
}
