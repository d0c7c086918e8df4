//! `jackfield ask`: one question and its answer.

use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackfield_assembly::{
    Assembly, Config, ConfigFile, Environment, Flags, MissingKey, OpenJournal, Registry,
    Surroundings, load,
};
use jackfield_domain::fact::TurnEnd;
use jackfield_domain::failure::ModelFailureKind;
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::setup::Opening;
use jackfield_domain::turn_log::{SessionLog, TurnLog};
use jackfield_engine::{AnswerFit, Engine, SendMessage, ServerTools, TurnReport, WaitingTurn};

use crate::args::{AskArgs, ConfigArgs, Output, OutputFormat, Source, TurnLimitArgs};
use crate::commands::sessions::find;
use crate::commands::{attach, context, patterns, servers, session_journal, too_long};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::Person;
use crate::question;
use crate::render::{self, SavedFiles, words};
use crate::standing_rules::StandingRules;
use crate::turn::{self, AskMode, CommandTurnEnd};

/// Asks the question.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(ask: AskArgs, registry: &Registry) -> Result<Exit, CommandError> {
    let files = attach::read(&ask.file, &ask.image)?;
    let format = ask.schema.as_deref().map(attach::schema).transpose()?;
    let question = read_question(&ask.question, !files.is_empty())?;
    let mut flags = flags(&ask.setup);
    (flags.model, flags.system) = (ask.model, ask.system);
    flags.takes_assistant = true;
    set_limits(&mut flags, &ask.bounds);
    let surroundings = surroundings()?;
    let mut config = load_config_in(&flags, &surroundings)?;
    config.options.tags = attach::tags(&ask.tags, &config.tags)?;
    let config_file = ConfigFile::of(&surroundings, &flags)?;
    let is_one_off = ask.session.session().is_none();
    let is_kept = config.keep_asks || !is_one_off;
    let opening = is_kept.then(|| session_journal::open_in_background(&config, registry));
    let prepared = registry.prepare(&config, &surroundings.environment)?;
    let journal = match opening {
        Some(opening) => opening.wait_and_warn().await?,
        None => OpenJournal::ephemeral(),
    };
    let mut assembled = prepared.with_journal(Arc::clone(&journal.journal));
    if let Some(format) = format {
        check_schema(&format).await?;
        assembled.options.settings.response_format = format;
    }
    let provider = &assembled.options.model.provider;
    // A route goes on with the targets that have a key.
    let is_needed = assembled.options.route.is_none();
    if let Some(missing) = assembled.missing_keys.get(provider).filter(|_| is_needed) {
        return Err(no_key(provider, missing, assembled.keys_found.first()));
    }
    if !(ask.setup.allow.is_empty() && ask.setup.deny.is_empty()) {
        let _patience = servers::start_notice(&assembled.servers.all());
        let offered = assembled.engine.tools(&assembled.options).await;
        patterns::warn(&ask.setup, &offered);
    }
    let session = match ask.session.session() {
        Some(name) if name == find::LAST => find::session(&assembled.engine, name).await?,
        Some(id) => parse_session(id)?,
        None => new_session()?,
    };
    let resources = {
        let mut person = Person::at_terminal(ask.output.json || ask.yes);
        context::of_question(&assembled, &ask.question, person.as_mut()).await?
    };
    let message = attach::message(files.into_iter().chain(resources).collect(), &question);
    let is_persistent = journal.journal.is_durable();
    let engine = assembled.engine.clone();
    let one_off = is_one_off.then(|| session.clone());
    let ended = converse(
        assembled,
        message,
        session,
        &ask.output,
        ask.yes,
        is_persistent,
        config_file,
    )
    .await;
    if let Some(session) = one_off.filter(|_| ended.is_err()) {
        forget_failure(&engine, &session).await;
    }
    session_journal::prune_and_close(&journal, &config.journal).await;
    ended
}

/// Deletes the session of a question that failed before anything was used: there is nothing to continue.
async fn forget_failure(engine: &Engine, session: &SessionId) {
    let Ok(loaded) = engine.load(session).await else {
        return;
    };
    let log = SessionLog::from_steps(&loaded.steps, &loaded.deliveries);
    let is_nothing = |turn: &TurnLog| {
        let failed = matches!(turn.end(), Some((_, TurnEnd::Failed(_))));
        failed && turn.usage().total() == 0 && turn.calls.is_empty()
    };
    if log.turns.iter().all(is_nothing) {
        // It stays where another process has it now.
        let _deleted = engine.delete(session).await;
    }
}

