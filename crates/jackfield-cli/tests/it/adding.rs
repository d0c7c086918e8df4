//! `jackfield mcp add`, `remove` and `import`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::{Ran, jackfield};

/// A folder of configuration that outlasts a run.
struct Machine(TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("jackfield/mcp-servers.json")
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.0.path().join("jackfield")).unwrap();
        fs::write(self.0.path().join("jackfield").join(name), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    #[track_caller]
    fn run<const N: usize>(&self, arguments: [&str; N], code: i32, says: &str) -> Ran {
        let run = jackfield(arguments).env("XDG_CONFIG_HOME", self.0.path().to_str().unwrap());
        let ran = run.run();
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(ran.err.contains(says), "{}", ran.err);
        ran
    }
}

#[test]
fn a_server_is_added_works_and_is_removed() {
    let machine = Machine::new();
    let own = env!("CARGO_BIN_EXE_jackfield");
    machine.run(
        [
            "mcp",
            "add",
            "box",
            "--trust",
            "--env",
            "A=b=c",
            "--",
            own,
            "mcp",
            "serve",
            "--no-config",
        ],
        0,
        "added: box, in ",
    );
    let entry = json!({ "command": own, "args": ["mcp", "serve", "--no-config"], "env": { "A": "b=c" }, "trust": true });
    let file: Value = serde_json::from_str(&machine.text()).unwrap();
    assert_eq!(file, json!({ "mcpServers": { "box": entry } }));
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &fs::metadata(machine.file()).unwrap().permissions(),
        );
        assert_eq!(mode & 0o777, 0o600);
    }
    let listed = machine.run(["mcp", "list"], 0, "");
    assert!(listed.out.starts_with("box  ready"), "{}", listed.out);
    machine.run(
        ["mcp", "add", "box", "--", "other"],
        2,
        "there is a server `box` in",
    );
    machine.run(
        ["mcp", "add", "box", "--force", "--", "other"],
        0,
        "added: box",
    );
    assert!(machine.text().contains("\"other\""), "{}", machine.text());
    machine.run(["mcp", "remove", "box"], 0, "removed: box");
    machine.run(["mcp", "remove", "box"], 2, "there is no server `box`");
}

#[test]
fn a_well_known_server_needs_a_name_only() {
    let machine = Machine::new();
    machine.run(
        ["mcp", "add", "time"],
        0,
        "there is no program `uvx` in PATH; it comes with uv",
    );
    machine.run(
        ["mcp", "add", "filesystem", "..", "/"],
        0,
        "`npx` in PATH; it comes with Node.js",
    );
    machine.run(["mcp", "add", "git", "/"], 0, "added: git");
    machine.run(
        ["mcp", "add", "git", "/", "/", "--force"],
        2,
        "`git` takes one repository",
    );
    machine.run(
        ["mcp", "add", "filesystem", "gone", "--force"],
        2,
        "there is no folder `",
    );
    let file: Value = serde_json::from_str(&machine.text()).unwrap();
    let servers = &file["mcpServers"];
    assert_eq!(
        servers["time"],
        json!({ "command": "uvx", "args": ["mcp-server-time"] })
    );
    assert_eq!(
        servers["git"]["args"],
        json!(["mcp-server-git", "--repository", "/"])
    );
    let folders = servers["filesystem"]["args"].as_array().unwrap();
    assert_eq!(
        folders[..2],
        [
            json!("-y"),
            json!("@modelcontextprotocol/server-filesystem")
        ]
    );
    assert!(folders[2].as_str().unwrap().starts_with('/'), "{folders:?}");
    machine.run(
        ["mcp", "add", "filesytem"],
        2,
        "did you mean `filesystem`?\nhelp: give its command after `--`",
    );
    machine.run(
        ["mcp", "add", "builtin", "--", "x"],
        2,
        "is the name of the built-in tools",
    );
    machine.run(
        ["mcp", "add", "x", "y", "--", "z"],
        2,
        "stand behind its command",
    );
}

