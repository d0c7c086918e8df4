//! What holds, and where it comes from: every value with its origin, and nothing secret among them.

use std::collections::BTreeMap;

use jackfield_assembly::{Config, Explanation, FileState, Flags, searched_files};
use jackfield_domain::note::NoteEffect;
use serde_json::{Value, json};

use crate::world::World;

fn explained(config: &Config) -> BTreeMap<String, Explanation> {
    let all = config.explain().into_iter();
    all.map(|value| (value.key.clone(), value)).collect()
}

/// The value and the origin of a key, with a home of `~`.
#[track_caller]
fn check(world: &World, flags: &Flags, key: &str, value: &Value, origin: &str) {
    let all = explained(&world.load_with(flags).unwrap());
    let found = all.get(key).unwrap_or_else(|| panic!("no {key}"));
    let home = format!("{}/", world.home().display());
    assert_eq!(
        (&found.value, &*found.place.short().replace(&home, "~/")),
        (value, origin),
        "{key}"
    );
}

#[test]
fn every_value_names_where_it_comes_from() {
    let mut world = World::new()
        .with_user("model = \"claude/a\"\n[limits]\nrounds = 0x10\nshown = \"1KiB\"\n[policy.tools]\n\"a/*\" = \"allow\"\n\"b/*\" = \"ask\"\n[settings.response_format]\nschema = {}\n")
        .with_project("[limits]\nshown = 7\n[policy.tools]\n\"a/*\" = \"ask\"\n\"b/*\" = \"deny\"\n");
    world.variables = vec![
        ("JACKFIELD_MODEL", "claude/b"),
        ("JACKFIELD_SYSTEM", "Be brief."),
    ];
    let none = Flags::default();
    let user = "~/.config/jackfield/jackfield.toml";
    let check = |flags: &Flags, key, value: Value, origin: &str| {
        check(&world, flags, key, &value, origin);
    };
    check(&none, "limits.rounds", json!(16), &format!("{user}:3"));
    check(&none, "limits.shown", json!(7), "jackfield.toml:2");
    check(&none, "limits.stored", json!("4MiB"), "default");
    check(&none, "model", json!("claude/b"), "JACKFIELD_MODEL");
    check(
        &none,
        "system.prompt",
        json!("Be brief."),
        "JACKFIELD_SYSTEM",
    );
    check(
        &none,
        "settings.response_format",
        json!({ "schema": {} }),
        &format!("{user}:8"),
    );
    // The user's own word about a tool is weaker than a denial and stronger than a question.
    check(
        &none,
        "policy.tools.\"a/*\"",
        json!("allow"),
        &format!("{user}:6"),
    );
    check(
        &none,
        "policy.tools.\"b/*\"",
        json!("deny"),
        "jackfield.toml:5",
    );
    let flags = Flags {
        deny: vec!["a/*".to_owned()],
        model: Some("claude/c".to_owned()),
        rounds: Some(3),
        strict: Some(Some(NoteEffect::Cost)),
        system: Some(String::new()),
        ..Flags::default()
    };
    check(&flags, "model", json!("claude/c"), "--model");
    check(&flags, "limits.rounds", json!(3), "--max-rounds");
    check(&flags, "settings.strict", json!("cost"), "--strict");
    check(&flags, "system.prompt", json!(""), "--system");
    check(&flags, "policy.tools.\"a/*\"", json!("deny"), "--deny");
}

#[test]
fn defaults_are_what_would_be_written_to_say_the_same() {
    let nothing = World::new().load().unwrap();
    let all = explained(&nothing);
    let lines = all.values().map(|value| {
        // JSON of texts, numbers and lists is TOML.
        format!("{} = {}\n", value.key, value.value)
    });
    let said = World::new().with_user(lines.collect::<String>());
    let said = said.load().unwrap();
    assert_eq!(nothing.options.limits, said.options.limits);
    assert_eq!(nothing.options.model, said.options.model);
    assert_eq!(nothing.options.settings, said.options.settings);
    assert_eq!(nothing.options.strict, said.options.strict);
    assert_eq!(nothing.options.when_unknown, said.options.when_unknown);
    let prompts = [&nothing, &said].map(|config| config.options.system.parts[0].text.to_string());
    assert_eq!(prompts[0], prompts[1]);
    assert!(all.values().all(|value| value.place.short() == "default"));
}

#[test]
fn documented_defaults_are_those_that_hold() {
    let page = include_str!("../../../../docs/configuration.md");
    let all = explained(&World::new().load().unwrap());
    let mut compared = 0;
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let Some((key, rest)) = row.split_once("` | `") else {
            continue;
        };
        let (Some(value), Some((default, _))) = (all.get(key), rest.split_once("` | ")) else {
            continue;
        };
        // Settings have examples in this column.
        if !key.starts_with("settings.") {
            assert_eq!(value.value.to_string(), default, "{key}");
            compared += 1;
        }
    }
    assert!(compared > 14, "{compared}");
}

