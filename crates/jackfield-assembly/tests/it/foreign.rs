//! Files of MCP servers that other programs keep, in the shapes that they have (their documentation, 2026-11).

use jackfield_assembly::{Config, Environment, Flags, Registry, ServerStatus, found_servers};

use crate::world::World;

fn own(text: &str) -> World {
    World::new().with(".config/jackfield/mcp-servers.json", text)
}

fn ids(config: &Config) -> Vec<&str> {
    config.servers.keys().map(|id| id.as_str()).collect()
}

/// Reads this text as a file of servers, and gives its servers that are used, and what is left out.
#[track_caller]
fn check(text: &str, servers: &[&str], remarks: &[&str]) -> Config {
    let config = own(text).load().unwrap();
    let used = config.servers.values().filter(|server| server.enabled);
    let used: Vec<&str> = used.map(|server| server.id.as_str()).collect();
    assert_eq!(used, servers);
    let said = config.remarks.iter().map(|remark| {
        let said = remark.to_string();
        let (_, said) = said.split_once("mcp-servers.json").unwrap();
        said.to_owned()
    });
    assert_eq!(said.collect::<Vec<_>>(), remarks);
    config
}

#[test]
fn the_file_of_claude_code_is_read_with_all_that_it_has_besides() {
    let config = check(
        r#"{
  "numStartups": 41, "installMethod": "native", "autoUpdates": false,
  "tipsHistory": {"a": 1, "a": 2}, "userID": "0f", "oauthAccount": {}, "theme": "dark",
  "hasCompletedOnboarding": true, "cachedChangelog": "x",
  "projects": {"/srv/a": {"allowedTools": [], "mcpServers": {}}},
  "mcpServers": {
    "files": {"type": "stdio", "command": "mcp-files", "args": ["/srv"], "env": {}},
    "linear": {"type": "http", "url": "https://mcp.linear.example/mcp", "headers": {"A": "b"}},
    "asana": {"type": "sse", "url": "https://mcp.asana.example/sse"}
  }
}"#,
        &["files", "linear"],
        &[
            ":9: key `mcpServers.asana`: left out: the transport `sse` of 2024-11-05 is not supported; \
             if the server has an address for Streamable HTTP, often `/mcp` instead of `/sse`, set `url` to that, and `type` to `http`",
            ": left out, as they are not known: `numStartups`, `installMethod`, `autoUpdates`, `tipsHistory`, \
             `userID`, `oauthAccount`, `theme`, `hasCompletedOnboarding` and 2 more",
        ],
    );
    let mut servers = config.servers.values();
    assert_eq!(&*servers.next().unwrap().command, "mcp-files");
    let linear = servers.next().unwrap();
    assert_eq!(
        linear.url.as_deref(),
        Some("https://mcp.linear.example/mcp")
    );
    assert_eq!(linear.headers, [("A".into(), "b".into())]);
}

#[test]
fn the_files_of_claude_code_in_a_project_and_of_claude_desktop_are_read() {
    check(
        r#"{"mcpServers": {"db": {"command": "${HOME}/db", "args": [], "env": {"URL": "${DB:-x}"}, "alwaysLoad": true},
            "web": {"url": "https://x.example/mcp"}}}"#,
        &["db"],
        &[
            ":2: key `mcpServers.web`: left out: `web` is the name of the web APIs under [web.tools]",
            ": left out, as they are not known: `mcpServers.db.alwaysLoad`",
        ],
    );
    let config = check(
        r#"{"globalShortcut": "", "preferences": {}, "mcpServers": {"My Files (all)": {"command": "npx", "args": ["-y", "x"]}}}"#,
        &["My-Files--all-"],
        &[
            ":1: key `mcpServers.My Files (all)`: its tools are named after `My-Files--all-`, as names of tools are limited",
            ": left out, as they are not known: `globalShortcut`, `preferences`",
        ],
    );
    let server = config.servers.values().next().unwrap();
    assert_eq!(server.name.as_deref(), Some("My Files (all)"));
}

