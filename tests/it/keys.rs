//! Keys in the keyring, and the questions of `jackfield setup`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use tempfile::TempDir;

use crate::harness::{Jackfield, KEY, Size, jackfield, kept};

/// A keyring of files, behind a program that takes the arguments of `secret-tool`.
pub(crate) struct FileKeyring(TempDir);

impl FileKeyring {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let program = folder.path().join("secret-tool");
        let keys = folder.path().display();
        let text = format!(
            "#!/bin/sh\nfor provider; do :; done\nfile=\"{keys}/$provider\"\ncase \"$1\" in\n\
             store) cat > \"$file\" ;;\nlookup) [ -f \"$file\" ] && cat \"$file\" ;;\n\
             clear) rm \"$file\" ;;\nesac\n"
        );
        fs::write(&program, text).expect("the folder can be written");
        let mode = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&program, mode).expect("the program can be run");
        Self(folder)
    }

    pub(crate) fn key(&self, provider: &str) -> Option<String> {
        fs::read_to_string(self.0.path().join(provider)).ok()
    }

    /// Has this keyring, and no key in the environment.
    pub(crate) fn of(&self, run: Jackfield) -> Jackfield {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.0.path().display());
        without_key(run).env("PATH", path)
    }
}

fn without_key(run: Jackfield) -> Jackfield {
    run.env("ANTHROPIC_API_KEY", "")
}

fn file_of(home: &Path) -> PathBuf {
    home.join(".config/jackfield/jackfield.toml")
}

fn config_of(home: &Path) -> String {
    fs::read_to_string(file_of(home)).unwrap_or_default()
}

#[tokio::test]
async fn a_key_is_used_from_the_keyring_and_removed_from_it() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let keyring = FileKeyring::new();
    let config = tempfile::tempdir().expect("a folder can be made");
    let file = config.path().join("jackfield.toml");
    let base_url = format!(
        "providers.claude.base_url = \"{}\" # here\n",
        claude.base_url()
    );
    fs::write(&file, base_url).expect("the folder can be written");
    let run = |arguments: &[&str]| {
        let run = jackfield([]).more(arguments);
        keyring.of(run).env("JACKFIELD_CONFIG", &file)
    };
    let set = run(&["keys", "set", "claude"]).stdin(format!("{KEY}\n"));
    let ran = set.run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(keyring.key("claude").as_deref(), Some(KEY));
    let text = fs::read_to_string(&file).expect("a configuration");
    assert!(
        text.contains("api_key_keyring = true") && text.contains("# here"),
        "{text}"
    );
    assert!(!text.contains(KEY), "{text}");
    run(&["ask", "Hi"]).run().await.answers("Hello.\n");
    let ran = run(&["keys", "remove", "claude"]).run().await;
    assert_eq!(
        (ran.code, keyring.key("claude")),
        (Some(0), None),
        "{}",
        ran.err
    );
    let ran = run(&["ask", "Hi"]).run().await;
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    kept(&claude);
}

#[tokio::test]
async fn a_key_is_not_stored_for_an_unknown_provider_or_without_a_keyring() {
    let keyring = FileKeyring::new();
    let set = jackfield(["keys", "set", "cluade"]).stdin(KEY);
    let ran = keyring.of(set).run().await;
    assert_eq!(ran.code, Some(2));
    ran.says("did you mean `claude`?");
    let set = keyring.of(jackfield(["keys", "set", "claude"]).stdin("two words"));
    let ran = set.run().await;
    assert_eq!((ran.code, keyring.key("claude")), (Some(2), None));
    let odd = jackfield(["keys", "set", "a\"b"]).configured("[providers.'a\"b']\nkind = 'claude'");
    let ran = keyring.of(odd.stdin(KEY)).run().await;
    assert_eq!(
        (ran.code, keyring.key("a\"b")),
        (Some(3), None),
        "{}",
        ran.err
    );
    ran.says("may misread");
    let set = jackfield(["keys", "set", "claude"]).stdin(KEY);
    let ran = set.env("PATH", "/nowhere").run().await;
    assert_eq!(ran.code, Some(3));
    ran.says("the keyring cannot be used");
    ran.says("api_key_file");
}

#[tokio::test]
async fn the_setup_asks_for_provider_key_and_model_and_tries_them() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let keyring = FileKeyring::new();
    let setup = keyring.of(jackfield(["setup"]).at(&claude.base_url()));
    let mut terminal = setup.at_terminal(Size(60, 100));
    terminal.shows("Which provider?").await;
    terminal.shows("groq: needs a key").await;
    terminal.line("nothing").await;
    terminal.shows("or one of these names").await;
    terminal.line("claude").await;
    terminal.shows("key of claude (shown as stars):").await;
    terminal.line(KEY).await;
    terminal.shows("stored: in the keyring").await;
    terminal.shows("claude answers").await;
    terminal.shows("Which model?").await;
    terminal.line("1").await;
    assert_eq!(terminal.ends().await, Some(0), "{}", terminal.screen());
    let text = config_of(terminal.home());
    assert!(text.contains("model = \"claude/claude-"), "{text}");
    assert!(text.contains("api_key_keyring = true"), "{text}");
    assert_eq!(keyring.key("claude").as_deref(), Some(KEY));
}

#[tokio::test]
async fn without_a_keyring_the_setup_stores_the_key_for_its_user_alone() {
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.")]).await;
    let setup = without_key(jackfield(["setup"]).at(&claude.base_url()));
    let mut terminal = setup.env("PATH", "/nowhere").at_terminal(Size(60, 100));
    terminal.shows("Which provider?").await;
    terminal.line("").await;
    terminal.shows("key of claude (shown as stars):").await;
    terminal.line(KEY).await;
    terminal.shows("claude answers").await;
    terminal.shows("Which model?").await;
    terminal.line("claude-mine").await;
    assert_eq!(terminal.ends().await, Some(0), "{}", terminal.screen());
    let file = file_of(terminal.home()).with_file_name("claude.key");
    let stored = fs::read_to_string(&file).expect("a key");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!((stored.trim_end(), mode & 0o777), (KEY, 0o600));
    let text = config_of(terminal.home());
    assert!(text.contains("model = \"claude/claude-mine\""), "{text}");
}

#[tokio::test]
async fn without_a_terminal_the_setup_names_what_asks_nothing() {
    let ran = jackfield(["setup"]).run().await;
    assert_eq!(ran.code, Some(2));
    ran.says("`jackfield config init` asks none");
}
