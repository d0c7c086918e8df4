//! What a process is started with: arguments, environment, system prompt and tools.

use jackfield_dialect_claude::wire;
use jackfield_domain::digest::Digest;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{Effort, ResponseFormat};
use serde_json::{Value, json};

use crate::config::ClaudeCodeConfig;

/// What a process is started with. A process serves only rounds with an equal one.
#[derive(Clone, Debug)]
pub(crate) struct ProgramSetup {
    /// The arguments, but for those about the session.
    pub(crate) arguments: Vec<String>,
    pub(crate) digest: Digest,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) system: String,
    /// Whether the system prompt follows Claude Code's own, which tells of its own tools.
    pub(crate) system_appended: bool,
    /// Our tools, as the result of `tools/list`.
    pub(crate) tools: Value,
}

/// A place in a session of Claude Code.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SessionPoint {
    /// The id of the last line.
    pub(crate) line: String,
    pub(crate) session: String,
}

impl ProgramSetup {
    /// The setup for this request, whose tools in the vendor's form are in `body`. `keeps` is whether its session is
    /// kept in a file.
    pub(crate) fn new(
        config: &ClaudeCodeConfig,
        request: &ModelRequest,
        body: &wire::Request,
        keeps: bool,
    ) -> Self {
        let tools = tool_list(body.tools.as_deref().unwrap_or_default());
        let mut arguments = arguments(config, request);
        if !keeps {
            arguments.push(FORGET.to_owned());
        }
        let environment = environment(config, request.settings.max_output_tokens);
        let system = request.system.render();
        let system_appended = !config.builtin_tools.is_empty();
        // The environment is part of it only where a request decides about it.
        let digest = Digest::of_json(&json!({
            "arguments": arguments,
            "limit": request.settings.max_output_tokens,
            "system": system,
            "tools": tools,
        }));
        Self {
            arguments,
            digest,
            environment,
            system,
            system_appended,
            tools,
        }
    }

    /// The setup of a process that is asked for what it knows, and answers no message.
    pub(crate) fn for_questions(config: &ClaudeCodeConfig) -> Self {
        let mut arguments = common_arguments(config);
        arguments.push(FORGET.to_owned());
        Self {
            arguments,
            digest: Digest::of(&[]),
            environment: environment(config, None),
            system: String::new(),
            system_appended: false,
            tools: Value::Array(Vec::new()),
        }
    }

    /// All arguments for a new session, which continues from this point if there is one.
    pub(crate) fn command_line(&self, session: &str, from: Option<&SessionPoint>) -> Vec<String> {
        let mut arguments = self.arguments.clone();
        // With `=`, so that no value is ever read as a flag.
        arguments.push(format!("--session-id={session}"));
        if let Some(SessionPoint { line, session }) = from {
            arguments.push(format!("--resume={session}"));
            arguments.push(format!("--resume-session-at={line}"));
            arguments.push("--fork-session".to_owned());
        }
        arguments
    }
}

fn common_arguments(config: &ClaudeCodeConfig) -> Vec<String> {
    let mut arguments = config.arguments.clone();
    let flags = [
        "--print",
        "--verbose",
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--include-partial-messages",
        "--permission-prompt-tool=stdio",
        // Neither a user's nor a project's settings change what it may do or whom it asks.
        "--setting-sources=",
        "--strict-mcp-config",
        "--disable-slash-commands",
    ];
    arguments.extend(flags.map(str::to_owned));
    let servers = json!({ "mcpServers": { SERVER: { "type": "sdk", "name": SERVER } } });
    arguments.push(format!("--mcp-config={servers}"));
    arguments.push(format!("--tools={}", config.builtin_tools.join(",")));
    // Our own policy decides about our tools.
    let allowed = [format!("{PREFIX}*")];
    let allowed = allowed.iter().chain(&config.allowed_tools);
    let allowed: Vec<&str> = allowed.map(String::as_str).collect();
    arguments.push(format!("--allowedTools={}", allowed.join(",")));
    arguments
}

fn arguments(config: &ClaudeCodeConfig, request: &ModelRequest) -> Vec<String> {
    let mut arguments = common_arguments(config);
    if let ResponseFormat::JsonSchema { schema, .. } = &request.settings.response_format {
        arguments.push(format!("--json-schema={schema}"));
    }
    let rounds = config
        .max_turns
        .or_else(|| request.turn.as_ref().map(|turn| turn.rounds));
    // One more answers, and one more is lost where the model calls a tool that it may not call any more.
    let turns = rounds.unwrap_or(DEFAULT_ROUNDS).saturating_add(2);
    arguments.push(format!("--max-turns={turns}"));
    arguments.push(format!("--model={}", request.model.model));
    let effort = request.settings.effort.and_then(|effort| match effort {
        Effort::None => None,
        Effort::Minimal | Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
        Effort::ExtraHigh => Some("xhigh"),
        Effort::Max => Some("max"),
    });
    arguments.extend(effort.map(|effort| format!("--effort={effort}")));
    arguments
}

fn environment(config: &ClaudeCodeConfig, output: Option<u32>) -> Vec<(String, String)> {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let mut variables: Vec<(String, String)> = FIXED.iter().copied().map(owned).collect();
    if let Some(limit) = output {
        variables.push(owned(("CLAUDE_CODE_MAX_OUTPUT_TOKENS", &limit.to_string())));
    }
    if let Some(url) = &config.base_url {
        variables.push(owned(("ANTHROPIC_BASE_URL", url)));
    }
    if let Some(key) = &config.key {
        variables.push(owned(("ANTHROPIC_API_KEY", key.expose())));
    }
    // Of two values of a variable, the configured one counts, which comes later.
    variables.extend(config.environment.iter().cloned());
    variables
}

/// The tools as MCP knows them.
fn tool_list(tools: &[wire::Tool]) -> Value {
    let listed = tools.iter().filter_map(|tool| {
        Some(json!({
            "name": tool.name.as_ref()?,
            "description": tool.description.as_deref().unwrap_or_default(),
            "inputSchema": tool.input_schema.as_ref()?,
            // Otherwise Claude Code writes a long result into a file, and has the model read that.
            "_meta": { "anthropic/maxResultSizeChars": 500_000 },
        }))
    });
    Value::Array(listed.collect())
}

/// The most rounds of a process that belongs to no turn.
const DEFAULT_ROUNDS: u32 = 10;
/// The name of the server that has our tools.
pub(crate) const SERVER: &str = "gateway";
/// What Claude Code puts before the names of our tools.
pub(crate) const PREFIX: &str = "mcp__gateway__";

/// Keeps no file of the session.
const FORGET: &str = "--no-session-persistence";

/// The variables of every process.
const FIXED: &[(&str, &str)] = &[
    // A text of a user that names a file would have it read, even with all tools off.
    ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    // Its text would come without the events of a stream.
    ("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK", "1"),
    // Lines reach the session's file sooner, for a resume after a crash.
    ("CLAUDE_CODE_EAGER_FLUSH", "1"),
    // The loop decides about retries.
    ("CLAUDE_CODE_MAX_RETRIES", "0"),
    ("CLAUDE_CODE_STARTUP_FAILURE_RESULTS", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_TELEMETRY", "1"),
    // All of our tools are offered at once.
    ("ENABLE_TOOL_SEARCH", "false"),
    // Our loop has cut the results.
    ("MAX_MCP_OUTPUT_TOKENS", "1000000"),
    // Our loop has the time limits. In milliseconds: a day.
    ("MCP_TOOL_TIMEOUT", "86400000"),
];