/// Reads the question. If standard input is slow, a notice says that it is being read.
fn read_question(words: &[String], has_files: bool) -> Result<String, CommandError> {
    let (done, reads) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        if reads.recv_timeout(NOTICE_DELAY) == Err(mpsc::RecvTimeoutError::Timeout) {
            render::remark("reading standard input until it ends; if none is meant: < /dev/null");
        }
    });
    let question = question::read(words, question::input(), io::stdin());
    drop(done);
    match question {
        // With files, the system prompt alone may say what to do.
        Err(fault) if has_files && fault == question::none() => Ok(String::new()),
        question => question,
    }
}

/// Sends the message, shows the turn, and returns the exit code. `is_persistent` says that other processes can answer
/// its questions; `config_file` takes the rules that a person adds.
///
/// # Errors
///
/// [`CommandError`] if the turn failed.
pub async fn converse(
    assembled: Assembly,
    message: Message,
    session: SessionId,
    output: &Output,
    yes: bool,
    is_persistent: bool,
    config_file: Option<ConfigFile>,
) -> Result<Exit, CommandError> {
    let files = saved_files(output)?;
    let Assembly {
        engine,
        mut options,
        servers,
        ..
    } = assembled;
    let servers = servers.all();
    let mut person = None;
    let rules = StandingRules::new(config_file, servers.clone());
    let ask_mode = choose_ask_mode(output, yes, rules, &mut person);
    // An approver may allow a call even where no person can be asked.
    options.policy.can_ask = !matches!(ask_mode, AskMode::Nobody) || engine.has_approver();
    let ask_mode = match ask_mode {
        AskMode::Nobody if is_persistent && engine.has_approver() => AskMode::Elsewhere,
        asks @ (AskMode::Elsewhere
        | AskMode::Later
        | AskMode::Nobody
        | AskMode::Person(_)
        | AskMode::Yes) => asks,
    };
    let at_end = output.output == OutputFormat::Json;
    options.can_supersede = at_end || render::can_supersede(output.json);
    let is_json = options.settings.response_format != ResponseFormat::Text;
    let (model, strict) = (options.model.clone(), options.strict);
    let takes_tools = engine
        .capabilities(&model.provider)
        .is_none_or(|can| can.tools);
    if options.server_tools != ServerTools::None && !takes_tools {
        render::remark("this model calls no tools: the turn runs without them");
    }
    let message = SendMessage {
        opening: Opening::UserMessage(message.into()),
        options,
        session,
    };
    let mut view = if at_end {
        render::result_view(output.verbose, files)
    } else {
        let asks = matches!(ask_mode, AskMode::Person(_));
        render::view(output.json, output.verbose, !is_json, asks, files)
    };
    let patience = servers::start_notice(&servers);
    let ended = turn::run(&engine, message, &mut *view, ask_mode).await;
    drop(patience);
    servers::stop(servers).await;
    match ended? {
        CommandTurnEnd::NotStarted => Ok(Exit::Cancelled),
        // A closed pipe is no error: the reader has what it wants.
        CommandTurnEnd::OutputClosed => Ok(Exit::Answered),
        CommandTurnEnd::Waiting(waiting) => Ok(report_waiting(&waiting)),
        CommandTurnEnd::Ended { fit, report } => {
            exit_of(&engine, *report, fit, &model, strict.is_some()).await
        }
    }
}

/// The folder for files of results.
fn saved_files(output: &Output) -> Result<Option<SavedFiles>, CommandError> {
    let Some(folder) = &output.save_files else {
        return Ok(None);
    };
    if !output.json && output.output != OutputFormat::Json {
        let message = "--save-files is for programs, and needs --json or --output json";
        return Err(CommandError::new(Exit::Usage, message));
    }
    create_files(folder).map(Some)
}

pub(crate) fn create_files(folder: &Path) -> Result<SavedFiles, CommandError> {
    SavedFiles::new(folder.to_path_buf()).map_err(|error| {
        let message = format!("the folder `{}` cannot be created", folder.display());
        CommandError::new(Exit::Usage, message).with_cause(&error)
    })
}

/// Reports that a turn waits for an answer from elsewhere.
pub(crate) fn report_waiting(waiting: &WaitingTurn) -> Exit {
    let session = &waiting.session;
    let what = words::counted(waiting.waits.len() as u64, "answer");
    render::remark(&format!(
        "session {session} waits for {what}; `jackfield sessions show {session}` shows the question"
    ));
    Exit::Answered
}

