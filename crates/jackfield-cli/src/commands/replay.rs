//! `jackfield replay`: replays recorded decisions, offline.

use std::path::Path;

use jackfield_assembly::Registry;
use jackfield_domain::fact::{Envelope, Fact};
use jackfield_domain::ids::TurnId;
use jackfield_domain::replay as domain;
use jackfield_engine::Engine;
use jackfield_record::Recording;

use crate::args::ReplayArgs;
use crate::commands::sessions::find;
use crate::commands::{ask, printed, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::replay::{self as show, ReplayedStep};

/// Replays a session, a turn, or a file.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(args: ReplayArgs, registry: &Registry) -> Result<Exit, CommandError> {
    let (recording, turn) = match (&args.facts, &args.of) {
        (Some(file), _) => (read(file)?, None),
        (None, of) => load_stored(of.as_deref().unwrap_or_default(), &args, registry).await?,
    };
    let replayed = replayed(&recording, turn.as_ref());
    let out = &mut anstream::stdout();
    let shown = match args.step {
        None => show::all(out, &recording.session, turn.as_ref(), &replayed, args.json),
        Some(number) => {
            let step = replayed.iter().find(|shown| shown.recorded.step == number);
            let step = step.ok_or_else(|| no_step(number, &replayed))?;
            show::one(out, step, args.json)
        }
    };
    printed::finish(shown, exit(&replayed))
}

/// The stored session of this name, and the turn if the name is a turn's.
async fn load_stored(
    name: &str,
    args: &ReplayArgs,
    registry: &Registry,
) -> Result<(Recording, Option<TurnId>), CommandError> {
    let journal = session_journal::open(
        &ask::flags_without_servers(&args.source),
        session_journal::JournalAccess::Read,
        registry,
    )
    .await?;
    let found = find(name, &journal.engine).await;
    journal.close().await;
    found
}

async fn find(name: &str, engine: &Engine) -> Result<(Recording, Option<TurnId>), CommandError> {
    let (session, turn) = match find::turn(engine, name).await? {
        Some((session, turn)) => (session, Some(turn)),
        None => (find::session(engine, name).await?, None),
    };
    let loaded = engine.load(&session).await?;
    let recording = Recording {
        deliveries: loaded.deliveries,
        session,
        steps: loaded.steps,
    };
    Ok((recording, turn))
}

fn read(file: &Path) -> Result<Recording, CommandError> {
    let cannot = |error: &(dyn std::error::Error + 'static)| {
        let message = format!("{} cannot be read", file.display());
        CommandError::new(Exit::Usage, message).with_cause(error)
    };
    let text = std::fs::read_to_string(file).map_err(|error| cannot(&error))?;
    Recording::parse(&text).map_err(|error| {
        cannot(&error).with_help("`jackfield sessions export ID --facts` writes such a file")
    })
}

/// Replays every step, or every step of one turn.
fn replayed<'a>(recording: &'a Recording, turn: Option<&TurnId>) -> Vec<ReplayedStep<'a>> {
    let mut replay = domain::Replay::new(recording.session.clone(), &recording.deliveries);
    let mut within = turn.is_none();
    let mut shown = Vec::new();
    for recorded in &recording.steps {
        let replayed = replay.step(recorded);
        if let (Some(turn), Some(begun)) = (turn, begun(recorded)) {
            within = begun == turn;
        }
        if within {
            shown.push(ReplayedStep { recorded, replayed });
        }
    }
    shown
}

/// The turn that begins with this step.
fn begun(step: &Envelope) -> Option<&TurnId> {
    step.facts.iter().find_map(|fact| {
        let Fact::TurnOpened { turn, .. } = fact else {
            return None;
        };
        Some(turn)
    })
}

fn exit(replayed: &[ReplayedStep<'_>]) -> Exit {
    let damaged = replayed.iter().any(|shown| match shown.replayed.verdict {
        domain::ReplayVerdict::Differs(_) | domain::ReplayVerdict::NotRebuilt(_) => true,
        domain::ReplayVerdict::DecidedDifferentlySince(_) | domain::ReplayVerdict::Same => false,
    });
    if damaged {
        Exit::Differs
    } else {
        Exit::Answered
    }
}

fn no_step(number: u64, replayed: &[ReplayedStep<'_>]) -> CommandError {
    let message = format!("there is no step {number}");
    let fault = CommandError::new(Exit::Usage, message);
    let first = replayed.first().map(|shown| shown.recorded.step);
    let last = replayed.last().map(|shown| shown.recorded.step);
    match (first, last) {
        (Some(first), Some(last)) => fault.with_help(format!("there are {first} to {last}")),
        (_, _) => fault,
    }
}
