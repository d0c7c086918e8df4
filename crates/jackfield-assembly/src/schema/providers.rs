//! The keys of a provider in `jackfield.toml`.

use super::forms::ValueForm::{Any, Flag, Text, Texts, Words};
use super::{SchemaKey, entry};

/// The keys of a provider, but for its kind.
pub(super) const PROVIDER: &[SchemaKey] = &[
    entry(
        "api",
        Words(&["chat", "responses"]),
        "What is spoken with a server that is like OpenAI's",
    ),
    entry(
        "api_key_env",
        Text("ANTHROPIC_API_KEY"),
        "The environment variable that holds its key; empty if it needs none",
    ),
    entry(
        "api_key_file",
        Text("key"),
        "The file that holds its key and nothing else",
    ),
    entry(
        "base_url",
        Text("https://models.example.com"),
        "Its address",
    ),
    entry(
        "betas",
        Texts("some-beta"),
        "What the header anthropic-beta names",
    ),
    entry(
        "key_header",
        Words(&["bearer", "x-api-key"]),
        "The header that the key is put into",
    ),
    entry("organization", Text("org-1"), "The organization that pays"),
    entry(
        "path",
        Text("/v1"),
        "The path of an address that names none",
    ),
    entry("profile", Words(PROFILES), "What the server takes"),
    entry("project", Text("proj_1"), "The project that pays"),
    entry(
        "quirks",
        Any,
        "What the server takes, field by field, over what is known of it",
    ),
    entry("tools", Flag, "Whether the models behind it call tools"),
    entry(
        "version",
        Text("2023-06-01"),
        "The version of the API that is asked for",
    ),
];

const PROFILES: &[&str] = &[
    "compatible",
    "deepseek",
    "llama-cpp",
    "mistral",
    "ollama",
    "openai",
    "vllm",
];