#[test]
fn the_file_of_cursor_is_read_with_its_comments() {
    let world = own(r#"{
  // mine
  "mcpServers": {
    "remote": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${env:T}"}},
    /* the
       other */
    "local": {"command": "x//y", "args": ["/*", "a\",]",], "env": {"T": "${env:TOKEN}"},},
  },
}"#);
    let config = world.load().unwrap();
    assert_eq!(ids(&config), ["local", "remote"]);
    assert_eq!(config.remarks.len(), 0);
    let mut servers = config.servers.values();
    let (server, remote) = (servers.next().unwrap(), servers.next().unwrap());
    assert_eq!(remote.place.line, Some(4));
    assert_eq!(remote.url.as_deref(), Some("https://x.example/mcp"));
    assert_eq!((&*server.command, server.place.line), ("x//y", Some(7)));
    assert_eq!(
        server
            .arguments
            .iter()
            .map(|one| &**one)
            .collect::<Vec<_>>(),
        ["/*", "a\",]"]
    );
    for (variable, starts) in [("TOKEN", true), ("OTHER", false)] {
        let environment: Environment = [(variable, "1")].into_iter().collect();
        let assembled = Registry::default().assemble(&config, &environment).unwrap();
        let state = assembled.servers.all()[0].state();
        assert_eq!(state == ServerStatus::Stopped, starts, "{state:?}");
        let state = assembled.servers.all()[1].state();
        let ServerStatus::Failed { reason, .. } = state else {
            panic!("{state:?}");
        };
        assert_eq!(
            reason,
            "its `headers.Authorization` cannot be filled in: the environment variable T is not set"
        );
    }
}

#[test]
fn the_file_of_cline_is_read_and_its_numbers_without_units_are_not() {
    check(
        r#"{"mcpServers": {
  "files": {"command": "x", "disabled": false, "autoApprove": ["read"], "alwaysAllow": [], "timeout": 60},
  "off": {"command": "y", "disabled": true, "autoApprove": []},
  "hosted": {"type": "streamableHttp", "url": "https://x.example", "disabled": false, "timeout": 60},
  "hosted-off": {"type": "streamableHttp", "url": "https://x.example", "disabled": true}
}}"#,
        &["files", "hosted"],
        &[
            ":2: key `mcpServers.files.timeout`: left out: it is not known of what unit this is",
            ":4: key `mcpServers.hosted.timeout`: left out: it is not known of what unit this is",
            ": left out, as they are not known: `mcpServers.files.autoApprove`, `mcpServers.files.alwaysAllow`, \
             `mcpServers.off.autoApprove`",
        ],
    );
}

#[test]
fn a_field_of_a_server_is_named_before_all_else_that_a_file_holds() {
    let root: String = (0..40).map(|n| format!("\"other{n}\": {n},\n")).collect();
    let text = format!(
        r#"{{{root}"mcpServers": {{"a": {{"url": "https://a.example/mcp", "headersHelper": "h",
            "oauth": {{"clientId": 1, "callbackPort": "8123"}}}}}}}}"#
    );
    let config = own(&text).load().unwrap();
    let said: Vec<String> = config.remarks.iter().map(ToString::to_string).collect();
    for (said, expected) in said.iter().zip([
        "key `mcpServers.a.oauth.clientId`: left out: a text in quotes was expected, not a number",
        "key `mcpServers.a.oauth.callbackPort`: left out: the number of a port was expected",
        "left out, as they are not known: `mcpServers.a.headersHelper`, `other0`, ",
    ]) {
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn a_number_without_a_unit_is_told_with_help() {
    let world = own(r#"{"mcpServers": {"a": {"command": "x", "start_timeout": 60}}}"#);
    let config = world.load().unwrap();
    assert_eq!(
        config.remarks[0].help.as_deref(),
        Some("write it as \"60s\"")
    );
}

#[test]
fn the_file_of_vs_code_is_read_but_for_what_only_it_can_ask_for() {
    let config = check(
        r#"{
  "inputs": [{"type": "promptString", "id": "key", "password": true}],
  "servers": {
    "plain": {"type": "stdio", "command": "x", "env": {"N": 1, "B": true, "NONE": null}, "dev": {"watch": "src/**"}},
    "asks": {"command": "x", "args": ["a"], "env": {"KEY": "${input:key}"}},
    "asks-too": {"command": "x", "args": ["--key=${input:key}"]},
    "file": {"command": "x", "envFile": "${workspaceFolder}/.env"},
    "hosted": {"type": "http", "url": "https://x.example/mcp"}
  }
}"#,
        &["hosted", "plain"],
        &[
            ":5: key `servers.asks`: left out: `${input:key}` is not asked for yet: write a variable of the environment, `${NAME}`, in its place",
            ":6: key `servers.asks-too`: left out: `${input:key}` is not asked for yet: write a variable of the environment, `${NAME}`, in its place",
            ":7: key `servers.file`: left out: its `envFile` is not read yet: give it the variables in `env`",
            ": left out, as they are not known: `servers.plain.dev`, `inputs`",
        ],
    );
    let plain = config.servers.values().nth(1).unwrap();
    let variables = plain.environment.iter();
    let variables: Vec<(&str, &str)> = variables.map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(variables, [("N", "1"), ("B", "true")]);
}

#[test]
fn the_file_of_windsurf_is_read_and_what_it_disables_is_denied() {
    let config = check(
        r#"{"mcpServers": {"figma": {"serverUrl": "https://x.example/mcp"},
            "files": {"command": "x", "disabledTools": ["delete"], "tools": {"deny": ["move"]}},
            "some": {"command": "x", "includeTools": ["read"], "excludeTools": ["write"]}}}"#,
        &["figma", "files", "some"],
        &[],
    );
    let mut servers = config.servers.values();
    let figma = servers.next().unwrap();
    assert_eq!(figma.url.as_deref(), Some("https://x.example/mcp"));
    let (files, some) = (servers.next().unwrap(), servers.next().unwrap());
    assert!(files.tools.admit("read") && !files.tools.admit("delete"));
    assert!(!files.tools.admit("move"));
    assert!(some.tools.admit("read") && !some.tools.admit("write") && !some.tools.admit("list"));
}

