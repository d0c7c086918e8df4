//! `jackfield chat`: an interactive conversation.

mod back;
mod compact;
mod compose;
mod context_completion;
mod copy;
mod elsewhere;
pub mod mentions;
mod pick;
pub(crate) mod prompts;
mod rewind;
pub mod slash;
#[cfg_attr(not(feature = "serve"), path = "chat/without_web.rs")]
mod web;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackfield_assembly::{Assembly, Config, ConfigFile, Registry, Surroundings};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::price::Cost;
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::ResponseFormat;
use jackfield_domain::setup::Opening;
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use jackfield_domain::usage::Usage;
use jackfield_engine::{Hold, SendMessage, TurnOptions};

use self::elsewhere::ChatSnapshot;
use self::slash::{COMMANDS, ChatInput};
use crate::args;
use crate::commands::sessions::find;
use crate::commands::{ask, attach, context, patterns, servers, session_journal, too_long, tools};
use crate::completion::Completions;
use crate::editor::LineEditor;
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::person::{Person, PersonAnswer, PersonQuestion};
use crate::question;
use crate::render::{self, chat as show};
use crate::signals::{self, Interrupts, Signal};
use crate::standing_rules::StandingRules;
use crate::tty::EchoGuard;
use crate::turn::{self, AskMode, CommandTurnEnd};

/// Runs the conversation.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(chat: args::Chat, registry: &Registry) -> Result<Exit, CommandError> {
    if chat.web {
        return web::run(chat, registry).await;
    }
    let mut flags = ask::flags(&chat.setup);
    (flags.model, flags.system) = (chat.model.clone(), chat.system.clone());
    flags.takes_assistant = true;
    ask::set_limits(&mut flags, &chat.bounds);
    let surroundings = ask::surroundings()?;
    let mut config = ask::load_config_in(&flags, &surroundings)?;
    config.options.tags = attach::tags(&chat.tags, &config.tags)?;
    let retention = config.journal.clone();
    let resumed = chat.session.session();
    if resumed.is_some() {
        session_journal::check_exists(&config)?;
    }
    let opening = session_journal::open_in_background(&config, registry);
    let prepared = registry.prepare(&config, &surroundings.environment)?;
    let journal = opening.wait_and_warn().await?;
    let mut assembled = prepared.with_journal(Arc::clone(&journal.journal));
    if assembled.options.route.is_none()
        && let Some(fault) = missing_key(&assembled, &assembled.options.model)
    {
        return Err(fault);
    }
    let session = match resumed {
        Some(name) => find::session(&assembled.engine, name).await?,
        None => ask::new_session()?,
    };
    // Before the session is read: from here on, no other process can delete it.
    let hold = assembled.engine.hold(&session).await?;
    let at_terminal = io::stdin().is_terminal();
    assembled.options.policy.can_ask = at_terminal || chat.yes || assembled.engine.has_approver();
    assembled.options.can_supersede = render::can_supersede(false);
    if !(chat.setup.allow.is_empty() && chat.setup.deny.is_empty()) {
        let _patience = servers::start_notice(&assembled.servers.all());
        let offered = assembled.engine.tools(&assembled.options).await;
        patterns::warn(&chat.setup, &offered);
    }
    // Dropped last, also after an error.
    let _quiet = (at_terminal && !render::is_dumb()).then(EchoGuard::begin);
    let input_failed = Arc::new(AtomicBool::new(false));
    let person = if at_terminal {
        let file = surroundings.history_file().filter(|_| !chat.no_history);
        let aliases = config.aliases.keys().map(ToString::to_string);
        let providers = pick::usable_providers(&config, &assembled);
        let providers = providers.into_iter().map(|name| format!("{name}/"));
        let paths = surroundings.clone();
        let completions = Completions {
            commands: COMMANDS,
            context: context_completion::completion(
                assembled.engine.clone(),
                context::all_servers(&assembled.options),
                assembled.servers.clone(),
            ),
            models: aliases.chain(providers).collect(),
            resolve: Box::new(move |path| paths.resolve(path, &paths.directory)),
        };
        let rules = StandingRules::new(
            ConfigFile::of(&surroundings, &flags)?,
            assembled.servers.all(),
        );
        person(file, completions, chat.verbose)?.with_rules(rules)
    } else {
        let failed_flag = Arc::clone(&input_failed);
        let lines = question::lines(io::stdin(), move |fault| {
            failed_flag.store(true, Ordering::Relaxed);
            render::fault(fault);
        });
        Person::piped(lines)
    };
    let all = assembled.servers.all();
    let conversation = Conversation {
        assembled,
        at_terminal,
        config,
        exit: Exit::Answered,
        hold,
        interrupts: None,
        is_persistent: journal.journal.is_durable(),
        person,
        snapshot: ChatSnapshot::default(),
        session,
        surroundings,
        has_messages: false,
        left: None,
        listed: Vec::new(),
        listed_models: Vec::new(),
        turn_usage: Vec::new(),
        verbose: chat.verbose,
        yes: chat.yes,
    };
    let ended = conversation.run_to_end(resumed.is_some()).await;
    servers::stop(all).await;
    session_journal::prune_and_close(&journal, &retention).await;
    if input_failed.load(Ordering::Relaxed) {
        return Ok(Exit::Usage);
    }
    ended
}

