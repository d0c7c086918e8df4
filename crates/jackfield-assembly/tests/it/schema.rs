//! The schemas for editors, held against the readers: what the one knows, the other takes.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_assembly::{Environment, Registry, server_keys, servers_schema};
use serde_json::{Value, json};

use crate::world::World;

/// The schema of every key, with `NAME` where a name is free.
fn flat(schema: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    collect("", schema, &mut found);
    found.remove("");
    found
}

fn collect(path: &str, schema: &Value, found: &mut BTreeMap<String, Value>) {
    found.insert(path.to_owned(), schema.clone());
    let below = |name: &str| {
        let dot = if path.is_empty() { "" } else { "." };
        format!("{path}{dot}{name}")
    };
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        collect(&below(name), inner, found);
    }
    for free in [&schema["additionalProperties"], &schema["items"]] {
        if free.is_object() {
            collect(&below("NAME"), free, found);
        }
    }
    for one in schema["oneOf"].as_array().into_iter().flatten() {
        // The form of an answer is read as one value.
        if path.contains("tools") {
            collect(path, one, found);
        }
    }
}

fn settings() -> BTreeMap<String, Value> {
    flat(&Registry::default().schema())
}

/// The items of a list, which have no key.
fn is_list(key: &str) -> bool {
    [
        "allow_private.NAME",
        "programs.NAME.arguments.NAME",
        "programs.NAME.variables.NAME",
        "approvals.command.NAME",
        "stop.NAME",
        "projects.NAME",
        "betas.NAME",
        "args.NAME",
        "allow.NAME",
        "deny.NAME",
        "serve.endpoints.NAME",
        "oidc.admins.NAME",
        "oidc.models.NAME",
        "oidc.scopes.NAME",
        "oidc.tools.NAME",
        "serve.offer.NAME",
        "serve.tools.NAME",
        "assistants.NAME.tools.NAME",
        "tokens.NAME.tools.NAME",
        "tags.names.NAME",
        "tool_search.always.NAME",
    ]
    .iter()
    .any(|list| key.ends_with(list))
}

/// Keys that are of one kind of provider, and asked for when it is made.
fn is_of_a_kind(key: &str, known: &BTreeSet<String>) -> bool {
    key.starts_with("providers.NAME.") && !known.contains(key)
}

/// A word of JSON Schema, which the reader takes as it is.
fn is_keyword(key: &str) -> bool {
    key.starts_with("web.tools.NAME.parameters.NAME.")
}

#[test]
fn the_schema_has_every_key_of_the_reader_and_no_other() {
    let known: BTreeSet<String> = jackfield_assembly::keys().into_iter().collect();
    let schema = settings();
    let missing: Vec<&String> = known
        .iter()
        .filter(|key| !schema.contains_key(*key) && *key != "providers.NAME.api_key")
        .collect();
    assert!(missing.is_empty(), "the schema lacks {missing:?}");
    let more: Vec<&String> = schema
        .keys()
        .filter(|key| !known.contains(*key) && !key.ends_with(".NAME"))
        .filter(|key| !is_of_a_kind(key, &known) && !is_keyword(key))
        .collect();
    assert!(more.is_empty(), "the reader does not know {more:?}");
}

/// The kinds of values that a schema takes; a number may be whole.
fn kinds(schema: &Value) -> BTreeSet<&str> {
    let mut kinds = BTreeSet::new();
    let types = schema["type"].as_array().into_iter().flatten();
    let named = types.chain([&schema["type"]]).filter_map(Value::as_str);
    kinds.extend(named);
    for value in schema["enum"].as_array().into_iter().flatten() {
        kinds.insert(if value.is_string() {
            "string"
        } else {
            "boolean"
        });
    }
    for one in schema["oneOf"].as_array().into_iter().flatten() {
        kinds.extend(self::kinds(one));
    }
    if kinds.contains("number") {
        kinds.insert("integer");
    }
    kinds
}

/// Whether a text is one of few.
fn is_of_words(schema: &Value) -> bool {
    let one_of = schema["oneOf"].as_array().into_iter().flatten();
    schema["enum"].is_array() || one_of.into_iter().any(is_of_words)
}

