//! `jackfield sessions resume`: continues turns that were left open.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use jackfield_assembly::{ConfigFile, Registry};
use jackfield_domain::ids::SessionId;
use jackfield_engine::{Engine, EngineError, ResumeSession, SessionRow, TurnOptions};

use super::{PAGE, find, page};
use crate::approval::Terminal;
use crate::args::sessions::Resume;
use crate::commands::{ask, servers, session_journal};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::Person;
use crate::render::{self, words};
use crate::standing_rules::StandingRules;
use crate::turn::{self, AskMode, CommandTurnEnd};

pub(super) async fn run(resume: Resume, registry: &Registry) -> Result<Exit, CommandError> {
    let (flags, surroundings) = (ask::flags(&resume.setup), ask::surroundings()?);
    let config = ask::load_config_in(&flags, &surroundings)?;
    let config_file = ConfigFile::of(&surroundings, &flags)?;
    session_journal::check_exists(&config)?;
    let opening = session_journal::open_in_background(&config, registry);
    let prepared = registry.prepare(&config, &surroundings.environment)?;
    let journal = opening.wait_and_warn().await?;
    let assembled = prepared.with_journal(Arc::clone(&journal.journal));
    let rules = StandingRules::new(config_file, assembled.servers.all());
    let ended = resume_all(&assembled.engine, assembled.options, &resume, rules).await;
    servers::stop(assembled.servers.all()).await;
    session_journal::close(&journal).await;
    ended
}

async fn resume_all(
    engine: &Engine,
    mut options: TurnOptions,
    resume: &Resume,
    rules: StandingRules,
) -> Result<Exit, CommandError> {
    let ResumeTarget { parked, sessions } = chosen(engine, resume).await?;
    if parked > 0 {
        let turns = words::counted(parked, "turn");
        render::remark(&format!(
            "{turns} parked, left alone (`jackfield sessions list` shows which); `--again` tries once more"
        ));
    } else if sessions.is_empty() {
        render::remark("no open turn needs to be resumed");
    }
    let mut person = None;
    if !(resume.yes || resume.json) && io::stderr().is_terminal() {
        let terminal = Terminal::open().ok();
        person = terminal.map(|terminal| Person::from_terminal(terminal).with_rules(rules));
    }
    options.policy.can_ask = true;
    let mut exit = Exit::Answered;
    for session in sessions {
        let many = resume.all || resume.sessions.len() > 1;
        if many && !resume.json {
            render::remark(&format!("session {session}"));
        }
        let ended = resume_one(engine, &options, session, resume, person.as_mut()).await;
        let came = ended.unwrap_or_else(|fault| {
            // With one session, the error is the result; with several, the others still continue.
            render::fault(&fault)
        });
        if came == Exit::Cancelled {
            return Ok(came);
        }
        if exit == Exit::Answered {
            exit = came;
        }
    }
    Ok(exit)
}

async fn resume_one(
    engine: &Engine,
    options: &TurnOptions,
    session: SessionId,
    resume: &Resume,
    person: Option<&mut Person>,
) -> Result<Exit, CommandError> {
    if is_at_rest(engine, &session).await? {
        render::remark(&format!(
            "session {session} has no open turn: there is nothing to resume"
        ));
        return Ok(Exit::Answered);
    }
    let ask_mode = match person {
        _ if resume.yes => AskMode::Yes,
        Some(person) => AskMode::Person(person),
        None => AskMode::Later,
    };
    let mut request = ResumeSession::new(session.clone(), options.policy.clone());
    request.force = resume.again;
    request.stay = !matches!(ask_mode, AskMode::Later);
    let asks = matches!(ask_mode, AskMode::Person(_));
    let mut view = render::view(resume.json, resume.verbose, true, asks, None);
    match turn::resume(engine, request, &mut *view, ask_mode).await? {
        CommandTurnEnd::NotStarted => Ok(Exit::Cancelled),
        CommandTurnEnd::OutputClosed => Ok(Exit::Answered),
        CommandTurnEnd::Waiting(waiting) => Ok(ask::report_waiting(&waiting)),
        CommandTurnEnd::Ended { fit, report } => {
            let model = options.model.clone();
            ask::exit_of(engine, *report, fit, &model, false).await
        }
    }
}

/// Whether no turn is open in the session.
///
/// # Errors
///
/// [`CommandError`] if a process is working on it, before anything of the turn is shown.
async fn is_at_rest(engine: &Engine, session: &SessionId) -> Result<bool, CommandError> {
    let Some(row) = find::row(engine, session).await? else {
        return Ok(false);
    };
    match row.open {
        Some(open) if row.owned => {
            let session = session.clone();
            let turn = open.turn;
            Err(EngineError::Busy { session, turn }.into())
        }
        Some(_) => Ok(false),
        // An unreadable session reports its own error.
        None => Ok(row.unreadable.is_none()),
    }
}

struct ResumeTarget {
    /// How many other sessions are parked.
    parked: u64,
    sessions: Vec<SessionId>,
}

/// Finds the sessions to resume.
async fn chosen(engine: &Engine, resume: &Resume) -> Result<ResumeTarget, CommandError> {
    let (mut parked, mut sessions): (u64, Vec<SessionId>) = (0, Vec::new());
    for name in &resume.sessions {
        let session = find::session(engine, name).await?;
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    if !resume.all {
        return Ok(ResumeTarget { parked, sessions });
    }
    let mut last: Option<SessionRow> = None;
    loop {
        let rows = engine.sessions(&page(last.as_ref(), None)).await?;
        let whole = rows.len() < PAGE;
        last = rows.last().cloned();
        for row in rows {
            let undriven = row.open.filter(|_| !row.owned && row.unreadable.is_none());
            match undriven {
                Some(open) if open.parked && !resume.again => parked += 1,
                Some(_) => sessions.push(row.session),
                None => {}
            }
        }
        if whole {
            // Oldest first.
            sessions.reverse();
            return Ok(ResumeTarget { parked, sessions });
        }
    }
}
