//! The output of a chat between turns.

use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::price::Cost;
use jackfield_domain::request::ModelRef;
use jackfield_domain::usage::Usage;
use jackfield_engine::PromptSpec;

use crate::render::plain::{DIM, GOOD, NAME, WARM};
use crate::render::wrap::{hung, wrapped};
use crate::render::{columns, spent, words};

pub(crate) fn prompt(text: &str) -> String {
    format!("{GOOD}{text}{GOOD:#}")
}

/// Prints the greeting of a conversation.
///
/// # Errors
///
/// The stream cannot be written.
pub fn hello(out: &mut impl Write, model: &ModelRef) -> io::Result<()> {
    let model = format!("{}/{}", model.provider, model.model);
    let model = words::printable(&model);
    let line = format!("{DIM}{model} · /help says what can be typed, Ctrl-D leaves{DIM:#}");
    writeln!(out, "{}", wrapped(&line, columns()))?;
    out.flush()
}

/// Lists the prompts of MCP servers, with their arguments.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn prompts(out: &mut impl Write, all: &[(ToolboxId, PromptSpec)]) -> io::Result<()> {
    if all.is_empty() {
        return writeln!(out, "no MCP server has prompts");
    }
    for (server, prompt) in all {
        let arguments = prompt.arguments.iter().map(|argument| {
            let end = if argument.required { "" } else { "?" };
            format!(" {}{end}", argument.name)
        });
        let arguments: String = arguments.collect();
        let name = words::one_line(&format!("{server}:{}", prompt.name));
        let about = prompt.title.as_ref().or(prompt.description.as_ref());
        let about = words::shortened(about.map_or("", |about| about), 80);
        let arguments = words::one_line(&arguments);
        writeln!(
            out,
            "{NAME}{name}{NAME:#}{arguments}  {DIM}{}{DIM:#}",
            words::one_line(&about)
        )?;
    }
    out.flush()
}

/// Shows a message that was not typed at the prompt.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn sent(out: &mut impl Write, text: &str) -> io::Result<()> {
    for line in words::printable(text).lines() {
        writeln!(out, "{GOOD}>{GOOD:#} {line}")?;
    }
    out.flush()
}

/// Puts a text into the clipboard of the terminal, by the control sequence OSC 52.
///
/// # Errors
///
/// The stream cannot be written.
pub(crate) fn clipboard(out: &mut impl Write, text: &str) -> io::Result<()> {
    write!(out, "\u{1b}]52;c;{}\u{7}", STANDARD.encode(text))?;
    out.flush()
}

/// Separates two turns.
///
/// # Errors
///
/// The stream cannot be written.
pub fn part(out: &mut impl Write) -> io::Result<()> {
    writeln!(out)?;
    out.flush()
}

/// Lists the commands.
///
/// # Errors
///
/// The stream cannot be written.
pub fn help(out: &mut impl Write, commands: &[(&str, &str, &str)]) -> io::Result<()> {
    for (name, argument, about) in commands {
        let gap = " ".repeat(17_usize.saturating_sub(name.len() + 1 + argument.len()));
        let line = format!("{NAME}{name}{NAME:#} {argument}{gap} {about}");
        writeln!(out, "{}", hung(&line, columns(), 18))?;
    }
    let keys = format!(
        "\n{DIM}Enter sends; \\ and Enter, or Alt-Enter, begin a new line; a pasted text is one message.\n\
         @notes.md or @plan.png sends that file along, @\"two words.md\" one with a space; Tab completes.\n\
         @notes:note://a sends a resource of the MCP server notes along; /notes:greet runs its prompt.\n\
         Ctrl-C stops an answer or clears the line; Ctrl-R searches what was said.\n\
         A space before a message keeps it out of the history; // begins a message that begins with a slash.{DIM:#}"
    );
    writeln!(out, "{}", wrapped(&keys, columns()))?;
    out.flush()
}

