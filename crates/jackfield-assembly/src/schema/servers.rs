//! The fields of `mcp-servers.json`.

use serde_json::{Map, Value, json};

/// The schema of a file of servers, in both of its forms.
pub(super) fn schema() -> Value {
    let mut listed = fields();
    let id = text("Its id, the first part of its tools' names");
    listed.insert("id".to_owned(), id);
    json!({
        "type": "object",
        "properties": {
            "mcpServers": {
                "type": "object",
                "description": "The servers by their ids",
                "maxProperties": 200,
                "additionalProperties": server(fields(), &[]),
            },
            "servers": {
                "type": "array",
                "description": "The servers",
                "maxItems": 200,
                "items": server(listed, &["id"]),
            },
        },
        "additionalProperties": false,
    })
}

fn server(fields: Map<String, Value>, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": fields,
        "required": required,
        "anyOf": [{ "required": ["command"] }, { "required": ["url"] }],
        "additionalProperties": false,
    })
}

/// The fields of a server, by name.
fn fields() -> Map<String, Value> {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let tools = json!({
        "description": "Which of its tools are offered",
        "oneOf": [
            texts,
            {
                "type": "object",
                "properties": { "allow": texts, "deny": texts },
                "additionalProperties": false,
            },
        ],
    });
    let prefix = json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9_-]{0,32}$",
        "description": "What its tools' names begin with",
    });
    let variables = json!({
        "type": "object",
        "additionalProperties": { "type": "string" },
        "description": "Variables that it gets; ${NAME} is filled in",
    });
    let kind = |about: &str| json!({ "enum": ["stdio", "http"], "description": about });
    let all = [
        (
            "args",
            json!({ "type": "array", "items": { "type": "string" }, "description": "Its arguments; no shell reads them" }),
        ),
        (
            "command",
            text("The program: a name that is looked for in PATH, or a path"),
        ),
        (
            "cwd",
            text("The folder that it runs in, relative to this file"),
        ),
        ("description", text("For people: what it is for")),
        ("disabled", flag("The opposite of `enabled`")),
        ("enabled", flag("Whether it is used")),
        ("env", variables),
        (
            "headers",
            json!({
                "type": "object",
                "additionalProperties": { "type": "string" },
                "description": "Headers of every request to a server with a `url`; ${NAME} is filled in",
            }),
        ),
        (
            "lazy",
            flag("Whether it is started by the first call of a tool"),
        ),
        ("name", text("For people: its name in words")),
        ("oauth", oauth()),
        ("prefix", prefix),
        (
            "roots",
            json!({
                "type": "array",
                "items": { "type": "string" },
                "description": "Its roots: the folders that it should work in, relative to this file; ${NAME} is filled in",
            }),
        ),
        (
            "start_timeout",
            text("How long it may take to start, such as 60s; two minutes at most"),
        ),
        (
            "timeout",
            text("How long a call may go without a word of its progress, such as 30s"),
        ),
        ("tools", tools),
        (
            "transport",
            kind("How it is reached; by default over HTTP if it has a `url`"),
        ),
        (
            "trust",
            flag("Whether what it says about the safety of its tools is believed"),
        ),
        ("type", kind("The same as `transport`")),
        (
            "url",
            text("The address of a server over Streamable HTTP; ${NAME} is filled in"),
        ),
    ];
    let all = all.into_iter();
    all.map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}

/// The fields of `oauth`.
fn oauth() -> Value {
    json!({
        "type": "object",
        "description": "How to sign in at a server with a `url`, as far as the server does not say it",
        "properties": {
            "allow_private": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Networks, addresses and names of the sign-in that are reached although they are not public",
            },
            "client_id": text("The id of a client that was registered by hand; ${NAME} is filled in"),
            "client_metadata_url": text("The address of a document about the client; ${NAME} is filled in"),
            "client_secret": text("The secret of that client; ${NAME} is filled in"),
            "redirect_uri": text("The redirect that the client was registered with, such as http://127.0.0.1:8765/callback"),
            "scope": text("The scope to ask for, instead of what the server suggests"),
        },
        "additionalProperties": false,
    })
}

fn flag(about: &str) -> Value {
    json!({ "type": "boolean", "description": about })
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}