/// Compiles the schema before the request is sent: an answer could not be validated against an invalid schema.
async fn check_schema(format: &ResponseFormat) -> Result<(), CommandError> {
    match AnswerFit::check(format, "null", turn::CHECK).await {
        AnswerFit::Unchecked { why, .. } => {
            let mut fault =
                CommandError::new(Exit::Usage, "the schema of `--schema` cannot be used");
            fault.causes.push(why);
            let help = "mend it: a JSON Schema of at most 64 KiB, whose references lead to places within it";
            Err(fault.with_help(help))
        }
        AnswerFit::Fits(_) | AnswerFit::Free | AnswerFit::Misfit(_) => Ok(()),
    }
}

/// The exit code for the end of a turn.
///
/// # Errors
///
/// [`CommandError`] if the turn failed, or ended without an answer.
pub async fn exit_of(
    engine: &Engine,
    report: TurnReport,
    fit: AnswerFit,
    model: &ModelRef,
    strict: bool,
) -> Result<Exit, CommandError> {
    let silent = report.answer().trim().is_empty();
    let remedy = too_long::remedy(engine, &report).await;
    let TurnReport { end, .. } = report;
    let exit = Exit::of(&end);
    match end {
        TurnEnd::Limited {
            is_error: false,
            limit,
        } if silent => {
            let (what, key) = words::limit(limit);
            let message = format!("{what}, and the model gave no answer");
            Err(CommandError::new(Exit::Limit, message).with_help(format!("raise {key}")))
        }
        TurnEnd::Answered(_)
        | TurnEnd::Cancelled(_)
        | TurnEnd::Limited {
            is_error: false, ..
        } => match fit {
            AnswerFit::Fits(_) | AnswerFit::Free | AnswerFit::Unchecked { .. } => Ok(exit),
            AnswerFit::Misfit(what) => {
                let message = "the answer is not of the form that was asked for";
                let mut fault = CommandError::new(Exit::Misfit, message);
                fault.causes.push(what);
                Err(fault.with_help(MISFIT))
            }
        },
        TurnEnd::ClientExpired => Err(CommandError::new(
            exit,
            "a tool of the caller was not answered",
        )),
        TurnEnd::Failed(failure) => {
            let mut fault = CommandError::new(exit, failure.message.clone())
                .with_help(words::help(&failure, model));
            fault.help.extend(remedy);
            if strict && failure.kind == ModelFailureKind::Unsupported {
                return Err(fault.with_help(STRICT));
            }
            Err(fault)
        }
        TurnEnd::Interrupted(failure) => {
            let message = format!("the answer broke off: {}", failure.message);
            Err(CommandError::new(exit, message).with_help(words::help(&failure, model)))
        }
        TurnEnd::Limited {
            is_error: true,
            limit,
        } => {
            let (what, key) = words::limit(limit);
            Err(CommandError::new(exit, what)
                .with_help(format!("raise {key}, or set `on_limit = \"answer\"`")))
        }
    }
}

/// Assembles the engine from the configuration of this process.
///
/// # Errors
///
/// [`CommandError`] with file, line and key of each problem.
pub fn assemble(flags: &Flags, registry: &Registry) -> Result<Assembly, CommandError> {
    let (config, environment) = load_config(flags)?;
    Ok(registry.assemble(&config, &environment)?)
}

/// Loads the configuration and environment of this process, and prints remarks.
///
/// # Errors
///
/// [`CommandError`] with file, line and key of each problem.
pub fn load_config(flags: &Flags) -> Result<(Config, Environment), CommandError> {
    let surroundings = surroundings()?;
    let config = load_config_in(flags, &surroundings)?;
    Ok((config, surroundings.environment))
}

/// The surroundings of this process.
///
/// # Errors
///
/// [`CommandError`] if the working directory is gone.
pub fn surroundings() -> Result<Surroundings, CommandError> {
    Surroundings::of_process().map_err(|error| {
        CommandError::new(Exit::Configuration, "the working directory cannot be seen")
            .with_cause(&error)
    })
}

/// Loads the configuration of these surroundings, and prints remarks.
///
/// # Errors
///
/// [`CommandError`] with file, line and key of each problem.
pub fn load_config_in(flags: &Flags, surroundings: &Surroundings) -> Result<Config, CommandError> {
    let config = load(surroundings, flags)?;
    // The user cannot mend the others; the commands that test servers print them.
    let mendable = config.remarks.iter().filter(|one| one.help.is_some());
    mendable.for_each(render::config_remark);
    Ok(config)
}