/// The person at the terminal, with a history file for messages.
fn person(
    file: Option<std::path::PathBuf>,
    completions: Completions,
    verbose: bool,
) -> Result<Person, CommandError> {
    let shown = file.as_ref().map(|file| file.display().to_string());
    let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let (editor, why) = LineEditor::new(file, completions, styled).map_err(|error| {
        let fault = CommandError::new(Exit::Usage, "no line can be edited on this terminal");
        fault
            .with_cause(&error)
            .with_help("jackfield ask \"What is 15% of 2500?\"")
    })?;
    if let (Some(why), Some(shown), true) = (why, shown, verbose) {
        render::remark(&format!("what is typed is not kept in {shown}: {why}"));
    }
    Ok(Person::with_editor(editor))
}

struct Conversation {
    assembled: Assembly,
    at_terminal: bool,
    config: Config,
    exit: Exit,
    /// Prevents other processes from deleting the session.
    hold: Hold,
    /// Watches for signals between turns. Each turn has a watch of its own.
    interrupts: Option<Interrupts>,
    /// Whether the session outlasts the process.
    is_persistent: bool,
    person: Person,
    /// The part of the session that was shown here.
    snapshot: ChatSnapshot,
    session: SessionId,
    surroundings: Surroundings,
    /// Whether the session has messages.
    has_messages: bool,
    /// The session before this one.
    left: Option<SessionId>,
    /// The sessions of the last list.
    listed: Vec<SessionId>,
    /// The models of the last list.
    listed_models: Vec<(Option<Arc<str>>, ModelRef)>,
    turn_usage: Vec<(ModelRef, Usage, Option<Cost>)>,
    verbose: bool,
    yes: bool,
}

impl Conversation {
    /// Runs the conversation to its end, and says how to resume it.
    async fn run_to_end(mut self, is_resumed: bool) -> Result<Exit, CommandError> {
        if self.at_terminal {
            self.print(|out| show::hello(out, &self.assembled.options.model));
        }
        if is_resumed {
            self.show_recent().await?;
        }
        let ended = self.run_loop().await;
        if self.at_terminal && self.is_persistent && self.has_messages {
            let session = &self.session;
            render::remark(&format!("to come back: jackfield chat --session {session}"));
        }
        ended
    }

    async fn run_loop(&mut self) -> Result<Exit, CommandError> {
        let mut interrupted = false;
        loop {
            let input = match self.next_step().await {
                ChatStep::Leave(exit) => return Ok(exit),
                ChatStep::Input(said) => said,
            };
            match input {
                PersonAnswer::Gone => return Ok(self.exit),
                PersonAnswer::Interrupted if interrupted => return Ok(self.exit),
                PersonAnswer::Interrupted => {
                    interrupted = true;
                    render::remark("Ctrl-C again, or Ctrl-D, leaves");
                    continue;
                }
                PersonAnswer::Line(line) => {
                    self.interrupts = None;
                    if !self.execute(&line).await? {
                        return Ok(self.exit);
                    }
                }
            }
            interrupted = false;
            if signals::is_terminating() {
                return Ok(Exit::Cancelled);
            }
        }
    }

