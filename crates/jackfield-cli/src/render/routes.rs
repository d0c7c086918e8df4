//! Routes, for people and for programs.

use std::io::{self, Write};

use serde_json::Value;

use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// Prints the routes, in the form of the API.
///
/// # Errors
///
/// The stream cannot be written.
pub fn list(out: &mut impl Write, routes: &[Value], as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &Value::from(routes.to_vec()));
    }
    if routes.is_empty() {
        return writeln!(out, "no routes are configured; [routes.NAME] adds one");
    }
    for route in routes {
        let strategy = text(&route["strategy"]);
        writeln!(
            out,
            "{NAME}{}{NAME:#} {DIM}{strategy}{DIM:#}",
            text(&route["name"])
        )?;
        for target in route["targets"].as_array().into_iter().flatten() {
            show_target(out, target)?;
        }
    }
    Ok(())
}

fn show_target(out: &mut impl Write, target: &Value) -> io::Result<()> {
    let model = text(&target["model"]);
    let state = text(&target["state"]);
    let state = match &*state {
        "" => format!("{DIM}not known{DIM:#}"),
        "closed" => format!("{GOOD}up{GOOD:#}"),
        "open" => format!("{BAD}down{BAD:#} until {}", text(&target["retry_at"])),
        other => format!("{WARM}{}{WARM:#}", other.replace('_', " ")),
    };
    let list = if target["content_filter"] == true {
        ", for refusals of a content filter"
    } else {
        ""
    };
    writeln!(
        out,
        "  {model}  {state}  {DIM}tier {}, weight {}{list}{DIM:#}",
        target["tier"], target["weight"]
    )?;
    let failure = &target["last_failure"];
    if failure.is_object() {
        let (at, kind) = (text(&failure["at"]), text(&failure["kind"]));
        let message = text(&failure["message"]);
        writeln!(out, "    {DIM}last failure {at}: {kind} {message}{DIM:#}")?;
    }
    Ok(())
}

/// A text of the gateway, which may be anything.
fn text(value: &Value) -> String {
    words::one_line(value.as_str().unwrap_or_default()).to_string()
}
