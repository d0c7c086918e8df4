//! The keys of `jackfield.toml`.

use super::forms::ValueForm::{
    Amount, Duration, Flag, Free, Money, Number, ResponseFormat, Size, Strict, Text, Texts,
    Thinking, Tools, Whole, Words,
};
use super::{SchemaKey, entry};

/// Every key but those of providers.
pub(super) const SETTINGS: &[SchemaKey] = &[
    entry(
        "model",
        Text("claude/claude-opus-5-5"),
        "The model: an alias, or provider/model",
    ),
    entry(
        "trusted_projects",
        Texts("~/work"),
        "Folders whose jackfield.toml may say everything",
    ),
    entry(
        "aliases.NAME",
        Text("claude/claude-haiku-5-5"),
        "The model of a short name, as provider/model",
    ),
    entry(
        "approvals.command",
        Texts("may-it-run"),
        "A program that is asked before a person is, and its arguments",
    ),
    entry(
        "approvals.timeout",
        Duration("30s"),
        "How long it has for an answer",
    ),
    entry(
        "approvals.tool",
        Text("policy/may_it_run"),
        "A tool that is asked before a person is, as server/tool",
    ),
    entry(
        "budget.active",
        Duration("5m"),
        "The time in which something is under way",
    ),
    entry("budget.cost", Money, "Money, in the currency of the prices"),
    entry(
        "budget.currency",
        Text("USD"),
        "The currency of prices and budgets",
    ),
    entry(
        "budget.tokens",
        Whole(0),
        "Tokens, input and output together",
    ),
    entry(
        "journal.keep_bytes",
        Size("1GiB"),
        "How much conversations may have together before the oldest are deleted",
    ),
    entry(
        "journal.keep_days",
        Whole(1),
        "How many days a conversation is kept after its last turn",
    ),
    entry(
        "journal.kind",
        Words(&["memory", "sqlite"]),
        "What conversations are kept in",
    ),
    entry(
        "journal.max_size",
        Size("10GB"),
        "How large the file of the conversations may become",
    ),
    entry(
        "journal.path",
        Text("~/notes/jackfield.db"),
        "The file that conversations are kept in",
    ),
    entry(
        "limits.approval",
        Duration("24h"),
        "How long a person has for an approval",
    ),
    entry(
        "limits.client_tool",
        Duration("2m"),
        "How long a caller has for the result of its own tool",
    ),
    entry(
        "limits.model_idle",
        Duration("2m"),
        "How long a model may say nothing",
    ),
    entry(
        "limits.model_retries",
        Whole(0),
        "How many times a model call is tried again",
    ),
    entry(
        "limits.on_limit",
        Words(&["answer", "error"]),
        "What happens at a limit",
    ),
    entry(
        "limits.parallel_calls",
        Whole(1),
        "How many tool calls run at once",
    ),
    entry(
        "limits.repeats",
        Whole(1),
        "How often the same call may have the same outcome",
    ),
    entry(
        "limits.retry_after",
        Duration("1m"),
        "The longest that a server may tell us to wait",
    ),
    entry(
        "limits.rounds",
        Whole(1),
        "How many rounds a turn may have, the last one without tools",
    ),
    entry(
        "limits.shown",
        Size("256KiB"),
        "How much of a tool's outcome the model is shown",
    ),
    entry(
        "limits.stored",
        Size("4MiB"),
        "How much of a tool's outcome is kept",
    ),
    entry(
        "limits.tool_call",
        Duration("30s"),
        "How long a tool call may take",
    ),
    entry(
        "mcp.config",
        Text("mcp-servers.json"),
        "The file with the MCP servers",
    ),
    entry(
        "mcp.start_wait",
        Duration("5s"),
        "How long a turn waits for MCP servers that start",
    ),
    entry(
        "network.allow_private",
        Texts("10.0.0.0/8"),
        "What tools may reach although it is not public",
    ),
    entry(
        "network.connect_timeout",
        Duration("10s"),
        "How long a connection may take to be made",
    ),
    entry(
        "network.keep_http",
        Flag,
        "Whether connections to plain http addresses are kept for the next request",
    ),
    entry(
        "network.proxy",
        Text("http://proxy.example:8080"),
        "A proxy for everything but this machine",
    ),
    entry(
        "policy.tools.NAME",
        Words(&["allow", "ask", "deny"]),
        "A rule for the tools that fit the pattern",
    ),
    entry(
        "policy.tools_after_first_round",
        Flag,
        "Whether rounds after the first may use tools",
    ),
    entry(
        "policy.unknown",
        Words(&["ask", "report", "retry"]),
        "What to do about a call that may have taken effect",
    ),
    entry(
        "policy.unknown_of.NAME",
        Words(&["ask", "report", "retry"]),
        "The same for the tools that fit the pattern",
    ),
    entry(
        "prices.NAME.cache_read",
        Amount,
        "What a million input tokens cost that are read from a cache",
    ),
    entry(
        "prices.NAME.cache_write",
        Amount,
        "What a million input tokens cost that are written to a cache",
    ),
    entry(
        "prices.NAME.date",
        Text("2026-11-01"),
        "The day on which the price was read",
    ),
    entry(
        "prices.NAME.input",
        Amount,
        "What a million input tokens cost",
    ),
    entry(
        "prices.NAME.output",
        Amount,
        "What a million output tokens cost",
    ),
    entry(
        "prices.NAME.source",
        Text("https://prices.example"),
        "Where the price was read",
    ),
    entry(
        "serve.access_log",
        Flag,
        "Whether each request is a line of the log",
    ),
    entry(
        "serve.approvals",
        Words(&["deny", "wait"]),
        "What becomes of a call that needs a word",
    ),
    entry(
        "serve.bind",
        Text("127.0.0.1:8350"),
        "Where the gateway listens; any address but loopback needs a token",
    ),
    entry(
        "serve.disconnect",
        Words(&["cancel", "finish"]),
        "What becomes of a turn whose client goes away",
    ),
    entry(
        "serve.extensions",
        Flag,
        "Whether Chat Completions says what its vendor has no field for",
    ),
    entry(
        "serve.keep_alive",
        Duration("10s"),
        "How long a stream says nothing at most",
    ),
    entry(
        "serve.limits.body",
        Size("32MiB"),
        "The largest body of a request",
    ),
    entry(
        "serve.limits.body_time",
        Duration("1m"),
        "How long a body may take to come",
    ),
    entry(
        "serve.limits.connections",
        Whole(1),
        "How many connections are open at once; more wait",
    ),
    entry(
        "serve.limits.drain",
        Duration("25s"),
        "How long the end waits for what is under way",
    ),
    entry(
        "serve.limits.header_time",
        Duration("30s"),
        "How long the head of a request may take to come",
    ),
    entry(
        "serve.limits.headers",
        Whole(1),
        "How many headers a request has",
    ),
    entry(
        "serve.limits.recovered_turns",
        Whole(1),
        "How many turns that were left open go on at once; more wait",
    ),
    entry(
        "serve.limits.streams",
        Whole(1),
        "How many requests are answered at once; more get 429",
    ),
    entry(
        "serve.limits.tools",
        Whole(1),
        "How many tools a request brings",
    ),
    entry(
        "serve.limits.whole_reply",
        Duration("10m"),
        "How long a reply may take that is asked for in one piece",
    ),
    entry(
        "serve.limits.write_time",
        Duration("1m"),
        "How long a client may take nothing of an answer that is there",
    ),
    entry("serve.log", Words(&["json", "text"]), "The form of the log"),
    entry(
        "serve.log_content",
        Flag,
        "Whether what was said is logged, too",
    ),
    entry(
        "serve.show_tools",
        Flag,
        "Whether clients are shown the calls of tools that run here",
    ),
    entry(
        "serve.stream_arguments",
        Flag,
        "Whether streams show the calls of a client's tools while they are written",
    ),
    entry(
        "serve.tokens.NAME.admin",
        Flag,
        "Whether the token sees the conversations of all",
    ),
    entry(
        "serve.tokens.NAME.env",
        Text("TEAM_TOKEN"),
        "The environment variable that holds the token",
    ),
    entry(
        "serve.tokens.NAME.file",
        Text("token"),
        "The file that holds the token and nothing else",
    ),
    entry(
        "serve.tokens.NAME.principal",
        Text("team"),
        "Whose conversations the token sees; default: its own name",
    ),
    entry(
        "serve.tokens.NAME.sha256",
        Text("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
        "The SHA-256 digest of the token",
    ),
    entry(
        "serve.tokens.NAME.tools",
        Tools,
        "The server tools that the token may use",
    ),
    entry(
        "serve.tools",
        Tools,
        "The server tools that a request may use",
    ),
    entry(
        "serve.whole_replies",
        Flag,
        "Whether replies are requested in one piece where no client streams",
    ),
    entry(
        "session.second_message",
        Words(&["cancel", "queue", "refuse"]),
        "What becomes of a message to a session that is at work",
    ),
    entry(
        "settings.effort",
        Words(EFFORTS),
        "How hard the model should think",
    ),
    entry(
        "settings.end_user",
        Text("u-17"),
        "A stable name of the end user; no personal data",
    ),
    entry(
        "settings.extensions",
        Free,
        "Fields that only one dialect knows, by dialect",
    ),
    entry(
        "settings.frequency_penalty",
        Number(-2.0, 2.0),
        "Against repetition in proportion to frequency",
    ),
    entry(
        "settings.max_output_tokens",
        Whole(1),
        "The most output tokens of one reply, reasoning included",
    ),
    entry(
        "settings.parallel_calls",
        Flag,
        "Whether one reply may hold several calls",
    ),
    entry(
        "settings.presence_penalty",
        Number(-2.0, 2.0),
        "Against any repetition",
    ),
    entry(
        "settings.response_format",
        ResponseFormat,
        "The form of the answer",
    ),
    entry(
        "settings.seed",
        Whole(i64::MIN),
        "For sampling that can be repeated",
    ),
    entry(
        "settings.service_tier",
        Text("standard_only"),
        "The provider's name of a price and speed class",
    ),
    entry("settings.stop", Texts("END"), "Texts that end the reply"),
    entry(
        "settings.strict",
        Strict,
        "Refuses to ask the model where this, or something worse, would get lost",
    ),
    entry(
        "settings.temperature",
        Number(0.0, 2.0),
        "Sampling temperature",
    ),
    entry(
        "settings.thinking",
        Thinking,
        "Whether the model thinks before it answers, or the most tokens for it",
    ),
    entry(
        "settings.thinking_shown",
        Flag,
        "Whether the text of the thinking is sent",
    ),
    entry(
        "settings.top_k",
        Whole(1),
        "Sampling among the k likeliest tokens",
    ),
    entry(
        "settings.top_p",
        Number(0.0, 1.0),
        "Sampling among the likeliest tokens of this probability together",
    ),
    entry(
        "settings.verbosity",
        Words(&["low", "medium", "high"]),
        "How much the model should say",
    ),
    entry("system.prompt", Text("Be brief."), "The system prompt"),
];

const EFFORTS: &[&str] = &[
    "none",
    "minimal",
    "low",
    "medium",
    "high",
    "extra_high",
    "max",
];