/// The flags common to all commands with a configuration.
#[must_use]
pub fn flags(setup: &ConfigArgs) -> Flags {
    let mut flags = source_flags(&setup.source);
    (flags.allow, flags.deny) = (setup.allow.clone(), setup.deny.clone());
    flags
}

/// The flags that locate the configuration.
#[must_use]
pub fn source_flags(source: &Source) -> Flags {
    let mut flags = Flags::default();
    flags.config.clone_from(&source.config);
    flags.db.clone_from(&source.db);
    flags.mcp_config.clone_from(&source.mcp_config);
    flags
}

/// Like [`source_flags`], for commands that need no tools: files of MCP servers are not read.
#[must_use]
pub fn flags_without_servers(source: &Source) -> Flags {
    Flags {
        without_servers: true,
        ..source_flags(source)
    }
}

/// Adds the limits of the turn.
pub const fn set_limits(flags: &mut Flags, bounds: &TurnLimitArgs) {
    flags.cost = bounds.max_cost;
    flags.rounds = bounds.max_rounds;
    flags.strict = match bounds.strict {
        Some(strict) => Some(strict.effect()),
        None => None,
    };
    flags.tools = if bounds.no_tools { Some(false) } else { None };
}

fn choose_ask_mode<'p>(
    output: &Output,
    yes: bool,
    rules: StandingRules,
    person: &'p mut Option<Person>,
) -> AskMode<'p> {
    if yes {
        return AskMode::Yes;
    }
    match Person::at_terminal(output.json) {
        Some(found) => AskMode::Person(person.insert(found.with_rules(rules))),
        None => AskMode::Nobody,
    }
}

/// The error for a provider without a key.
#[must_use]
pub fn no_key(provider: &str, missing: &MissingKey, other: Option<&Arc<str>>) -> CommandError {
    let help = key_help(missing);
    CommandError::new(
        Exit::Configuration,
        format!("there is no key for `{provider}`: {}", missing.reason),
    )
    .with_help(match other {
        Some(other) => {
            format!("{help}; or ask `{other}`, which has a key, with `--model {other}/MODEL`")
        }
        None => format!("{help}; or run `jackfield demo`, which needs none"),
    })
}

pub(crate) fn key_help(missing: &MissingKey) -> String {
    let page = missing
        .page
        .as_ref()
        .map(|page| format!(" (get a key at {page})"))
        .unwrap_or_default();
    match &missing.variable {
        Some(variable) => format!("export {variable}=...{page}"),
        None => format!("put the key where the configuration says{page}"),
    }
}

/// A new random session id. Its first few characters suffice to distinguish it from others.
pub(crate) fn new_session() -> Result<SessionId, CommandError> {
    let mut bytes = [0; ID_LENGTH];
    getrandom::fill(&mut bytes).map_err(|error| {
        let why = format!("the operating system has no random numbers: {error}");
        CommandError::new(Exit::Internal, why)
    })?;
    let letter = |byte: &u8| ID_LETTERS.chars().nth(usize::from(byte % 32));
    let id: String = bytes.iter().filter_map(letter).collect();
    SessionId::parse(&id).map_err(|error| CommandError::new(Exit::Internal, error.to_string()))
}

/// Parses a session id from the command line.
///
/// # Errors
///
/// [`CommandError`] if it is invalid.
pub(crate) fn parse_session(id: &str) -> Result<SessionId, CommandError> {
    SessionId::parse(id).map_err(|error| {
        let help = "`jackfield sessions list` shows those that there are";
        CommandError::new(Exit::Usage, error.to_string()).with_help(help)
    })
}

/// Help: where strictness is set.
const STRICT: &str = "what must not get lost is said by `--strict`, or by `strict` under [settings]; \
                      `--strict=false` lets everything pass";

/// Help for an answer that does not match its schema.
const MISFIT: &str = "ask again, say in the question what is wanted, or take a model that keeps to a form: \
                      `jackfield providers` says which do (structured_output)";

/// The characters of session ids: 32 letters and digits that are not confused with each other.
const ID_LETTERS: &str = "abcdefghijkmnpqrstuvwxyz23456789";

/// The length of session ids: 60 bits.
const ID_LENGTH: usize = 12;

/// How long standard input may be silent before the notice.
const NOTICE_DELAY: Duration = Duration::from_secs(2);
