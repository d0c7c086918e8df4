//! The only module that prints: answers to standard output, everything else to standard error.

pub mod answers;
pub mod approvals;
pub mod audit;
mod blocks;
pub mod budgets;
mod changes;
pub mod chat;
mod config;
pub mod directory;
mod doctor;
mod edits;
mod elicitation;
pub mod event;
pub mod human;
mod inspected;
pub mod json;
pub mod markdown;
mod models;
pub mod plain;
pub mod replay;
pub mod routes;
mod saved_files;
pub mod screen;
mod servers;
pub mod sessions;
pub mod spent;
pub(crate) mod spinner;
pub mod targets;
mod tools;
pub mod usage;
mod whole;
pub mod words;
pub mod wrap;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};

use jackfield_assembly::ConfigProblem;
use jackfield_domain::wait::{Wait, WaitEnd};
use jackfield_engine::{AnswerFit, TurnReport};

pub use self::changes::{changes, definition};
pub use self::config::{found, places, schema, settings};
pub use self::doctor::{checked, checks};
pub(crate) use self::elicitation::server_question;
pub use self::event::RenderEvent;
pub use self::inspected::inspected;
pub use self::models::{ProviderModels, ProviderStatus, models, providers};
pub use self::saved_files::SavedFiles;
pub use self::servers::{list as list_servers, logs, tested};
pub use self::tools::{called, called_json, list, show};
pub use jackfield_domain::text::hidden::revealed;

use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::human::{HumanOptions, HumanRenderer};
use crate::render::json::Json;
use crate::render::screen::Screen;

/// Renders a turn in progress.
pub trait TurnRenderer: Send {
    /// Shows an event.
    ///
    /// # Errors
    ///
    /// The output pipe is closed.
    fn show(&mut self, event: &RenderEvent) -> io::Result<()>;

    /// Shows a question, without waiting for the answer; only called for renderers at a terminal.
    ///
    /// # Errors
    ///
    /// The output pipe is closed.
    fn show_question(&mut self, wait: &Wait, prompt: &QuestionPrompt) -> io::Result<()>;

    /// Shows that a question was answered elsewhere, by whose answer and how.
    ///
    /// # Errors
    ///
    /// The output pipe is closed.
    fn show_answer(
        &mut self,
        wait: &Wait,
        end: &WaitEnd,
        prompt_place: PromptPlace,
    ) -> io::Result<()>;

    /// Shows a remark about the run itself.
    ///
    /// # Errors
    ///
    /// The output pipe is closed.
    fn show_remark(&mut self, remark: &str) -> io::Result<()>;

    /// Shows the result of the turn, and whether its answer has the requested form.
    ///
    /// # Errors
    ///
    /// The output pipe is closed.
    fn finish(&mut self, report: &TurnReport, fit: &AnswerFit) -> io::Result<()>;
}

/// Where the answer to a question is typed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PromptPlace {
    /// On a line of its own, with the line editor.
    Below,
    /// After the question.
    Inline,
}

/// How a question is asked, and which answers it takes beside the usual ones.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QuestionPrompt {
    /// Whether the tool can be allowed by a rule of the configuration.
    pub can_be_kept: bool,
    /// Where the answer is typed.
    pub place: PromptPlace,
    /// The server whose tools that only read can be allowed.
    pub reading: Option<String>,
}

impl From<PromptPlace> for QuestionPrompt {
    fn from(place: PromptPlace) -> Self {
        Self {
            can_be_kept: false,
            place,
            reading: None,
        }
    }
}

/// The renderer of this process, for people or for programs. `prose` says that the answer may be Markdown, as
/// opposed to requested JSON; `asks` that a person answers questions here; `files` is for those of results, in JSON.
#[must_use]
pub fn view(
    json: bool,
    verbose: bool,
    prose: bool,
    asks: bool,
    files: Option<SavedFiles>,
) -> Box<dyn TurnRenderer> {
    if json {
        return Box::new(Json::new(io::stdout()).saving(files));
    }
    let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
    // A terminal that cannot rewrite a line would keep every frame of the spinner.
    let dumb = is_dumb();
    let styled = anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never;
    let look = HumanOptions {
        // A dumb terminal is often a program with its own layout.
        markdown: (out && prose && !dumb).then_some(styled),
        spins: err && !dumb,
        terminal: out,
        together: (out && err) || is_one_file(),
        verbose,
    };
    let screen = Screen::new(io::stdout(), anstream::stderr(), look.together);
    Box::new(HumanRenderer::new(screen.wrapping(look.spins), look).asking(asks))
}

