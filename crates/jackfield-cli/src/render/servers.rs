//! MCP servers, for people and for programs.

use std::io::{self, Write};

use jackfield_assembly::{ServerStatus, ServerTest, ServerToolbox};
use serde_json::{Value, json};

use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// Prints a list of servers.
///
/// # Errors
///
/// The stream cannot be written.
pub fn list(
    out: &mut impl Write,
    servers: &[(ServerToolbox, ServerTest)],
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &servers.iter().map(server_json).collect());
    }
    if servers.is_empty() {
        return writeln!(out, "{NONE}");
    }
    let ids = servers.iter().map(|(server, _)| server.config.id.as_str());
    let width = ids.map(str::len).max().unwrap_or(0);
    for (server, tested) in servers {
        let (state, style) = state(tested);
        let id = server.config.id.as_str();
        write!(
            out,
            "{NAME}{id:width$}{NAME:#}  {style}{state:6}{style:#}  "
        )?;
        writeln!(out, "{}", words::one_line(&about(server, tested)))?;
        for problem in &tested.problems {
            writeln!(out, "  {WARM}!{WARM:#} {}", words::one_line(problem))?;
        }
    }
    out.flush()
}

/// Prints the test results of servers, with help.
///
/// # Errors
///
/// The stream cannot be written.
pub fn tested(
    out: &mut impl Write,
    servers: &[(ServerToolbox, ServerTest)],
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &servers.iter().map(server_json).collect());
    }
    if servers.is_empty() {
        return writeln!(out, "{NONE}");
    }
    for (server, tested) in servers {
        let id = &server.config.id;
        let took = words::time(tested.duration);
        match &tested.state {
            ServerStatus::Failed { advice, reason } => {
                writeln!(
                    out,
                    "{BAD}✗{BAD:#} {NAME}{id}{NAME:#}: {}",
                    words::told(reason)
                )?;
                writeln!(out, "  {GOOD}help{GOOD:#}: {}", words::printable(advice))?;
            }
            ServerStatus::Off => writeln!(out, "{DIM}-{DIM:#} {NAME}{id}{NAME:#}: switched off")?,
            ServerStatus::Ready { .. } | ServerStatus::Starting | ServerStatus::Stopped => {
                let (mark, style) = if tested.usable {
                    ("✓", GOOD)
                } else {
                    ("✗", BAD)
                };
                let about = about(server, tested);
                writeln!(
                    out,
                    "{style}{mark}{style:#} {NAME}{id}{NAME:#} in {took} · {}",
                    words::one_line(&about)
                )?;
                let names: Vec<&str> = tested.tools.iter().map(|tool| &*tool.name).collect();
                if !names.is_empty() {
                    let names = words::shortened(&names.join(", "), 500);
                    writeln!(out, "  {DIM}{names}{DIM:#}")?;
                }
            }
        }
        for problem in &tested.problems {
            writeln!(out, "  {WARM}!{WARM:#} {}", words::one_line(problem))?;
        }
        if !tested.usable {
            last_lines(out, &server.log())?;
        }
    }
    out.flush()
}

/// Prints server logs unchanged, except for control characters of a terminal.
///
/// # Errors
///
/// The stream cannot be written.
pub fn logs(
    out: &mut impl Write,
    servers: &[(ServerToolbox, ServerTest)],
    as_json: bool,
) -> io::Result<()> {
    for (server, tested) in servers {
        let lines = server.log();
        if as_json {
            let id = server.config.id.as_str();
            let state = state(tested).0;
            document(out, &json!({ "id": id, "state": state, "lines": lines }))?;
        } else {
            for line in &lines {
                writeln!(out, "{}", words::told(line))?;
            }
            if lines.is_empty() {
                super::remark(match server.config.url {
                    Some(_) => "it sent no log messages",
                    None => "it said nothing on standard error",
                });
            }
        }
    }
    out.flush()
}