#[test]
fn secrets_are_hidden_wherever_they_stand() {
    let world = World::new()
        .with_user(
            "network.proxy = \"http://me:pa55word@proxy.example:8080\"\n\
             [providers.claude]\nbase_url = \"https://models.example/v1?key=s3cret\"\napi_key_env = \"MY_KEY\"\n\
             [settings]\nmax_output_tokens = 5\n\
             [settings.extensions.claude]\nheader.x_auth_token = \"s3cret\"\nother = [\"sk-ant-0123456789abcdef\"]\n",
        )
        .with(
            ".config/jackfield/mcp-servers.json",
            r#"{"mcpServers":{"a":{"command":"a","args":["--token","s3cret","--api-key=s3cret","--token","${T}","-v","plain","https://u:s3cret@h/x"],"env":{"K":"s3cret"}}}}"#,
        );
    let config = world.load().unwrap();
    let all = explained(&config);
    let shown = format!("{all:?}");
    for secret in ["pa55word", "s3cret", "sk-ant"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let value = |key: &str| all[key].value.clone();
    assert_eq!(value("network.proxy"), "http://[hidden]@proxy.example:8080");
    assert_eq!(
        value("providers.claude.base_url"),
        "https://models.example/v1?…"
    );
    assert_eq!(value("providers.claude.api_key_env"), "MY_KEY");
    assert_eq!(value("settings.max_output_tokens"), 5);
    let server = config.servers.values().next().unwrap();
    assert_eq!(
        server.shown_command(),
        [
            "a",
            "--token",
            "[hidden]",
            "--api-key=[hidden]",
            "--token",
            "${T}",
            "-v",
            "plain",
            "https://[hidden]@h/x"
        ]
    );
}

#[test]
fn a_key_is_hidden_in_a_path_and_in_a_header_and_a_tool_named_after_one_is_not() {
    let arguments = json!([
        "-H",
        "Authorization: Basic czNjcmV0==",
        "-H",
        "X-Api-Key:s3cret=x",
        "--key",
        "s3cret",
        "--db-pass=s3cret",
        "--url",
        "https://h/sk-ant-0123456789abcdef/v1",
        "--max-tokens=5",
        "--keyboard",
        "us",
        "--header=Cookie: a=s3cret",
        "C:\\tools",
    ]);
    let servers = json!({ "mcpServers": { "a": { "command": "a", "args": arguments } } });
    let world = World::new()
        .with_user(
            "aliases.token = \"claude/x\"\n[policy.tools]\n\"vault/get_token\" = \"deny\"\n\
             [providers.claude]\nbase_url = \"https://models.example/sk-ant-0123456789abcdef/v1\"\n",
        )
        .with(".config/jackfield/mcp-servers.json", servers.to_string());
    let config = world.load().unwrap();
    let all = explained(&config);
    let value = |key: &str| all[key].value.clone();
    assert_eq!(value("policy.tools.\"vault/get_token\""), "deny");
    assert_eq!(value("aliases.token"), "claude/x");
    assert_eq!(value("providers.claude.base_url"), "[hidden]");
    let server = config.servers.values().next().unwrap();
    let shown = server.shown_command();
    let all = shown.join("|");
    for secret in ["s3cret", "czNjcmV0", "sk-ant"] {
        assert!(!all.contains(secret), "{all}");
    }
    for kept in [
        "-H",
        "Authorization:",
        "--db-pass=",
        "--keyboard|us",
        "--max-tokens=5",
        "C:\\tools",
    ] {
        assert!(all.contains(kept), "{kept}: {all}");
    }
}

#[test]
fn places_are_told_with_what_is_there() {
    let world = World::new()
        .with_user("mcp.config = \"other.json\"")
        .with(".config/jackfield/other.json", "{}")
        .with("project/mcp-servers.json", "{}");
    let looked = searched_files(&world.surroundings("project"), &Flags::default());
    let told = |looked: &[jackfield_assembly::SearchedFile]| -> Vec<(String, FileState)> {
        let home = format!("{}/", world.home().display());
        let told = looked.iter();
        told.map(|one| (one.path.display().to_string().replace(&home, ""), one.state))
            .collect()
    };
    use FileState::{Missing, Read, Unused};
    let expected = [
        (".config/jackfield/jackfield.toml", Read),
        (".config/jackfield/mcp-servers.json", Missing),
        ("project/jackfield.toml", Missing),
        ("project/mcp-servers.json", Unused),
        (".config/jackfield/other.json", Read),
    ];
    let expected = expected.map(|(path, state)| (path.to_owned(), state));
    assert_eq!(told(&looked), expected);
    // Where something is wrong, nothing is read.
    let flags = Flags {
        config: Some("gone.toml".into()),
        ..Flags::default()
    };
    let looked = told(&searched_files(&world.surroundings("project"), &flags));
    assert_eq!(looked[0].1, Unused);
    assert_eq!(
        looked.last().unwrap(),
        &("project/gone.toml".to_owned(), Missing)
    );
}
