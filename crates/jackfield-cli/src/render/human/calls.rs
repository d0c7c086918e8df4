//! Renders calls: the call line, the result, and the approval question.

use std::fmt;
use std::io::{self, Write};

use jackfield_domain::fact::CallEnd;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::time::{MonoTime, Now};
use jackfield_domain::tool::Permission;
use jackfield_domain::tool_input::ToolInput;
use jackfield_domain::wait::{Wait, WaitKind};

use super::HumanRenderer;
use crate::render::edits::{GUTTER, edits};
use crate::render::elicitation;
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::words::{self, Status};
use crate::render::{PromptPlace, QuestionPrompt};

/// The name of a call: its tool, and its arguments on one line.
#[derive(Clone, Debug)]
pub(super) struct CallLabel {
    arguments: String,
    tool: String,
}

impl fmt::Display for CallLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.tool, self.arguments)
    }
}

/// A call that was shown.
#[derive(Debug)]
pub(super) struct PrintedCall {
    input: ToolInput,
    /// Whether the label was printed.
    is_printed: bool,
    pub(super) label: CallLabel,
    pub(super) name: String,
    pub(super) started: Option<MonoTime>,
    pub(super) status: Status,
}

impl<O: Write + Send, E: Write + Send> HumanRenderer<O, E> {
    pub(super) fn name(&self, call: &ToolCallId) -> String {
        let printed = self.calls.get(call);
        printed.map_or_else(|| "a call".to_owned(), |shown| shown.name.clone())
    }

    pub(super) fn call(
        &mut self,
        id: Option<&ToolCallId>,
        name: &str,
        input: &ToolInput,
    ) -> io::Result<()> {
        self.spinner.clear();
        let label = self.label(name, input);
        let name = words::shortened(name, NAME_WIDTH);
        // The question shows the call.
        let is_printed = id.is_none() || !self.needs_approval(&name);
        if is_printed {
            self.screen.line(&label)?;
        }
        if let Some(id) = id {
            let printed = PrintedCall {
                input: input.clone(),
                is_printed,
                label,
                name,
                started: None,
                status: Status::Waiting,
            };
            self.calls.insert(id.clone(), printed);
        }
        Ok(())
    }

    /// Whether a question about a call of this tool comes here.
    fn needs_approval(&self, name: &str) -> bool {
        let setup = self.setup.as_ref().filter(|_| self.asks);
        let tool = setup.and_then(|setup| setup.catalog.tool(name));
        tool.is_some_and(|tool| tool.permission == Permission::Ask)
    }

    /// Prints the label of a call that no question has shown.
    fn print_label(&mut self, call: &ToolCallId) -> io::Result<()> {
        match self.calls.get_mut(call) {
            Some(shown) if !shown.is_printed => {
                shown.is_printed = true;
                let label = shown.label.clone();
                self.spinner.clear();
                self.screen.line(&label)
            }
            Some(_) | None => Ok(()),
        }
    }

    fn label(&self, name: &str, input: &ToolInput) -> CallLabel {
        let tool = self
            .setup
            .as_ref()
            .and_then(|setup| setup.catalog.tool(name));
        let icon = tool
            .and_then(words::icon)
            .unwrap_or_else(|| ICON.to_owned());
        let name = words::shortened(name, NAME_WIDTH);
        let arguments = words::arguments(input);
        CallLabel {
            arguments: format!("({arguments})"),
            tool: format!("{icon} {NAME}{name}{NAME:#}"),
        }
    }

    /// Replaces the arguments of a call: a later question is about what would run.
    pub(super) fn edited(&mut self, call: &ToolCallId, input: &ToolInput) -> io::Result<()> {
        self.print_label(call)?;
        let name = self.name(call);
        let arguments = words::arguments(input);
        self.remark(&format!("{name} runs with edited arguments: {arguments}"))?;
        let label = self.label(&name, input);
        if let Some(shown) = self.calls.get_mut(call) {
            (shown.input, shown.label) = (input.clone(), label);
        }
        Ok(())
    }