    /// Waits for the next input.
    async fn next_step(&mut self) -> ChatStep {
        let signal = loop {
            let interrupts = self.interrupts.get_or_insert_with(Interrupts::watch);
            if let Some(signal) = interrupts.try_recv() {
                break signal;
            }
            self.person.ask(PersonQuestion::Message);
            let engine = &self.assembled.engine;
            tokio::select! {
                // Pending input takes precedence over new output.
                biased;
                said = self.person.next_answer() => return ChatStep::Input(said),
                signal = interrupts.recv() => break signal,
                () = self.snapshot.wait_for_growth(engine, &self.session), if self.person.can_show() => {}
            }
            self.catch_up().await;
        };
        match signal {
            // Ctrl-C is a signal while no line is edited.
            Signal::Interrupt if self.at_terminal => ChatStep::Input(PersonAnswer::Interrupted),
            Signal::Interrupt | Signal::Terminate => ChatStep::Leave(Exit::Cancelled),
        }
    }

    /// Executes an input line. Returns whether the conversation continues.
    async fn execute(&mut self, line: &str) -> Result<bool, CommandError> {
        match slash::read(line) {
            ChatInput::Clear => {
                let session = ask::new_session()?;
                self.hold = self.assembled.engine.hold(&session).await?;
                self.snapshot = ChatSnapshot::default();
                let left = std::mem::replace(&mut self.session, session);
                let is_kept = std::mem::take(&mut self.has_messages) && self.is_persistent;
                let kept = if is_kept {
                    format!("; it is kept: jackfield chat --session {left}")
                } else {
                    String::new()
                };
                render::remark(&format!(
                    "a new conversation: the model sees nothing of the one before{kept}"
                ));
            }
            ChatInput::Compact => self.compact().await,
            ChatInput::Copy => self.copy().await,
            ChatInput::Edit(text) => {
                if let Some(text) = self.compose(text).await {
                    self.send_text(&text).await?;
                }
            }
            ChatInput::Help => self.print(|out| show::help(out, COMMANDS)),
            ChatInput::Message(text) => match self.named_prompt(&text) {
                Some(prompt) => self.prompt(Some(prompt)).await?,
                None => self.send_text(&text).await?,
            },
            ChatInput::Model(Some(name)) => self.switch_model(&name),
            ChatInput::Model(None) => self.show_models().await,
            ChatInput::Nothing => {}
            ChatInput::Prompt(text) => self.prompt(text.as_deref()).await?,
            ChatInput::Quit => return Ok(false),
            ChatInput::Retry => {
                if let Some(message) = self.take_last_message().await {
                    self.say(message).await?;
                }
            }
            ChatInput::Sessions(Some(name)) => self.switch_session(&name).await?,
            ChatInput::Sessions(None) => self.show_sessions().await,
            ChatInput::System(Some(text)) => self.set_system_prompt(&text),
            ChatInput::System(None) => {
                let text = self.assembled.options.system.render();
                self.print(|out| show::system(out, &text));
            }
            ChatInput::Tools(name) => self.show_tools(name.as_deref()).await,
            ChatInput::Undo => self.undo().await,
            ChatInput::Unknown(why) => {
                self.record_failure(Exit::Usage);
                render::remark(&why);
            }
            ChatInput::Usage => self.print(|out| show::usage(out, &self.turn_usage)),
        }
        Ok(true)
    }

    /// Sends a text with the files that it names.
    async fn send_text(&mut self, text: &str) -> Result<(), CommandError> {
        self.catch_up().await;
        match self.message(text).await {
            Some(message) => self.say(message).await,
            None => Ok(()),
        }
    }

    /// Sends a message, shows its turn, and handles its end.
    async fn say(&mut self, message: Arc<Message>) -> Result<(), CommandError> {
        let ended = self.send(message).await;
        self.handle_end(ended).await
    }

    /// Sends a message, and shows its turn.
    async fn send(&mut self, message: Arc<Message>) -> Result<CommandTurnEnd, CommandError> {
        let message = SendMessage {
            opening: Opening::UserMessage(message),
            options: self.options(),
            session: self.session.clone(),
        };
        let ask_mode = match (self.yes, self.at_terminal) {
            (true, _) => AskMode::Yes,
            (false, true) => AskMode::Person(&mut self.person),
            (false, false) => AskMode::Nobody,
        };
        let prose = self.assembled.options.settings.response_format == ResponseFormat::Text;
        let asks = matches!(ask_mode, AskMode::Person(_));
        let mut view = render::view(false, self.verbose, prose, asks, None);
        let _patience = servers::start_notice(&self.assembled.servers.all());
        let engine = &self.assembled.engine;
        turn::run(engine, message, &mut *view, ask_mode).await
    }

