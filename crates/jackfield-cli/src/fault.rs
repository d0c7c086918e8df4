//! The error of a command: a message in one line, its causes, and help.

use std::error::Error;
use std::io::ErrorKind::NotFound;

use jackfield_assembly::ConfigError;
use jackfield_domain::ids::SessionId;
use jackfield_engine::{EngineError, JournalError, ParkReason};

use crate::exit::Exit;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommandError {
    /// The chain of causes, the first cause first.
    pub causes: Vec<String>,
    /// The exit code of the run.
    pub exit: Exit,
    pub help: Vec<String>,
    /// The error, in one line; further lines are further errors.
    pub messages: Vec<String>,
}

impl CommandError {
    /// An error with one message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            causes: Vec::new(),
            exit,
            help: Vec::new(),
            messages: vec![message.into()],
        }
    }

    /// Adds an error and its sources as causes.
    #[must_use]
    pub fn with_cause(mut self, error: &(dyn Error + 'static)) -> Self {
        self.causes.extend(chain(Some(error)));
        self
    }

    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

/// The error of a command with the page, in a build without a gateway.
#[cfg(not(feature = "serve"))]
pub(crate) fn no_gateway() -> CommandError {
    let message = "this program was built without the feature `serve`, which has the page";
    let help =
        "build it with `--features serve`, or take a program that was built with all features";
    CommandError::new(Exit::Usage, message).with_help(help)
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        let ConfigError::Wrong(problems) = &error else {
            let mut fault = Self::new(Exit::Configuration, error.to_string());
            fault.causes.extend(chain(error.source()));
            let gone = matches!(&error, ConfigError::Unreadable { source, .. } if source.kind() == NotFound);
            let help = if gone {
                "name a file that is there with `--config`, JACKFIELD_CONFIG or `--mcp-config`, or leave it out"
            } else {
                "mend, move or remove that file, or read another one with `--config FILE`"
            };
            return fault.with_help(help);
        };
        let mut help: Vec<String> = Vec::new();
        for more in problems.iter().filter_map(|problem| problem.help.as_ref()) {
            if !help.contains(more) {
                help.push(more.clone());
            }
        }
        Self {
            causes: Vec::new(),
            exit: Exit::Configuration,
            help,
            messages: problems.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        let exit = match &error {
            EngineError::UnknownProvider { .. } | EngineError::Unpriced { .. } => {
                Exit::Configuration
            }
            EngineError::ForeignCursor(_)
            | EngineError::InvalidConversation(_)
            | EngineError::NothingToCompact { .. }
            | EngineError::UnknownTool { .. } => Exit::Usage,
            EngineError::Busy { .. }
            | EngineError::Journal(JournalError::Held { .. } | JournalError::Owned { .. })
            | EngineError::LeftOpen { .. }
            | EngineError::Parked { .. } => Exit::Unfinished,
            EngineError::Journal(_)
            | EngineError::NotCommitted { .. }
            | EngineError::OwnershipLost { .. }
            | _ => Exit::Internal,
        };
        let mut fault = Self::new(exit, error.to_string());
        // Errors that only wrap another one are printed once.
        fault.causes.extend(chain(error.source()));
        if matches!(error, EngineError::UnknownTool { .. }) {
            fault = fault.with_help("`jackfield tools list` shows the tools that there are");
        }
        if let EngineError::Parked { session, why, .. } = &error {
            match **why {
                ParkReason::NoProgress { .. } => {
                    fault = fault.with_help(format!(
                        "`jackfield sessions resume {session} --again` tries once more"
                    ));
                }
                ParkReason::Restored => {
                    fault = fault.with_help(format!(
                        "see what its calls did since; `jackfield sessions resume {session} --again` goes on from \
                         what is kept, and may make calls once more"
                    ));
                }
                ParkReason::NoProvider { .. }
                | ParkReason::NoToolboxes { .. }
                | ParkReason::ToolboxDown { .. }
                | _ => {}
            }
        }
        if let EngineError::Journal(JournalError::Held { .. }) = &error {
            fault = fault.with_help("leave the chat that it is open in, and delete it then");
        }
        if let EngineError::Busy { session, .. } = &error {
            fault = fault.with_help(session_busy_message(session));
        }
        if matches!(
            error,
            EngineError::Journal(JournalError::Unreachable { .. })
                | EngineError::NotCommitted { .. }
        ) {
            fault = fault.with_help(
                "once that is mended, `jackfield sessions resume --all` goes on with what was left open; \
                 `jackfield doctor` says whether everything that was kept is there",
            );
        }
        if let EngineError::Journal(JournalError::Corrupt { .. }) = &error {
            fault = fault.with_help(
                "`jackfield doctor` looks over everything that is kept, and says what to do",
            );
        }
        if let EngineError::Unpriced { model } = &error {
            fault = fault.with_help(format!(
                "take a model with a price (`jackfield prices list`); or write into your configuration, above its tables, what a million tokens cost: \
                 `{}`; or `unpriced = \"allow\"` under [budget]; or leave out the limit (`--max-cost`, or `cost` under [budget])",
                jackfield_engine::price_line(model)
            ));
        }
        fault
    }
}

/// Help for a session that a process is working on.
pub(crate) fn session_busy_message(session: &SessionId) -> String {
    format!(
        "`jackfield sessions watch {session}` shows how it goes on; Ctrl-C where it runs cancels it"
    )
}

fn chain<'e>(error: Option<&'e (dyn Error + 'static)>) -> impl Iterator<Item = String> + 'e {
    std::iter::successors(error, |error| (*error).source()).map(ToString::to_string)
}