#[test]
fn names_that_come_to_the_same_leave_the_second_out() {
    check(
        r#"{"mcpServers": {"a-b": {"command": "x"}, "a b": {"command": "y"}, "天气": {"command": "z"}}}"#,
        &["a-b"],
        &[
            ":1: key `mcpServers.a b`: its tools are named after `a-b`, as names of tools are limited",
            ":1: key `mcpServers.a b`: left out: there is a server `a-b` in this file already",
            ":1: key `mcpServers.天气`: left out: its name has no letter or digit of A-Z, a-z and 0-9, and names of tools have no others",
        ],
    );
}

#[test]
fn what_needs_no_tools_reads_no_file_of_servers() {
    let flags = || Flags {
        without_servers: true,
        ..Flags::default()
    };
    let broken = own("{").with_user("[approvals]\ntool = 'a/may_it_run'");
    assert!(broken.load().is_err());
    let config = broken.load_with(&flags()).unwrap();
    assert!(config.servers.is_empty() && config.remarks.is_empty());
    let environment: Environment = [("", "")].into_iter().collect();
    assert!(Registry::default().assemble(&config, &environment).is_ok());
    let gone = World::new().with_user("mcp.config = 'gone.json'");
    assert!(gone.load_with(&flags()).is_ok());
}

#[test]
fn a_file_of_another_program_can_be_named_as_it_is() {
    let world = World::new().with(
        "project/.vscode/mcp.json",
        "{\n// mine\n\"servers\": {\"a\": {\"command\": \"x\", \"dev\": {}}, \"b\": {\"url\": \"https://x.example\"}}}",
    );
    let found = found_servers(&world.surroundings("project"));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].owner, &found[0].unfit),
        ("VS Code, of this project", &None)
    );
    assert_eq!(found[0].servers, ["a", "b"]);
}

#[test]
fn servers_with_an_address_are_told_from_those_with_a_command() {
    let config = check(
        r#"{"mcpServers": {
  "gemini": {"httpUrl": "https://x.example/mcp", "headers": {"N": 1, "NONE": null}},
  "typed": {"type": "streamable-http", "url": "${BASE}/mcp", "env": {"A": "b"}, "args": [], "trust": true},
  "both": {"type": "stdio", "url": "https://x.example", "command": "x", "headers": {"A": "b"}},
  "asks": {"url": "https://x.example", "headers": {"A": "Bearer ${input:key}"}},
  "socket": {"type": "ws", "url": "ws://x.example"}
}}"#,
        &["both", "gemini", "typed"],
        &[
            ":3: key `mcpServers.typed.env`: left out: only a server with a `command` has this",
            ":4: key `mcpServers.both.headers`: left out: only a server with a `url` has this",
            ":5: key `mcpServers.asks`: left out: `${input:key}` is not asked for yet: write a variable of the environment, `${NAME}`, in its place",
            ":6: key `mcpServers.socket`: left out: servers are not reached over `ws`, but over `stdio` and `http`",
        ],
    );
    let both = config.servers.values().next().unwrap();
    assert_eq!((&*both.command, &both.url), ("x", &None));
    let gemini = config.servers.values().nth(1).unwrap();
    assert_eq!(gemini.headers, [("N".into(), "1".into())]);
}
