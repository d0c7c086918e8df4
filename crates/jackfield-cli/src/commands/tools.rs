//! `jackfield tools`: lists, shows and calls tools.

use std::io::{self, IsTerminal as _};

use jackfield_assembly::{Assembly, Registry, ServerToolbox};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::InputFormat;
use jackfield_engine::{DirectCall, EngineError, ToolOffer};
use serde_json::{Map, Value};

use crate::args::Tools;
use crate::commands::{ask, patterns, servers};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render::{self, words};

/// Lists, shows or calls tools.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(tools: Tools, registry: &Registry) -> Result<Exit, CommandError> {
    let (Tools::Call { setup, .. } | Tools::List { setup, .. } | Tools::Show { setup, .. }) =
        &tools;
    let assembled = ask::assemble(&ask::flags(setup), registry)?;
    let all = assembled.servers.all();
    let patience = servers::start_notice(&all);
    let done = perform(tools, assembled, &all).await;
    drop(patience);
    servers::stop(all).await;
    done
}

async fn perform(
    tools: Tools,
    assembled: Assembly,
    all: &[ServerToolbox],
) -> Result<Exit, CommandError> {
    let (Tools::Call { setup, .. } | Tools::List { setup, .. } | Tools::Show { setup, .. }) =
        &tools;
    let Assembly {
        engine,
        mut options,
        ..
    } = assembled;
    // As in an interactive run, where a person can be asked.
    options.policy.can_ask = true;
    let mut offered = engine.tools(&options).await;
    if let Tools::Call { name, .. } | Tools::Show { name, .. } = &tools
        && offered.catalog.tool(name).is_none()
    {
        // A server may have ended its start since the list, so the tools are listed again in any case.
        servers::wait_for_listings(all).await;
        offered = engine.tools(&options).await;
    }
    for problem in offered.problems.iter().chain(&offered.skipped) {
        render::remark(&format!("warning: {}", words::problem(problem)));
    }
    patterns::warn(setup, &offered);
    let out = &mut anstream::stdout();
    let (exit, printed) = match tools {
        Tools::List { json, .. } => (
            Exit::Answered,
            render::list(out, offered.catalog.iter(), json),
        ),
        Tools::Show { json, name, .. } => {
            let tool = offered
                .catalog
                .tool(&name)
                .ok_or_else(|| unknown(&offered, &name))?;
            (Exit::Answered, render::show(out, tool, json))
        }
        Tools::Call {
            arguments,
            json,
            name,
            save_files,
            ..
        } => {
            let files = save_files.as_deref().map(ask::create_files).transpose()?;
            let tool = offered
                .catalog
                .tool(&name)
                .ok_or_else(|| unknown(&offered, &name))?;
            let arguments = parse_arguments(&arguments, &tool.definition.input)?;
            let call = DirectCall::new(arguments);
            let result = engine.call_offered(&options, tool, call).await;
            let exit = if result.is_error {
                Exit::Tool
            } else {
                Exit::Answered
            };
            let saved = files.map(|files| files.save_as(&name, &result));
            let saved = saved.transpose().map_err(|error| {
                let message = "a file of the result cannot be saved";
                CommandError::new(Exit::Internal, message).with_cause(&error)
            })?;
            if !json {
                report_files(&result, saved.as_ref());
            }
            // Tool output is not styled; a file gets it unchanged.
            let (mut out, terminal) = (io::stdout(), io::stdout().is_terminal());
            let printed = if json {
                render::called_json(&mut out, &result, saved)
            } else {
                render::called(&mut out, &result, terminal)
            };
            (exit, printed)
        }
    };
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CommandError::new(
            Exit::Internal,
            "standard output cannot be written",
        )
        .with_cause(&error)),
        // A closed pipe is no error: the reader has what it wants.
        Ok(()) | Err(_) => Ok(exit),
    }
}

/// Says where the files of a result are, or that it has some.
fn report_files(result: &ToolResult, saved: Option<&Value>) {
    let places = saved.and_then(Value::as_array).into_iter().flatten();
    let paths = places.filter_map(|file| file["path"].as_str());
    for path in paths {
        render::remark(&format!("saved {path}"));
    }
    if let (Some(files), None) = (words::files(result), saved) {
        render::remark(&format!(
            "the result has {files}, which models see; --save-files DIR saves them"
        ));
    }
}

/// The arguments of a call: one JSON object, or `key=value` pairs.
///
/// The value of a pair is a string if the tool's schema says so; otherwise it is parsed as JSON where possible.
///
/// # Errors
///
/// [`CommandError`] that says what is wrong with the arguments.
pub fn parse_arguments(
    arguments: &[String],
    input: &InputFormat,
) -> Result<Map<String, Value>, CommandError> {
    if let [json] = arguments
        && json.trim_start().starts_with('{')
    {
        return serde_json::from_str(json).map_err(|error| {
            let fault = CommandError::new(Exit::Usage, "the arguments are not a JSON object");
            fault
                .with_cause(&error)
                .with_help(r#"jackfield tools call calculator '{"expression": "15% of 2500"}'"#)
        });
    }
    let types = match input {
        InputFormat::Json(schema) => schema.get("properties"),
        InputFormat::Text(_) => None,
    };
    let pairs = arguments.iter().map(|pair| {
        let (key, text) = pair.split_once('=').ok_or_else(|| {
            let fault = CommandError::new(
                Exit::Usage,
                format!("`{pair}` is neither a JSON object nor key=value"),
            );
            fault.with_help("jackfield tools call calculator expression='15% of 2500'")
        })?;
        let declared = types.and_then(|types| types.get(key)?.get("type"));
        let as_text = declared.is_some_and(|declared| declared == "string");
        let value = if as_text {
            None
        } else {
            serde_json::from_str(text).ok()
        };
        Ok((
            key.to_owned(),
            value.unwrap_or_else(|| Value::String(text.to_owned())),
        ))
    });
    pairs.collect()
}

pub(crate) fn unknown(offered: &ToolOffer, name: &str) -> CommandError {
    let known = offered
        .catalog
        .iter()
        .map(|tool| tool.definition.name.to_string());
    EngineError::UnknownTool {
        known: known.collect(),
        name: name.to_owned(),
    }
    .into()
}