/// A renderer for programs that only need the result: one document on standard output, and the live turn for
/// people on standard error.
#[must_use]
pub fn result_view(verbose: bool, files: Option<SavedFiles>) -> Box<dyn TurnRenderer> {
    let look = HumanOptions {
        markdown: None,
        spins: io::stderr().is_terminal() && !is_dumb(),
        terminal: false,
        together: false,
        verbose,
    };
    let screen = Screen::new(io::sink(), anstream::stderr(), false).wrapping(look.spins);
    let progress = Box::new(HumanRenderer::new(screen, look));
    Box::new(whole::WholeRenderer::new(io::stdout(), progress).saving(files))
}

/// Whether the terminal supports nothing but plain lines.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The width of the terminal on standard output, in columns.
pub(crate) fn columns() -> usize {
    columns_of(&io::stdout())
}

/// The width that lines on standard output have to fit into; `None` if it is no terminal.
fn window() -> Option<usize> {
    io::stdout().is_terminal().then(columns)
}

/// The terminal width of this stream, in columns.
#[cfg(unix)]
fn columns_of(stream: &impl std::os::fd::AsFd) -> usize {
    width_of(terminal_size::terminal_size_of(stream))
}

/// The terminal width of this stream, in columns.
#[cfg(windows)]
fn columns_of(stream: &impl std::os::windows::io::AsHandle) -> usize {
    width_of(terminal_size::terminal_size_of(stream))
}

fn width_of(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    // Some terminals report a width of zero.
    let wide = size.map(|(width, _)| usize::from(width.0));
    wide.filter(|columns| *columns > 0).unwrap_or(USUAL_WIDTH)
}

const USUAL_WIDTH: usize = 80;

/// Whether both streams are the same file or pipe, so that a reader of the answer sees the rest, too.
fn is_one_file() -> bool {
    #[cfg(unix)]
    {
        use std::os::fd::{AsFd as _, BorrowedFd};
        use std::os::unix::fs::MetadataExt as _;
        let place = |stream: BorrowedFd<'_>| {
            let file = std::fs::File::from(stream.try_clone_to_owned().ok()?);
            let metadata = file.metadata().ok()?;
            Some((metadata.dev(), metadata.ino()))
        };
        let (out, err) = (place(io::stdout().as_fd()), place(io::stderr().as_fd()));
        out.is_some() && out == err
    }
    #[cfg(not(unix))]
    {
        false
    }
}

/// Whether a shown answer can be superseded: by a remark on a terminal, by its attempt number in JSON.
#[must_use]
pub fn can_supersede(json: bool) -> bool {
    json || io::stdout().is_terminal()
}

/// Prints an error; returns its exit code.
pub fn fault(fault: &CommandError) -> Exit {
    let mut lines = Vec::new();
    // Writing to memory cannot fail.
    let _written = write_fault(&mut lines, fault);
    tell(String::from_utf8_lossy(&lines).trim_end());
    fault.exit
}

/// Writes an error: the causes, then the help.
///
/// # Errors
///
/// The stream cannot be written.
pub fn write_fault(err: &mut impl Write, fault: &CommandError) -> io::Result<()> {
    let (bad, good) = (plain::BAD, plain::GOOD);
    for message in &fault.messages {
        writeln!(err, "{bad}error{bad:#}: {}", words::told(message))?;
    }
    for cause in &fault.causes {
        writeln!(err, "  caused by: {}", words::told(cause))?;
    }
    for help in &fault.help {
        writeln!(err, "{good}help{good:#}: {}", words::told(help))?;
    }
    err.flush()
}

/// Prints a remark about the configuration, with its help.
pub fn config_remark(remark: &ConfigProblem) {
    match &remark.help {
        Some(help) => self::remark(&format!("{remark}; {help}")),
        None => self::remark(&remark.to_string()),
    }
}

pub fn remark(text: &str) {
    let dim = plain::DIM;
    tell(&format!("{dim}{}{dim:#}", words::told(text)));
}

/// Prints lines on standard error; a terminal gets them wrapped between words.
fn tell(lines: &str) {
    let mut lines = Cow::Borrowed(lines);
    if io::stderr().is_terminal() && !is_dumb() {
        lines = wrap::wrapped(&lines, columns_of(&io::stderr())).into();
    }
    // A closed standard error leaves no place to report that.
    let _told = writeln!(anstream::stderr(), "{lines}");
}