    /// The options of the next turn, with the rules that the person has added since.
    fn options(&self) -> TurnOptions {
        let mut options = self.assembled.options.clone();
        let added = self.person.rules().added();
        options.policy.rules.extend(added.iter().cloned());
        options
    }

    /// Handles the end of a turn. The conversation continues after any outcome.
    async fn handle_end(
        &mut self,
        ended: Result<CommandTurnEnd, CommandError>,
    ) -> Result<(), CommandError> {
        let model = self.assembled.options.model.clone();
        self.snapshot.mark_own(&ended);
        let exit = match ended {
            Ok(CommandTurnEnd::NotStarted) => {
                render::remark("cancelled before it began");
                Ok(Exit::Cancelled)
            }
            Ok(CommandTurnEnd::OutputClosed) => {
                let fault = CommandError::new(Exit::Internal, "the answers cannot be written");
                return Err(fault);
            }
            Ok(CommandTurnEnd::Waiting(waiting)) => Ok(ask::report_waiting(&waiting)),
            Ok(CommandTurnEnd::Ended { fit, report }) => {
                self.has_messages = true;
                self.turn_usage
                    .push((model.clone(), report.usage, report.cost.clone()));
                let strict = self.assembled.options.strict.is_some();
                let engine = &self.assembled.engine;
                ask::exit_of(engine, *report, fit, &model, strict).await
            }
            Err(fault) => Err(fault),
        };
        let exit = exit.unwrap_or_else(|mut fault| {
            for help in &mut fault.help {
                *help = help
                    .replace("--model", "/model")
                    .replace(too_long::ANOTHER, "/clear begins another one")
                    .replace(too_long::COMPACT, "/compact");
            }
            render::fault(&fault)
        });
        self.record_failure(exit);
        if self.at_terminal {
            self.print(show::part);
        }
        Ok(())
    }

    /// Records a failure for the exit code of a script.
    fn record_failure(&mut self, exit: Exit) {
        if !self.at_terminal && self.exit == Exit::Answered {
            self.exit = exit;
        }
    }

    fn set_system_prompt(&mut self, text: &str) {
        let text = if text == "\"\"" { "" } else { text };
        let part = SystemPart {
            origin: PartOrigin::Session,
            text: text.into(),
        };
        let parts = if text.is_empty() { vec![] } else { vec![part] };
        self.assembled.options.system = SystemPrompt { parts };
        render::remark("from now on, the model is told so");
    }

    async fn show_tools(&mut self, name: Option<&str>) {
        let _patience = servers::start_notice(&self.assembled.servers.all());
        let offered = self.assembled.engine.tools(&self.assembled.options).await;
        for problem in offered.problems.iter().chain(&offered.skipped) {
            render::remark(&format!("warning: {}", render::words::problem(problem)));
        }
        let Some(name) = name else {
            return self.print(|out| render::list(out, offered.catalog.iter(), false));
        };
        match offered.catalog.tool(name) {
            Some(tool) => self.print(|out| render::show(out, tool, false)),
            None => {
                let mut fault = tools::unknown(&offered, name);
                fault.help = vec!["/tools lists the tools that there are".to_owned()];
                self.record_failure(render::fault(&fault));
            }
        }
    }

    fn print(&self, show: impl FnOnce(&mut anstream::AutoStream<io::Stderr>) -> io::Result<()>) {
        // A closed standard error leaves no place to report that.
        let _shown = show(&mut anstream::stderr());
    }
}

/// The next step of the conversation.
enum ChatStep {
    Leave(Exit),
    Input(PersonAnswer),
}

fn missing_key(assembled: &Assembly, model: &ModelRef) -> Option<CommandError> {
    let missing = assembled.missing_keys.get(&model.provider)?;
    let other = assembled.keys_found.first();
    Some(ask::no_key(&model.provider, missing, other))
}