    pub(super) fn started(&mut self, call: &ToolCallId, now: Now) -> io::Result<()> {
        self.print_label(call)?;
        if let Some(shown) = self.calls.get_mut(call) {
            (shown.started, shown.status) = (Some(now.mono), Status::Running);
            if self.options.verbose && !self.options.spins {
                let line = format!(
                    "  {DIM}{} {} · running{DIM:#}",
                    Status::Running.sign(),
                    shown.name
                );
                self.screen.line(line)?;
            }
        }
        self.spin_calls()
    }

    pub(super) fn closed(
        &mut self,
        call: &ToolCallId,
        end: CallEnd,
        result: &ToolResult,
        now: Now,
    ) -> io::Result<()> {
        self.print_label(call)?;
        self.spinner.clear();
        let status = Status::from_end(end, result.is_error);
        let (name, took) = match self.calls.get_mut(call) {
            Some(shown) => {
                shown.status = status;
                (
                    shown.name.clone(),
                    shown.started.map(|started| now.mono.since(started)),
                )
            }
            None => ("a call".to_owned(), None),
        };
        let style = match status {
            Status::Done => GOOD,
            Status::Denied | Status::Failed => BAD,
            Status::Cancelled
            | Status::NotRun
            | Status::Queued
            | Status::Running
            | Status::Unknown
            | Status::Waiting => WARM,
        };
        let took = match (end, took) {
            (CallEnd::Cached, _) => ", cached".to_owned(),
            (_, Some(took)) => format!(" in {}", words::time(took)),
            (_, None) => String::new(),
        };
        let outcome = if self.options.verbose {
            String::new()
        } else {
            words::outcome(result)
        };
        let dot = if outcome.is_empty() { "" } else { " · " };
        self.screen.line(format_args!(
            "  {style}{}{style:#} {name} · {style}{}{style:#}{DIM}{took}{DIM:#}{dot}{outcome}",
            status.sign(),
            status.words(),
        ))?;
        if self.options.verbose {
            for line in words::told(&result.to_text()).lines() {
                self.screen.line(format_args!("    {line}"))?;
            }
        }
        self.spin_calls()
    }

    /// Asks about a call. Nothing is approved unseen: arguments that were cut in the call line are shown in full.
    pub(super) fn question(&mut self, wait: &Wait, prompt: &QuestionPrompt) -> io::Result<()> {
        self.spinner.clear();
        if let Some(shown) = self.calls.get_mut(&wait.call) {
            shown.is_printed = true;
        }
        let printed = self.calls.get(&wait.call);
        let full_input = printed
            .map(|shown| in_full(&shown.input))
            .unwrap_or_default();
        let label = match printed {
            None => "a call".to_owned(),
            Some(shown) if full_input.is_empty() => shown.label.to_string(),
            // The lines below have the arguments.
            Some(shown) => shown.label.tool.clone(),
        };
        let (question, choices) = match &wait.kind {
            WaitKind::UnknownOutcome => (
                format!("{WARM}?{WARM:#} It is not known whether {label} took effect."),
                format!("[{NAME}t{NAME:#}]ell the model  [{NAME}r{NAME:#}]un again"),
            ),
            WaitKind::Elicitation { question, .. } => (
                format!("{WARM}?{WARM:#} The server of {label} asks:"),
                elicitation::choices(question),
            ),
            WaitKind::Budget { message } => (
                format!("{WARM}?{WARM:#} {}. Try again?", words::one_line(message)),
                format!("[{NAME}y{NAME:#}]es  [{NAME}n{NAME:#}]o"),
            ),
            WaitKind::Approval { .. } | WaitKind::ClientResult => {
                (format!("{WARM}?{WARM:#} Run {label}?"), choices(prompt))
            }
        };
        let full_input = match &wait.kind {
            WaitKind::Elicitation { question, .. } => elicitation::lines(question),
            WaitKind::Approval { .. }
            | WaitKind::Budget { .. }
            | WaitKind::ClientResult
            | WaitKind::UnknownOutcome => full_input,
        };
        match (prompt.place, full_input.is_empty()) {
            (PromptPlace::Inline, true) => {
                return self.screen.question(format_args!("{question} {choices} "));
            }
            (PromptPlace::Below, _) | (PromptPlace::Inline, false) => self.screen.line(question)?,
        }
        for line in full_input {
            self.screen.line(format_args!("    {line}"))?;
        }
        match prompt.place {
            PromptPlace::Below => self.screen.line(format_args!("  {choices}")),
            PromptPlace::Inline => self.screen.question(format_args!("{choices} ")),
        }
    }

