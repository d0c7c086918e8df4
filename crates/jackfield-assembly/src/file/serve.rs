//! Reads the gateway's table.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolboxId;
use toml::de::DeValue;

use crate::document::Section;
use crate::file::{Trust, trust_help};
use crate::place::ConfigProblem;
use crate::serve::{
    ApprovalsMode, DisconnectSetting, LogFormat, SOURCES, ServeConfig, ServeLimits, TokenConfig,
    TokenSource, ToolsUsed,
};
use crate::values::{at_least_one, duration, filled, flag, one_of, size, text, texts};

/// Reads `[serve]`.
pub(crate) fn read(serve: &mut ServeConfig, mut section: Section<'_>, trust: Trust) {
    if trust == Trust::Found
        && let Some(place) = section.first_place()
    {
        let help = trust_help(&place);
        let message = "a file that was merely found does not say who may ask";
        section.problem(ConfigProblem::new(place, message).with_help(help));
    }
    section.set("access_log", flag, &mut serve.access_log);
    let approvals = one_of(&[("deny", ApprovalsMode::Deny), ("wait", ApprovalsMode::Wait)]);
    section.set("approvals", approvals, &mut serve.approvals);
    if let Some((bind, place)) = section.take("bind", address) {
        (serve.bind, serve.bind_place) = (bind, Some(place));
    }
    let disconnect = one_of(&[
        ("cancel", DisconnectSetting::Cancel),
        ("finish", DisconnectSetting::Finish),
    ]);
    section.set("disconnect", disconnect, &mut serve.disconnect);
    section.set("extensions", flag, &mut serve.extensions);
    section.set("keep_alive", at_most_ten_seconds, &mut serve.keep_alive);
    let log = one_of(&[("json", LogFormat::Json), ("text", LogFormat::Text)]);
    section.set("log", log, &mut serve.log);
    section.set("log_content", flag, &mut serve.log_content);
    section.set("show_tools", flag, &mut serve.show_tools);
    section.set("stream_arguments", flag, &mut serve.stream_arguments);
    section.set("tools", tools, &mut serve.tools);
    section.set("whole_replies", flag, &mut serve.whole_replies);
    limits(&mut serve.limits, section.section("limits"));
    tokens(serve, section.section("tokens"));
    section.finish();
}

/// Reads `[serve.limits]`.
fn limits(limits: &mut ServeLimits, mut section: Section<'_>) {
    let number = |value: &DeValue<'_>| at_least_one(value).map(|number| number as usize);
    section.set("body", size, &mut limits.body);
    section.set("body_time", duration, &mut limits.body_time);
    section.set("connections", number, &mut limits.connections);
    section.set("drain", duration, &mut limits.drain);
    section.set("header_time", duration, &mut limits.header_time);
    section.set("headers", number, &mut limits.headers);
    section.set("recovered_turns", number, &mut limits.recovered_turns);
    section.set("streams", number, &mut limits.streams);
    section.set("tools", number, &mut limits.tools);
    section.set("whole_reply", duration, &mut limits.whole_reply);
    section.set("write_time", duration, &mut limits.write_time);
    section.finish();
}

/// Reads `[serve.tokens]`.
fn tokens(serve: &mut ServeConfig, section: Section<'_>) {
    let names = section.again();
    for entry in section.entries() {
        if ToolboxId::parse(&entry.name).is_err() {
            let message = "the name of a token is made of letters, digits, `-` and `_`";
            names.problem(ConfigProblem::new(entry.place.clone(), message));
        }
        let mut section = Section::of(&names, &entry);
        let mut token = TokenConfig {
            admin: false,
            place: entry.place,
            principal: None,
            source: None,
            tools: None,
        };
        let sources = [
            section
                .take("env", filled)
                .map(|(name, _)| TokenSource::Variable(name)),
            section
                .take("file", filled)
                .map(|(file, _)| TokenSource::File(PathBuf::from(&*file))),
            section
                .take("sha256", digest)
                .map(|(digest, _)| TokenSource::Sha256(digest)),
        ];
        let mut sources = sources.into_iter().flatten();
        token.source = sources.next();
        if sources.next().is_some() {
            let message = "there are several places where the token is";
            let problem = ConfigProblem::new(token.place.clone(), message);
            section.problem(problem.with_help(SOURCES));
        }
        section.set("admin", flag, &mut token.admin);
        section.set("principal", principal, &mut token.principal);
        section.set("tools", tools, &mut token.tools);
        section.finish();
        serve.tokens.insert(entry.name, token);
    }
}

/// Parses an address with its port.
fn address(value: &DeValue<'_>) -> Result<SocketAddr, String> {
    let text = text(value)?;
    text.parse().map_err(|_| {
        format!(
            "`{text}` is not an address with a port, such as \"127.0.0.1:8350\" or \"[::]:8350\""
        )
    })
}

/// Parses a keep-alive interval. Clients give up on a stream that is silent for long.
fn at_most_ten_seconds(value: &DeValue<'_>) -> Result<Duration, String> {
    let time = duration(value)?;
    if time > LONGEST_SILENCE {
        return Err("a stream says something at least every 10s".to_owned());
    }
    Ok(time)
}

fn digest(value: &DeValue<'_>) -> Result<Digest, String> {
    let text = text(value)?;
    Digest::from_hex(&text.to_ascii_lowercase())
        .ok_or_else(|| "a SHA-256 digest has 64 hexadecimal digits".to_owned())
}

fn principal(value: &DeValue<'_>) -> Result<Arc<str>, String> {
    let text = filled(value)?;
    ToolboxId::parse(&text)
        .map(|_| text)
        .map_err(|_| "a principal is made of letters, digits, `-` and `_`".to_owned())
}

/// Parses a selection of tools: a word, or patterns.
fn tools(value: &DeValue<'_>) -> Result<ToolsUsed, String> {
    if value.as_array().is_some() {
        return texts(value).map(ToolsUsed::Only);
    }
    one_of(&[("all", ToolsUsed::All), ("none", ToolsUsed::None)])(value)
}

/// The maximum silence of a stream.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);
