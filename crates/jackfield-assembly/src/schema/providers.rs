//! The options of the kinds of providers in `jackfield.toml`: their factories read them.

use std::collections::BTreeSet;

use crate::form::ValueForm::{self, Any, Text, Texts, ToolMode, ToolModes, Whole, Words};
use crate::presets::PRESETS;

/// The options of all kinds, with forms and descriptions.
pub(super) fn options() -> [(&'static str, ValueForm, &'static str); 25] {
    let profiles: BTreeSet<&str> = PRESETS.iter().map(|preset| preset.profile).collect();
    [
        (
            "allowed_tools",
            Texts("Bash(git *)"),
            "The rules by which Claude Code may use its own tools",
        ),
        (
            "api",
            Words(vec!["chat", "converse", "native", "responses"]),
            "What is spoken with a server that is like OpenAI's, with Bedrock, or with Ollama",
        ),
        (
            "arguments",
            Texts("--add-dir=/srv/docs"),
            "Further arguments of the program",
        ),
        (
            "betas",
            Texts("some-beta"),
            "What the header anthropic-beta names",
        ),
        (
            "builtin_tools",
            Texts("Read"),
            "Which of its own tools Claude Code has",
        ),
        (
            "command",
            Text("/usr/local/bin/claude"),
            "The program, or its path",
        ),
        ("env", Any, "Further variables of the program"),
        (
            "env_from",
            Texts("HTTPS_PROXY"),
            "Which of our variables the program gets",
        ),
        (
            "folder",
            Text("/srv/project"),
            "The working directory of the program",
        ),
        (
            "keep_alive",
            Text("30m"),
            "How long Ollama keeps a model in memory after a request",
        ),
        (
            "key_header",
            Words(vec!["bearer", "x-api-key"]),
            "The header that the key is put into",
        ),
        (
            "like",
            Text("anthropic.claude-sonnet-4-5"),
            "The model of Bedrock that its models are like",
        ),
        (
            "location",
            Text("europe-west4"),
            "The location at Vertex AI",
        ),
        (
            "max_processes",
            Whole(1),
            "The most processes of Claude Code at a time",
        ),
        (
            "max_turns",
            Whole(1),
            "The most rounds with tools of a turn of Claude Code",
        ),
        (
            "num_ctx",
            Whole(1),
            "The size of the context that Ollama gives a model, in tokens",
        ),
        ("organization", Text("org-1"), "The organization that pays"),
        (
            "path",
            Text("/v1"),
            "The path of an address that names none",
        ),
        (
            "profile",
            Words(profiles.into_iter().collect()),
            "What the server takes",
        ),
        (
            "project",
            Text("proj_1"),
            "The project that pays, or that of Google Cloud",
        ),
        (
            "quirks",
            Any,
            "What the server takes, field by field, over what is known of it",
        ),
        ("region", Text("us-east-1"), "The region of Bedrock"),
        (
            "tools",
            ToolMode,
            "Whether the models behind it call tools, and in which form they are given any",
        ),
        (
            "tools_of",
            ToolModes,
            "The same for some of them, by patterns of their names",
        ),
        (
            "version",
            Text("2023-06-01"),
            "The version of the API that is asked for",
        ),
    ]
}