    pub(super) fn set_waiting(&mut self, call: &ToolCallId) {
        if let Some(shown) = self.calls.get_mut(call) {
            shown.status = Status::Waiting;
        }
    }

    /// Takes what ran for cut: its process has ended, and no clock goes on in the next one.
    pub(super) fn forget_process(&mut self) {
        self.spinner.clear();
        self.first = None;
        for shown in self.calls.values_mut() {
            shown.started = None;
            if shown.status == Status::Running {
                shown.status = Status::Unknown;
            }
        }
    }

    /// Shows the spinner with the names of the running calls.
    fn spin_calls(&mut self) -> io::Result<()> {
        let running = self
            .calls
            .values()
            .filter(|shown| shown.status == Status::Running);
        let names: Vec<&str> = running.map(|shown| shown.name.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let names = words::shortened(&names.join(", "), 60);
        self.spin(format!("running {names}"))
    }
}

/// The answers that an approval takes.
fn choices(prompt: &QuestionPrompt) -> String {
    let mut choices = format!("[{NAME}y{NAME:#}]es  [{NAME}a{NAME:#}]lways this session");
    if prompt.can_be_kept {
        choices.push_str(&format!("  [{NAME}f{NAME:#}]orever"));
    }
    if let Some(server) = &prompt.reading {
        let server = words::shortened(server, NAME_WIDTH);
        choices.push_str(&format!("  all [{NAME}r{NAME:#}]eading tools of {server}"));
    }
    choices + &format!("  [{NAME}e{NAME:#}]dit  [{NAME}n{NAME:#}]o, because …")
}

/// The arguments line by line, if the call line does not show all of them, with a diff for edits of several lines.
fn in_full(input: &ToolInput) -> Vec<String> {
    let edits = edits(input);
    if edits.is_none() && words::arguments(input) == words::whole_arguments(input, ", ") {
        return Vec::new();
    }
    let whole = edits.map(|lines| lines.join("\n"));
    let whole = whole.unwrap_or_else(|| words::whole_arguments(input, "\n"));
    let (seen, rest) = match whole.char_indices().nth(WHOLE) {
        Some((end, _)) => whole.split_at(end),
        None => (&*whole, ""),
    };
    let mut lines: Vec<String> = seen.lines().map(styled).collect();
    if !rest.is_empty() {
        let more = words::counted(rest.chars().count() as u64, "more character");
        lines.push(format!("{WARM}!{WARM:#} and {more} that are not shown"));
    }
    lines
}

/// A line of arguments, with the colours of a diff.
fn styled(line: &str) -> String {
    let style = match line
        .strip_prefix(GUTTER)
        .and_then(|line| line.chars().next())
    {
        Some('-') => BAD,
        Some('+') => GOOD,
        Some(_) => DIM,
        None => return line.to_owned(),
    };
    format!("{style}{line}{style:#}")
}

/// The default icon of tools.
const ICON: &str = "⚙";

/// The maximum length of a tool's name, in characters.
pub(super) const NAME_WIDTH: usize = 64;

/// The maximum length of arguments in a question, in characters.
const WHOLE: usize = 8000;
