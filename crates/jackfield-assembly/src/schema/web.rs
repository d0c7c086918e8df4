//! The keys of web APIs, except for the JSON Schema keywords of their parameters.

use super::forms::ValueForm::{Duration, Flag, Required, Text, Words};
use super::{SchemaKey, entry};

/// Every key below `web`.
pub(super) const WEB: &[SchemaKey] = &[
    entry(
        "web.prefix",
        Text("web_"),
        "What the names of these tools begin with",
    ),
    entry(
        "web.tools.NAME.body",
        Words(&["form", "json"]),
        "The form of the body",
    ),
    entry(
        "web.tools.NAME.description",
        Text("The weather of a city"),
        "What the tool does and when to use it, for the model",
    ),
    entry(
        "web.tools.NAME.headers.NAME",
        Text("application/json"),
        "The value of a header; ${NAME} is filled in",
    ),
    entry("web.tools.NAME.icon", Text("☀"), "A sign for people"),
    entry(
        "web.tools.NAME.idempotency_key",
        Flag,
        "Whether the key of a call is sent along",
    ),
    entry(
        "web.tools.NAME.idempotent",
        Flag,
        "Whether a call may be repeated",
    ),
    entry("web.tools.NAME.method", Words(METHODS), "The method"),
    entry(
        "web.tools.NAME.parameters.NAME.in",
        Words(PARTS),
        "Where the parameter goes",
    ),
    entry(
        "web.tools.NAME.parameters.NAME.name",
        Text("q"),
        "What it is called there",
    ),
    entry(
        "web.tools.NAME.parameters.NAME.required",
        Required,
        "Whether it has to be given; of an object, what of it has to be",
    ),
    entry(
        "web.tools.NAME.read_only",
        Flag,
        "Whether it changes nothing",
    ),
    entry(
        "web.tools.NAME.result",
        Text("/current"),
        "Which part of the answer is the outcome",
    ),
    entry(
        "web.tools.NAME.timeout",
        Duration("10s"),
        "How long a call may take",
    ),
    entry(
        "web.tools.NAME.title",
        Text("Weather"),
        "Its name for people",
    ),
    entry(
        "web.tools.NAME.url",
        Text("https://api.example.com/v1/{city}"),
        "The address",
    ),
];

const METHODS: &[&str] = &["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"];
const PARTS: &[&str] = &["body", "header", "path", "query"];
