//! Tools and catalogs.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::block::RanBy;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{ToolName, ToolboxId};
use jackfield_domain::naming;
use jackfield_domain::tool::{
    Catalog, CatalogEntry, Discovery, Grammar, InputFormat, Safety, ToolChoice, ToolDefinition,
    ToolOrigin, ToolSpec, UnknownPolicy,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::opaque::extension;
use super::setup::permission;
use super::text::{id, text};

/// A tool's name as models see it.
pub fn tool_name() -> impl Strategy<Value = ToolName> + Clone {
    let long = id(40).prop_map(|text| format!("{:a<width$}", text, width = ToolName::MAX));
    prop_oneof![
        2 => Just("search".to_owned()),
        2 => Just("files__read".to_owned()),
        2 => id(ToolName::MAX),
        1 => id(40).prop_map(|text| format!("{text}.{text}:{text}")),
        1 => long,
    ]
    .prop_map(|text| ToolName::parse(&text).unwrap_or_else(|_| naming::bare_tool_name(&text)))
    .boxed()
}

/// A toolbox's id.
pub fn toolbox_id() -> impl Strategy<Value = ToolboxId> + Clone {
    select(&["builtin", "files", "mcp-1"][..]).prop_map(|text| match ToolboxId::parse(text) {
        Ok(id) => id,
        Err(invalid) => unreachable!("{invalid}"),
    })
}

/// A JSON Schema of an object.
pub fn schema() -> impl Strategy<Value = Value> + Clone {
    let required = any::<bool>();
    (text(), required).prop_map(|(description, required)| {
        let required = if required { vec!["q"] } else { Vec::new() };
        json!({
            "type": "object",
            "properties": { "q": { "type": "string", "description": *description }, "n": { "type": "integer" } },
            "required": required,
        })
    })
}

/// The input format of a tool: mostly JSON.
pub fn input_format() -> impl Strategy<Value = InputFormat> + Clone {
    let syntax = select(&["lark", "regex"][..]);
    let grammar = (text(), syntax).prop_map(|(definition, syntax)| Grammar {
        definition,
        syntax: syntax.into(),
    });
    prop_oneof![
        5 => schema().prop_map(|schema| InputFormat::Json(Arc::new(schema))),
        1 => option::of(grammar).prop_map(InputFormat::Text),
    ]
    .boxed()
}

/// A tool's definition as sent to a model.
pub fn tool_definition() -> impl Strategy<Value = ToolDefinition> + Clone {
    let extensions = prop_oneof![4 => Just(Vec::new()), 1 => vec(extension(), 1..3)];
    (
        text(),
        extensions,
        input_format(),
        tool_name(),
        option::weighted(0.2, schema()),
        option::of(any::<bool>()),
    )
        .prop_map(
            |(description, extensions, input, name, output, strict)| ToolDefinition {
                description,
                extensions,
                input,
                name,
                output: output.map(Arc::new),
                strict,
            },
        )
        .boxed()
}

fn safety() -> impl Strategy<Value = Safety> + Clone {
    select(&[Safety::Idempotent, Safety::ReadOnly, Safety::Unknown][..])
}

fn time_limit() -> impl Strategy<Value = Option<Duration>> + Clone {
    option::weighted(0.2, (1..100_000_u64).prop_map(Duration::from_millis))
}

/// A tool as offered by its toolbox.
pub fn tool_spec() -> impl Strategy<Value = ToolSpec> + Clone {
    let icon = option::of(Just(Arc::<str>::from("🔎")));
    let output = option::weighted(0.2, schema());
    (
        (text(), icon, input_format(), text()),
        (output, safety(), time_limit(), option::of(text())),
    )
        .prop_map(
            |((description, icon, input, name), (output, safety, time_limit, title))| ToolSpec {
                description,
                icon,
                input,
                name,
                output: output.map(Arc::new),
                safety,
                time_limit,
                title,
            },
        )
        .boxed()
}

/// The origin of a tool.
pub fn tool_origin() -> impl Strategy<Value = ToolOrigin> + Clone {
    (text(), toolbox_id())
        .prop_map(|(tool, toolbox)| ToolOrigin { tool, toolbox })
        .boxed()
}

/// One tool of a catalog.
pub fn catalog_entry() -> impl Strategy<Value = CatalogEntry> + Clone {
    let icon = option::of(Just(Arc::<str>::from("🕰")));
    let ran_by = prop_oneof![4 => Just(RanBy::Engine), 1 => Just(RanBy::Client)];
    let discovery = prop_oneof![
        Just(Discovery::Deferred),
        (0..4u32).prop_map(Discovery::Revealed)
    ];
    let when_unknown = select(
        &[
            UnknownPolicy::Ask,
            UnknownPolicy::Report,
            UnknownPolicy::Retry,
        ][..],
    );
    (
        (
            tool_definition(),
            digest(),
            icon,
            tool_origin(),
            permission(),
        ),
        (
            ran_by,
            safety(),
            time_limit(),
            option::of(text()),
            when_unknown,
            option::of(text()),
            option::weighted(0.3, discovery),
        ),
    )
        .prop_map(
            |(
                (definition, digest, icon, origin, permission),
                (ran_by, safety, time_limit, title, when_unknown, asked_by, discovery),
            )| CatalogEntry {
                asked_by,
                definition: Arc::new(definition),
                digest,
                discovery,
                icon,
                origin,
                permission,
                ran_by,
                safety,
                time_limit,
                title,
                when_unknown,
            },
        )
        .boxed()
}

/// A catalog of up to three tools.
pub fn catalog() -> impl Strategy<Value = Catalog> + Clone {
    vec(catalog_entry(), 0..4)
        .prop_map(Catalog::from_iter)
        .boxed()
}

/// A tool choice; a name or a list only if there are tools.
pub fn tool_choice(names: Vec<ToolName>) -> impl Strategy<Value = ToolChoice> + Clone {
    (0..5_usize, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        move |(kind, chosen, required)| {
            let chosen = (!names.is_empty()).then(|| chosen.index(names.len()));
            match (kind, chosen) {
                (1, _) => ToolChoice::Forbidden,
                (2, Some(_)) => ToolChoice::Required,
                (3, Some(chosen)) => ToolChoice::Named(names[chosen].clone()),
                (4, Some(chosen)) => ToolChoice::Only {
                    required,
                    tools: names[..=chosen].to_vec(),
                },
                (_, _) => ToolChoice::Auto,
            }
        },
    )
}

/// A digest.
pub(super) fn digest() -> impl Strategy<Value = Digest> + Clone {
    any::<[u8; 32]>().prop_map(Digest::from_bytes)
}