#[test]
fn what_the_schema_takes_the_reader_takes_and_the_other_way_round() {
    let known: BTreeSet<String> = jackfield_assembly::keys().into_iter().collect();
    let mut tried = 0;
    for (key, schema) in settings() {
        let kinds = kinds(&schema);
        let is_table = kinds.contains("object") && kinds.len() == 1;
        // A web API and a tool of a set are taken whole, and a keyword of its parameters is whatever JSON Schema says.
        // The path of a token's endpoint is no free name.
        let is_endpoint = key == "serve.tokens.NAME.endpoints.NAME";
        // A target is a name, or a table of its own.
        let is_target = ["routes.NAME.content_filter.", "routes.NAME.targets."]
            .iter()
            .any(|list| key.starts_with(list));
        let is_whole = key.starts_with("web.tools.") || key.starts_with("serve.mcp.");
        let is_part = is_whole || is_list(&key) || is_endpoint || is_target;
        if is_table || is_part || is_of_a_kind(&key, &known) {
            continue;
        }
        let key = key.replace("NAME", "x");
        let takes = |value: &Value| {
            let mut line = format!("{key} = {value}\n");
            // A price is whole, or none.
            for needed in ["prices.x.input", "prices.x.output"] {
                if key.starts_with("prices.") && key != needed {
                    line += &format!("{needed} = 0\n");
                }
            }
            // A certificate has a key.
            for needed in ["serve.tls.certificate", "serve.tls.key"] {
                if key.starts_with("serve.tls.") && key != needed {
                    line += &format!("{needed} = \"gateway.pem\"\n");
                }
            }
            // A provider of sign-ins knows the gateway.
            for (needed, value) in [
                ("serve.oidc.issuer", "https://id.example.com"),
                ("serve.oidc.client_id", "x"),
            ] {
                if key.starts_with("serve.oidc.") && key != needed {
                    line += &format!("{needed} = \"{value}\"\n");
                }
            }
            // A program of people has a command.
            let needed = "own_servers.programs.x.command";
            if key.starts_with("own_servers.programs.") && key != needed {
                line += &format!("{needed} = \"files\"\n");
            }
            // A route leads somewhere.
            if key.starts_with("routes.") && key != "routes.x.targets" {
                line += "routes.x.targets = [\"claude/a\"]\n";
            }
            let world = World::new()
                .with(".config/jackfield/mcp-servers.json", "{}")
                .with_user(&line);
            world.load().map_err(|error| format!("{line}: {error}"))
        };
        let mut good: Vec<Value> = schema["examples"].as_array().cloned().unwrap_or_default();
        good.extend(schema["enum"].as_array().cloned().unwrap_or_default());
        if kinds.contains("boolean") && !schema["enum"].is_array() {
            good.extend([json!(true), json!(false)]);
        }
        assert!(!good.is_empty(), "{key} has no example");
        for value in &good {
            takes(value).unwrap();
        }
        for (kind, value) in [
            ("array", json!([7])),
            ("boolean", json!(true)),
            ("integer", json!(7)),
            ("object", json!({})),
            ("string", json!("?")),
        ] {
            // Which kinds of providers and journals there are is known to the registry alone.
            let is_registered = ["journal.kind", "providers.x.kind"].contains(&&*key);
            let is_of_words = is_of_words(&schema) && !is_registered;
            if !kinds.contains(kind) || (kind == "string" && is_of_words) {
                assert!(takes(&value).is_err(), "{key} = {value} is taken");
                tried += 1;
            }
        }
        if let Some(least) = schema["minimum"].as_i64().filter(|least| *least > i64::MIN) {
            assert!(takes(&json!(least - 1)).is_err(), "{key} has no minimum");
        }
        if let Some(most) = schema["maximum"].as_f64() {
            assert!(takes(&json!(most + 0.5)).is_err(), "{key} has no maximum");
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn what_only_one_kind_of_provider_has_is_taken_by_one() {
    let known: BTreeSet<String> = jackfield_assembly::keys().into_iter().collect();
    let schema = settings();
    let of_kinds = schema.iter().filter(|(key, _)| is_of_a_kind(key, &known));
    let mut tried = 0;
    for (key, schema) in of_kinds {
        let option = key.strip_prefix("providers.NAME.").unwrap();
        let mut values: Vec<Value> = schema["examples"].as_array().cloned().unwrap_or_default();
        values.extend(schema["enum"].as_array().cloned().unwrap_or_default());
        if schema["type"] == "boolean" {
            values.push(json!(true));
        }
        for value in values {
            let taken = [
                "bedrock",
                "claude",
                "claude-code",
                "gemini-vertex",
                "ollama",
                "openai",
            ]
            .iter()
            .any(|kind| {
                let text = format!("[providers.x]\nkind = \"{kind}\"\n{option} = {value}");
                let config = World::new().with_user(text).load().unwrap();
                let environment = Environment::from_iter([
                    ("AWS_REGION", "us-east-1"),
                    ("GOOGLE_CLOUD_PROJECT", "my-project"),
                ]);
                Registry::default().assemble(&config, &environment).is_ok()
            });
            assert!(taken, "{option} = {value}");
            tried += 1;
        }
    }
    assert!(tried > 12, "{tried}");
    let kinds = schema["providers.NAME.kind"]["enum"].as_array().unwrap();
    assert!(kinds.contains(&json!("openai-compatible")), "{kinds:?}");
}

#[test]
fn the_schema_of_servers_has_every_field_of_the_reader_and_no_other() {
    let known: BTreeSet<String> = server_keys().into_iter().collect();
    assert!(known.len() > 30, "{known:?}");
    let schema = flat(&servers_schema());
    let missing: Vec<&String> = known
        .iter()
        .filter(|key| !schema.contains_key(*key))
        .collect();
    assert!(missing.is_empty(), "the schema lacks {missing:?}");
    let more = schema.keys().filter(|key| !known.contains(*key));
    let more: Vec<&String> = more.filter(|key| !key.ends_with("NAME")).collect();
    assert!(more.is_empty(), "the reader does not know {more:?}");
}
