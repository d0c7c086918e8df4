//! The arguments: unknown ones are refused, as by the real program.

use serde_json::Value;

use super::Fault;

#[derive(Debug, Default)]
pub(super) struct Arguments {
    /// Whether sessions are kept in files.
    pub(super) keeps: bool,
    pub(super) builtin_tools: String,
    pub(super) effort: Option<String>,
    pub(super) max_turns: usize,
    pub(super) model: String,
    pub(super) resume: Option<String>,
    pub(super) resume_at: Option<String>,
    pub(super) session: String,
    /// The schema of the answer.
    pub(super) schema: Option<Value>,
}

impl Arguments {
    pub(super) fn read(
        arguments: impl Iterator<Item = String>,
        is_older: bool,
    ) -> Result<Self, Fault> {
        let mut read = Self {
            keeps: true,
            ..Self::default()
        };
        let mut forks = false;
        let mut missing = vec![
            "--print",
            "--verbose",
            "--output-format=stream-json",
            "--input-format=stream-json",
            "--include-partial-messages",
            "--permission-prompt-tool=stdio",
            "--setting-sources=",
            "--strict-mcp-config",
            "--disable-slash-commands",
            "--allowedTools",
            "--mcp-config",
        ];
        for argument in arguments {
            let (flag, value) = argument.split_once('=').unwrap_or((&*argument, ""));
            if is_older && flag == "--include-partial-messages" {
                return Err(format!("error: unknown option '{flag}'"));
            }
            missing.retain(|wanted| *wanted != argument && *wanted != flag);
            match flag {
                "--tools" => value.clone_into(&mut read.builtin_tools),
                "--no-session-persistence" => read.keeps = false,
                "--max-turns" => {
                    let turns = value.parse();
                    read.max_turns = turns.map_err(|_| "--max-turns is no number".to_owned())?;
                }
                "--json-schema" => {
                    let schema = serde_json::from_str(value);
                    read.schema = Some(schema.map_err(|_| "--json-schema is no JSON".to_owned())?);
                }
                "--effort" => read.effort = Some(value.to_owned()),
                "--model" => value.clone_into(&mut read.model),
                "--resume" => read.resume = Some(value.to_owned()),
                "--resume-session-at" => read.resume_at = Some(value.to_owned()),
                "--session-id" => value.clone_into(&mut read.session),
                "--fork-session" => forks = true,
                "--allowedTools" if value.starts_with("mcp__gateway__*") => {}
                "--mcp-config"
                    if value == r#"{"mcpServers":{"gateway":{"type":"sdk","name":"gateway"}}}"# => {
                }
                "--print"
                | "--verbose"
                | "--output-format"
                | "--input-format"
                | "--include-partial-messages"
                | "--permission-prompt-tool"
                | "--setting-sources"
                | "--strict-mcp-config"
                | "--disable-slash-commands" => {}
                _ => return Err(format!("error: unknown option '{argument}'")),
            }
        }
        if let Some(flag) = missing.first() {
            return Err(format!("error: the argument {flag} is missing"));
        }
        if !is_uuid(&read.session) {
            return Err("Error: Invalid session ID. Must be a valid UUID.".to_owned());
        }
        if read.resume.is_some() != forks {
            return Err("Error: a session id with --resume needs --fork-session".to_owned());
        }
        if !read.keeps && read.resume.is_some() {
            return Err("Error: what is resumed without being kept?".to_owned());
        }
        if read.keeps && (read.model.is_empty() || read.max_turns == 0) {
            return Err("Error: no model, or no number of turns".to_owned());
        }
        Ok(read)
    }
}

fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let hex = text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    hex && lengths == [8, 4, 4, 4, 12] && text.as_bytes().get(14) == Some(&b'4')
}
