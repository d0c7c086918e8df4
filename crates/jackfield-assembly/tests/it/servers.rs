//! MCP servers: both shapes of the file, where it is looked for, and who may start commands.

use std::path::PathBuf;

use jackfield_assembly::{Config, Environment, Flags, Registry, ServerStatus, ServerToolbox};

use crate::world::{World, lines};

/// Checks what is said of this text as the user's own file of servers.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let world = World::new().with(".config/jackfield/mcp-servers.json", text);
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("~/.config/jackfield/mcp-servers.json{line}"))
        .collect();
    assert_eq!(world.problems(), expected, "{text}");
}

fn own(text: &str) -> World {
    World::new().with(".config/jackfield/mcp-servers.json", text)
}

fn ids(config: &Config) -> Vec<&str> {
    config.servers.keys().map(|id| id.as_str()).collect()
}

#[test]
fn both_shapes_say_the_same() {
    let list = own(
        r#"{"servers": [{"id": "weather", "name": "Weather", "description": "Forecasts",
            "enabled": true, "transport": "stdio", "command": "run", "args": ["-v"],
            "env": {"TOKEN": "${TOKEN}"}, "cwd": "~/x", "timeout": "10s", "start_timeout": "5s",
            "trust": true, "lazy": true, "prefix": "w_", "tools": {"allow": ["get_*"], "deny": ["get_x"]}}]}"#,
    );
    let table = own(
        r#"{"mcpServers": {"weather": {"name": "Weather", "description": "Forecasts",
            "disabled": false, "type": "stdio", "command": "run", "args": ["-v"],
            "env": {"TOKEN": "${TOKEN}"}, "cwd": "~/x", "timeout": "10s", "start_timeout": "5s",
            "trust": true, "lazy": true, "prefix": "w_", "tools": {"allow": ["get_*"], "deny": ["get_x"]}}}}"#,
    );
    let all = |world: &World| {
        let config = world.load().unwrap();
        let weather = config.servers.values().next().unwrap();
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            weather.id,
            weather.name,
            weather.description,
            weather.enabled,
            weather.command,
            weather.arguments,
            weather.environment,
            weather.folder,
            weather.timeout,
            weather.start_timeout,
            weather.trusted,
            weather.lazy,
            weather.prefix,
            weather.tools,
            config.servers.len()
        )
    };
    assert_eq!(all(&list), all(&table));
    assert!(all(&list).starts_with("weather Some(\"Weather\") Some(\"Forecasts\") true \"run\""));
}

#[test]
fn how_to_sign_in_is_read_in_our_form_and_in_that_of_others() {
    let ours = own(
        r#"{"mcpServers": {"a": {"url": "https://a.example/mcp", "oauth": {
            "client_id": "one", "client_secret": "${SECRET}", "scope": "read write",
            "redirect_uri": "http://127.0.0.1:8765/callback", "allow_private": ["10.0.0.0/8"],
            "client_metadata_url": "https://me.example/client.json"}}}}"#,
    );
    let config = ours.load().unwrap();
    let oauth = &config.servers.values().next().unwrap().oauth;
    assert_eq!(
        format!("{oauth:?}"),
        "OAuthEntry { allow_private: [\"10.0.0.0/8\"], client_id: Some(\"one\"), \
         client_metadata_url: Some(\"https://me.example/client.json\"), \
         client_secret: Some(\"${SECRET}\"), \
         redirect_uri: Some(\"http://127.0.0.1:8765/callback\"), scope: Some(\"read write\") }"
    );
    let others = own(r#"{"mcpServers": {"a": {"url": "https://a.example/mcp",
            "oauth": {"clientId": "one", "callbackPort": 8080, "authServerMetadataUrl": "x"}}}}"#);
    let config = others.load().unwrap();
    let oauth = &config.servers.values().next().unwrap().oauth;
    assert_eq!(oauth.client_id.as_deref(), Some("one"));
    assert_eq!(
        oauth.redirect_uri.as_deref(),
        Some("http://localhost:8080/callback")
    );
    check(
        r#"{"mcpServers": {"a": {"url": "https://a.example/mcp", "oauth": {"client_idd": "x", "allow_private": ["?"]}}}}"#,
        &[
            ":1: key `mcpServers.a.oauth.allow_private`: `?` is no network such as \"10.0.0.0/8\", no address, and no name such as \"localhost\" or \"*.internal.example\"",
            ":1: key `mcpServers.a.oauth.client_idd`: unknown; did you mean `client_id`?",
        ],
    );
}

