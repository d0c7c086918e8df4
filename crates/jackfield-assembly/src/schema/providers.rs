//! The options of the kinds of providers in `jackfield.toml`: their factories read them.

use crate::form::ValueForm::{self, Any, Flag, Text, Texts, Words};

/// The options of all kinds, with forms and descriptions.
pub(super) fn options() -> [(&'static str, ValueForm, &'static str); 10] {
    [
        (
            "api",
            Words(vec!["chat", "responses"]),
            "What is spoken with a server that is like OpenAI's",
        ),
        (
            "betas",
            Texts("some-beta"),
            "What the header anthropic-beta names",
        ),
        (
            "key_header",
            Words(vec!["bearer", "x-api-key"]),
            "The header that the key is put into",
        ),
        ("organization", Text("org-1"), "The organization that pays"),
        (
            "path",
            Text("/v1"),
            "The path of an address that names none",
        ),
        ("profile", Words(PROFILES.to_vec()), "What the server takes"),
        ("project", Text("proj_1"), "The project that pays"),
        (
            "quirks",
            Any,
            "What the server takes, field by field, over what is known of it",
        ),
        ("tools", Flag, "Whether the models behind it call tools"),
        (
            "version",
            Text("2023-06-01"),
            "The version of the API that is asked for",
        ),
    ]
}

const PROFILES: &[&str] = &[
    "cerebras",
    "compatible",
    "deepseek",
    "fireworks",
    "groq",
    "llama-cpp",
    "lm-studio",
    "mistral",
    "ollama",
    "openai",
    "openrouter",
    "sglang",
    "together",
    "vllm",
    "xai",
];