/// The last log lines of a failed server.
fn last_lines(out: &mut impl Write, log: &[String]) -> io::Result<()> {
    // A server that is tried in both ways of starting logs the same twice.
    let half = log.len() / 2;
    let (first, second) = log.split_at(half);
    let log = if first == second { second } else { log };
    let from = log.len().saturating_sub(LAST_LINES);
    let lines = log.get(from..).unwrap_or_default();
    // A single line is already in the reason.
    if lines.len() < 2 {
        return Ok(());
    }
    writeln!(out, "  {DIM}it said last:{DIM:#}")?;
    for line in lines {
        let line = words::shortened(line, 200);
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

/// A server in one line.
fn about(server: &ServerToolbox, tested: &ServerTest) -> String {
    let mut about = match &tested.state {
        ServerStatus::Failed { advice, reason } => vec![format!("{reason}; {advice}")],
        ServerStatus::Ready {
            name,
            protocol,
            stateless,
            ..
        } => {
            let tools = match tested.tools.len() {
                1 => "1 tool".to_owned(),
                many => format!("{many} tools"),
            };
            let era = if *stateless {
                "stateless"
            } else {
                "with a handshake"
            };
            let mut about = vec![tools];
            if !tested.quarantined.is_empty() {
                about.push(format!("{} quarantined", tested.quarantined.len()));
            }
            about.push(format!("MCP {protocol}, {era}"));
            about.extend(name.clone());
            about
        }
        ServerStatus::Off | ServerStatus::Starting | ServerStatus::Stopped => Vec::new(),
    };
    if server.config.trusted {
        about.push("trusted".to_owned());
    }
    about.extend(server.config.name.as_ref().map(ToString::to_string));
    about.join(" · ")
}

pub(super) fn server_json((server, tested): &(ServerToolbox, ServerTest)) -> Value {
    let config = &server.config;
    let command = std::iter::once(&config.command).chain(&config.arguments);
    let command = command.filter(|_| config.url.is_none());
    let command: Vec<&str> = command.map(|part| &**part).collect();
    let mut described = json!({
        "id": config.id.as_str(),
        "name": config.name.as_deref(),
        "description": config.description.as_deref(),
        "command": command,
        "url": config.shown_url(),
        "enabled": config.enabled,
        "trusted": config.trusted,
        "state": state(tested).0,
        "usable": tested.usable,
        "reason": null,
        "advice": null,
        "protocol": null,
        "stateless": null,
        "server": null,
        "tools": tested.tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(),
        "quarantined": tested.quarantined.iter().map(|tool| &**tool).collect::<Vec<_>>(),
        "problems": tested.problems,
        "took_ms": u64::try_from(tested.duration.as_millis()).unwrap_or(u64::MAX),
    });
    match &tested.state {
        ServerStatus::Failed { advice, reason } => {
            (described["reason"], described["advice"]) = (json!(reason), json!(advice));
        }
        ServerStatus::Ready {
            name,
            protocol,
            stateless,
            ..
        } => {
            described["protocol"] = json!(protocol);
            described["stateless"] = json!(stateless);
            described["server"] = json!(name);
        }
        ServerStatus::Off | ServerStatus::Starting | ServerStatus::Stopped => {}
    }
    described
}

fn state(tested: &ServerTest) -> (&'static str, anstyle::Style) {
    match &tested.state {
        ServerStatus::Ready { .. } if tested.usable => ("ready", GOOD),
        ServerStatus::Failed { .. } | ServerStatus::Ready { .. } => ("failed", BAD),
        ServerStatus::Off => ("off", DIM),
        ServerStatus::Starting => ("starting", WARM),
        ServerStatus::Stopped => ("down", WARM),
    }
}

/// How many log lines of a failed server are shown.
const LAST_LINES: usize = 5;
/// Help where no servers are configured.
const NONE: &str = "there are no MCP servers; put them into mcp-servers.json beside your own jackfield.toml, \
                    or name a file with --mcp-config";