/// Lists models with numbers, and marks the current one; then the providers, each with whether its key is missing.
///
/// # Errors
///
/// The stream cannot be written.
pub fn models(
    out: &mut impl Write,
    current: &ModelRef,
    choices: &[(Option<Arc<str>>, ModelRef)],
    providers: &[(&str, bool)],
) -> io::Result<()> {
    let shown = |model: &ModelRef| {
        words::printable(&format!("{}/{}", model.provider, model.model)).into_owned()
    };
    for (place, (alias, model)) in choices.iter().enumerate() {
        let mark = if model == current { "*" } else { " " };
        write!(out, "{GOOD}{mark}{GOOD:#} {DIM}{:>2}{DIM:#}  ", place + 1)?;
        if let Some(alias) = alias {
            let alias = words::printable(alias).into_owned();
            write!(out, "{NAME}{alias}{NAME:#} {DIM}is{DIM:#} ")?;
        }
        writeln!(out, "{}", shown(model))?;
    }
    let mut keyless: Vec<&str> = Vec::new();
    for (provider, is_keyless) in providers {
        if *is_keyless {
            keyless.push(provider);
            continue;
        }
        let provider = words::printable(provider);
        writeln!(out, "      {NAME}{provider}/{NAME:#}{DIM}MODEL{DIM:#}")?;
    }
    if !keyless.is_empty() {
        let names = keyless.join(", ");
        let names = words::printable(&names);
        writeln!(
            out,
            "      {WARM}no key{WARM:#}{DIM}: {names}; `jackfield providers` says what is missing{DIM:#}"
        )?;
    }
    out.flush()
}

/// Shows a system prompt.
///
/// # Errors
///
/// The stream cannot be written.
pub fn system(out: &mut impl Write, text: &str) -> io::Result<()> {
    if text.is_empty() {
        writeln!(out, "{DIM}there is no system prompt{DIM:#}")?;
    } else {
        writeln!(out, "{}", words::printable(text))?;
    }
    out.flush()
}

/// Shows the usage of each turn, and the total.
///
/// # Errors
///
/// The stream cannot be written.
pub fn usage(out: &mut impl Write, turns: &[(ModelRef, Usage, Option<Cost>)]) -> io::Result<()> {
    let line = |usage: &Usage| {
        let cache = match usage.cache_read {
            0 => String::new(),
            _ => format!(", {} from cache", spent::cached(usage)),
        };
        format!("{}{cache}", spent::tokens(usage))
    };
    let mut all = Usage::default();
    let mut costs: Vec<Cost> = Vec::new();
    for (place, (model, usage, cost)) in turns.iter().enumerate() {
        all += *usage;
        let price = cost
            .as_ref()
            .map_or_else(String::new, |cost| format!(" · {}", spent::cost(cost)));
        match (
            cost,
            costs
                .iter_mut()
                .find(|sum| cost.as_ref().is_some_and(|c| c.currency == sum.currency)),
        ) {
            (Some(cost), Some(sum)) => sum.add(cost),
            (Some(cost), None) => costs.push(cost.clone()),
            (None, _) => {}
        }
        let model = format!("{}/{}", model.provider, model.model);
        writeln!(
            out,
            "{:>3}  {}{price}  {DIM}{}{DIM:#}",
            place + 1,
            line(usage),
            words::printable(&model)
        )?;
    }
    // A total without the unpriced turns would look complete.
    let unpriced = turns
        .iter()
        .any(|(_, usage, cost)| cost.is_none() && usage.total() > 0);
    let mut costs: String = costs
        .iter()
        .map(|cost| format!(" · {}", spent::cost(cost)))
        .collect();
    if unpriced && !costs.is_empty() {
        costs.push_str(" · not all of it has a price");
    }
    writeln!(
        out,
        "{NAME}all{NAME:#}  {}{costs} · {}",
        line(&all),
        words::counted(turns.len() as u64, "turn")
    )?;
    out.flush()
}