#[test]
fn what_a_person_wrote_stays_and_what_is_no_json_is_told() {
    let machine = Machine::new();
    machine.write(
        "mcp-servers.json",
        "{\n  // mine\n  \"servers\": {\n    \"a\": { \"command\": \"a\" }, // first\n  },\n}\n",
    );
    machine.run(["mcp", "add", "b", "--", "b"], 0, "added: b");
    let text = machine.text();
    assert!(
        text.contains("// mine") && text.contains("// first"),
        "{text}"
    );
    let listed = machine.run(["config", "show", "--json"], 0, "");
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(
        listed["servers"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    machine.run(["mcp", "remove", "a"], 0, "removed: a");
    assert!(!machine.text().contains("\"a\""), "{}", machine.text());
    machine.write("mcp-servers.json", "{ no JSON");
    machine.run(
        ["mcp", "add", "b", "--", "b"],
        3,
        "cannot be changed\n  caused by: ",
    );
    assert_eq!(machine.text(), "{ no JSON");
    // The configuration names another file.
    machine.write("jackfield.toml", "[mcp]\nconfig = \"others.json\"");
    machine.write("others.json", "");
    machine.run(["mcp", "add", "c", "--", "c"], 0, "/jackfield/others.json");
}

#[test]
fn the_servers_of_another_program_are_taken_over_as_far_as_they_can_be_used() {
    let machine = Machine::new();
    machine.write(
        "mcp-servers.json",
        r#"{"mcpServers":{"here":{"command":"mine"}}}"#,
    );
    machine.write(
        "other.json",
        r#"{"servers":{
            "here": {"command": "theirs"},
            "My Box": {"type": "stdio", "command": "./box", "args": ["-x"], "env": {"KEY": "${env:KEY}"}, "cwd": "work", "disabled": true},
            "far": {"type": "sse", "url": "https://mcp.example/sse"},
            "near": {"type": "http", "url": "https://mcp.example/mcp", "headers": {"A": "${env:KEY}"}, "timeout": 60000,
                "trust": true, "oauth": {"clientId": "me", "callbackPort": 8123}}
        }}"#,
    );
    let other = machine.0.path().join("jackfield/other.json");
    let ran = machine.run(
        ["mcp", "import", other.to_str().unwrap()],
        0,
        "left as they are: here; --force replaces them\nimported: My-Box, near, in ",
    );
    assert!(
        ran.err
            .contains("left out: the transport `sse` of 2024-11-05 is not supported"),
        "{}",
        ran.err
    );
    for left_out in [
        "near.timeout`: left out: it is not known of what unit this is; write it as \"60s\"",
        "near.trust`: left out: whom you trust is not taken over",
    ] {
        assert!(ran.err.contains(left_out), "{}", ran.err);
    }
    let file: Value = serde_json::from_str(&machine.text()).unwrap();
    let base = machine.0.path().join("jackfield").display().to_string();
    assert_eq!(file["mcpServers"]["here"]["command"], "mine");
    assert_eq!(
        file["mcpServers"]["My-Box"],
        json!({
            "command": format!("{base}/./box"), "args": ["-x"], "env": { "KEY": "${env:KEY}" },
            "cwd": format!("{base}/work"), "name": "My Box", "enabled": false,
        })
    );
    assert_eq!(
        file["mcpServers"]["near"],
        json!({
            "type": "http", "url": "https://mcp.example/mcp", "headers": { "A": "${env:KEY}" },
            "oauth": { "client_id": "me", "redirect_uri": "http://localhost:8123/callback" },
        })
    );
    machine.run(
        ["mcp", "import", other.to_str().unwrap(), "far"],
        2,
        "there is no usable server `far`",
    );
    machine.run(
        ["mcp", "import", other.to_str().unwrap(), "here", "--force"],
        0,
        "imported: here",
    );
    assert!(machine.text().contains("theirs"), "{}", machine.text());
    machine.run(
        ["mcp", "import", "gone.json"],
        3,
        "gone.json` cannot be read",
    );
}