#[test]
fn what_is_wrong_is_told_with_its_key_all_at_once() {
    check(
        "{\n\"servers\": [,],\n}",
        &[":2: this is not JSON: expected value"],
    );
    check(
        r#"{"mcpServer": {}}"#,
        &[":1: key `mcpServer`: unknown; did you mean `mcpServers`?"],
    );
    check(
        r#"{"mcpServers": {"a": {"comand": "x"}, "b": {"command": "x", "env": {"N": []}, "timeout": "30"}}}"#,
        &[
            ":1: key `mcpServers.a.command`: missing: the program that is the server, or its `url`",
            ":1: key `mcpServers.a.comand`: unknown; did you mean `command`?",
            ":1: key `mcpServers.b.env.N`: a text in quotes was expected, not a list",
            ":1: key `mcpServers.b.timeout`: `30` is not a length of time such as \"30s\" or \"2m\": time unit needed, for example 30sec or 30ms",
        ],
    );
    check(
        r#"{"servers": [{"command": "x"}, {"id": "a b", "command": "x"}, {"id": "builtin", "command": "x"}]}"#,
        &[
            ":1: key `servers[0].id`: missing: each server of a list has an id",
            ":1: key `servers[1].id`: `a b` is not a valid toolbox id: 1 to 64 characters of A-Z, a-z, 0-9, `_` and `-` are",
            ":1: key `servers[2].id`: `builtin` is the name of the built-in tools",
        ],
    );
    check(
        r#"{"servers": [{"id": "a", "command": "x"}], "mcpServers": {"a": {"command": "x"}}}"#,
        &[":1: key `mcpServers.a`: there is a server `a` in this file already"],
    );
    check(
        r#"{"servers": 7}"#,
        &[":1: key `servers`: an object was expected, not a number"],
    );
    check(
        r#"{"mcpServers": {"a": {"command": "x", "prefix": "a/", "tools": {"alow": []}, "start_timeout": "1h"}}}"#,
        &[
            ":1: key `mcpServers.a.prefix`: a prefix has at most 32 letters, digits, `_` and `-`",
            ":1: key `mcpServers.a.start_timeout`: this must be two minutes at most",
            ":1: key `mcpServers.a.tools.alow`: unknown; did you mean `allow`?",
        ],
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    check(
        r#"{
  "mcpServers": {
    "a": {
      "comand": "x",
      "env": {
        "N":
          []
      }
    },
    "b.c": {"command": ""}
  },
  "servers": [
    {"id": "d", "command": "x"},
    {
      "command": "x",
      "args": ["a",
               7]
    }
  ]
}"#,
        &[
            ":14: key `servers[1].id`: missing: each server of a list has an id",
            ":16: key `servers[1].args`: a text in quotes was expected, not a number",
            ":3: key `mcpServers.a.command`: missing: the program that is the server, or its `url`",
            ":7: key `mcpServers.a.env.N`: a text in quotes was expected, not a list",
            ":4: key `mcpServers.a.comand`: unknown; did you mean `command`?",
            ":10: key `mcpServers.b.c.command`: this must not be empty",
        ],
    );
}

#[test]
fn what_is_told_twice_is_wrong() {
    check(
        r#"{
  "mcpServers": {
    "a": {"command": "x", "env": {"T": "1", "T": "2"}},
    "b": {"command": "x",
          "command": "y"},
    "a": {"command": "z"}
  },
  "mcpServers": {}
}"#,
        &[
            ":3: key `mcpServers.a.env.T`: this is here twice: the first one stands in line 3",
            ":5: key `mcpServers.b.command`: this is here twice: the first one stands in line 4",
            ":6: key `mcpServers.a`: this is here twice: the first one stands in line 3",
            ":8: key `mcpServers`: this is here twice: the first one stands in line 2",
        ],
    );
    check(
        "{\"servers\": [{\"id\": \"a\", \"command\": \"x\"},\n{\"id\": \"a\", \"command\": \"x\"}]}",
        &[":2: key `servers[1]`: there is a server `a` in this file already"],
    );
}

#[test]
fn bombs_and_odd_bytes_are_told_and_a_byte_order_mark_is_none_of_them() {
    let bomb = format!("{{\"servers\":\n{}", "[".repeat(500_000));
    check(&bomb, &[":2: this is not JSON: recursion limit exceeded"]);
    check("", &[":1: this is not JSON: EOF while parsing a value"]);
    let marked = own("\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    assert_eq!(ids(&marked.load().unwrap()), ["a"]);
    // Whatever its size, no more of it is read than a file of servers can have.
    let large = own(&format!(
        "{{\"servers\": [], \"x\": \"{}\"}}",
        "x".repeat(16 << 20)
    ));
    let error = large.load().unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    assert!(
        cause.is_some_and(|cause| cause.contains("larger than")),
        "{error}"
    );
    // Deep enough to be read, and read once for each level that is looked at.
    let deep = format!("{{\"servers\": [{}{}]}}", "[".repeat(120), "]".repeat(120));
    check(
        &deep,
        &[":1: key `servers[0]`: an object was expected, not a list"],
    );
}

#[test]
fn a_transport_that_is_a_slip_is_wrong() {
    check(
        r#"{"servers": [{"id": "a", "transport": "stdoi", "command": "x"}]}"#,
        &[":1: key `servers[0].transport`: `stdoi` is not a transport; did you mean `stdio`?"],
    );
}

#[test]
fn the_users_file_the_named_file_and_the_flag_are_read_each_in_its_place() {
    let a = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let b = r#"{"mcpServers": {"b": {"command": "x"}}}"#;
    assert_eq!(ids(&own(a).load().unwrap()), ["a"]);
    // What the user's file names is read in place of what stands beside it.
    let named = own(a)
        .with("elsewhere/b.json", b)
        .with_user("mcp.config = '~/elsewhere/b.json'");
    assert_eq!(ids(&named.load().unwrap()), ["b"]);
    let relative = World::new()
        .with(".config/jackfield/b.json", b)
        .with_user("mcp.config = 'b.json'");
    assert_eq!(ids(&relative.load().unwrap()), ["b"]);
    // The flag is read in place of everything, and is relative to the working directory.
    let flags = Flags {
        mcp_config: Some(PathBuf::from("mine.json")),
        ..Flags::default()
    };
    let flagged = own(a).with("project/mine.json", b);
    assert_eq!(ids(&flagged.load_with(&flags).unwrap()), ["b"]);
    // A configuration file that is named is read alone.
    let flags = Flags {
        config: Some(PathBuf::from("mine.toml")),
        ..Flags::default()
    };
    let alone = own(a).with("project/mine.toml", "");
    assert!(alone.load_with(&flags).unwrap().servers.is_empty());
    let gone = World::new().with_user("mcp.config = 'gone.json'");
    assert!(gone.load().unwrap_err().to_string().contains("gone.json"));
}

#[test]
fn what_was_merely_found_starts_no_command() {
    let servers = r#"{"mcpServers": {"a": {"command": "x"}}}"#;
    let found = World::new().with("project/mcp-servers.json", servers);
    let config = found.load().unwrap();
    assert!(config.servers.is_empty());
    assert_eq!(config.remarks.len(), 1);
    assert_eq!(
        config.remarks[0].to_string(),
        "mcp-servers.json: not used: a file that was merely found does not start commands"
    );
    assert_eq!(
        config.remarks[0].help.as_deref(),
        Some(
            "name it with `--mcp-config mcp-servers.json`, or add its folder to `trusted_projects` in your own file"
        )
    );
    let pointing = World::new()
        .with("project/servers.json", servers)
        .with_project("mcp.config = 'servers.json'");
    assert_eq!(
        pointing.problems(),
        [
            "jackfield.toml:1: key `mcp.config`: a file that was merely found does not start commands"
        ]
    );
    for trusted in [found, pointing] {
        let trusted = trusted.with_user("trusted_projects = ['~/project']");
        let config = trusted.load().unwrap();
        assert_eq!(ids(&config), ["a"]);
        assert!(config.remarks.is_empty());
    }
    // The name makes a file the user's choice, wherever it is.
    let world = World::new().with("project/mcp-servers.json", servers);
    let flags = Flags {
        mcp_config: Some(PathBuf::from("mcp-servers.json")),
        ..Flags::default()
    };
    let config = world.load_with(&flags).unwrap();
    assert_eq!((ids(&config), config.remarks.len()), (vec!["a"], 0));
    // Even a broken one is not read.
    let broken = World::new().with("project/mcp-servers.json", "{");
    assert!(broken.load().unwrap().servers.is_empty());
    let trusted = broken.with_user("trusted_projects = ['~/project']");
    assert!(lines(&trusted.load().unwrap_err(), &trusted.home())[0].contains("not JSON"));
}

#[test]
fn a_trusted_project_takes_the_place_of_the_users_server_of_the_same_id() {
    let world = own(r#"{"mcpServers": {"a": {"command": "mine"}, "b": {"command": "mine"}}}"#)
        .with(
            "project/mcp-servers.json",
            r#"{"mcpServers": {"a": {"command": "theirs"}}}"#,
        )
        .with_user("trusted_projects = ['~/project']");
    let config = world.load().unwrap();
    let commands: Vec<&str> = config.servers.values().map(|one| &*one.command).collect();
    assert_eq!(commands, ["theirs", "mine"]);
}

/// The servers of this table, with these variables.
fn servers(table: &str, variables: &[(&'static str, &'static str)]) -> Vec<ServerToolbox> {
    let config = own(&format!("{{\"mcpServers\": {table}}}")).load().unwrap();
    let environment: Environment = variables.iter().copied().collect();
    Registry::default()
        .assemble(&config, &environment)
        .unwrap()
        .servers
        .all()
}

#[test]
fn variables_are_filled_in_and_a_missing_one_takes_only_its_server_out() {
    let reason = |table: &str, variables| {
        let state = servers(table, variables).remove(0).state();
        if let ServerStatus::Failed { reason, .. } = state {
            Some(reason)
        } else {
            None
        }
    };
    for (text, variables, expected) in [
        ("plain", &[] as &[_], None),
        ("${A}", &[("A", "1")], None),
        ("${A:-x}", &[], None),
        ("$${A}", &[], None),
        ("$A", &[], None),
        ("${A}", &[], Some("the environment variable A is not set")),
        (
            "${A}",
            &[("A", "")],
            Some("the environment variable A is empty"),
        ),
        (
            "${A B}",
            &[],
            Some("`${A B}` names no environment variable; write `$${` where `${` itself is meant"),
        ),
        (
            "x${A",
            &[],
            Some("a `${` in it has no `}`; write `$${` where `${` itself is meant"),
        ),
    ] {
        for (field, what) in [
            (format!(r#""command": "{text}""#), "command"),
            (format!(r#""command": "x", "args": ["{text}"]"#), "args"),
            (format!(r#""command": "x", "cwd": "{text}""#), "cwd"),
            (
                format!(r#""command": "x", "env": {{"N": "{text}"}}"#),
                "env.N",
            ),
        ] {
            let expected = expected.map(|why| format!("its `{what}` cannot be filled in: {why}"));
            let table = format!(r#"{{"a": {{{field}}}}}"#);
            assert_eq!(reason(&table, variables), expected, "{table}");
        }
    }
    let all = servers(
        r#"{"a": {"command": "${GONE}"}, "b": {"command": "x"}, "c": {"command": "${GONE}", "enabled": false}}"#,
        &[],
    );
    let states: Vec<ServerStatus> = all.iter().map(ServerToolbox::state).collect();
    assert!(matches!(&states[0], ServerStatus::Failed { advice, .. }
        if advice.contains("mcp-servers.json")));
    assert_eq!(states[1..], [ServerStatus::Stopped, ServerStatus::Off]);
}

#[tokio::test]
async fn a_server_that_lacks_a_variable_is_told_of_with_the_tools_of_the_others() {
    let config = own(r#"{"mcpServers": {"a": {"command": "${GONE}"}}}"#)
        .load()
        .unwrap();
    let environment: Environment = [("ANTHROPIC_API_KEY", "x")].into_iter().collect();
    let assembled = Registry::default().assemble(&config, &environment).unwrap();
    let offered = assembled.engine.tools(&assembled.options).await;
    assert!(offered.catalog.tool("calculator").is_some());
    assert_eq!(offered.problems.len(), 1);
    let message = &offered.problems[0].message;
    assert!(
        message.contains("the environment variable GONE is not set"),
        "{message}"
    );
}

#[test]
fn what_is_in_variables_is_not_shown() {
    let config =
        own(r#"{"mcpServers": {"a": {"command": "x", "env": {"T": "topsecret"}}}}"#).load();
    assert!(!format!("{config:?}").contains("topsecret"));
}

#[test]
fn roots_are_a_list_of_folders_and_uris() {
    let world =
        own(r#"{"mcpServers": {"a": {"command": "true", "roots": ["docs", "file:///srv/"]}}}"#);
    let config = world.load().unwrap();
    let roots = &config.servers.values().next().unwrap().roots;
    assert_eq!(
        roots.iter().map(|root| &**root).collect::<Vec<_>>(),
        ["docs", "file:///srv/"]
    );
    check(
        r#"{"mcpServers": {"a": {"command": "x", "roots": "docs"}}}"#,
        &[":1: key `mcpServers.a.roots`: a list of texts was expected, not a text"],
    );
}
