//! `jackfield config`, and what is made of the tree of commands: completions and manual pages.

use serde_json::Value;

use crate::process::jackfield;

#[test]
fn what_holds_is_shown_with_its_origin() {
    let ran = jackfield(["config", "show", "--max-rounds", "3"])
        .configured("[limits]\nshown = '64KiB'\n[settings.extensions.claude]\ntoken = 's3cret'\n")
        .env("JACKFIELD_MODEL", "claude/some")
        .run();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for line in [
        "# read: ~/.config/jackfield/jackfield.toml",
        "limits.rounds = 3  # --max-rounds",
        "limits.shown = \"64KiB\"  # ~/.config/jackfield/jackfield.toml:2",
        "limits.stored = \"4MiB\"  # default",
        "model = \"claude/some\"  # JACKFIELD_MODEL",
        "settings.extensions.claude.token = \"[hidden]\"  # ~/.config/jackfield/jackfield.toml:4",
    ] {
        assert!(
            ran.out.lines().any(|shown| shown == line),
            "{line}\n{}",
            ran.out
        );
    }
    assert!(!ran.out.contains("s3cret"));
}

#[test]
fn programs_are_told_the_same() {
    let ran = jackfield(["config", "show", "--json"])
        .configured("limits.rounds = 4")
        .run();
    let shown: Value = serde_json::from_str(&ran.out).unwrap();
    let values = shown["values"].as_array().unwrap();
    let rounds = values.iter().find(|value| value["key"] == "limits.rounds");
    let rounds = rounds.unwrap();
    assert_eq!(rounds["value"], 4);
    assert_eq!(rounds["origin"]["kind"], "file");
    assert_eq!(rounds["origin"]["line"], 1);
    let ran = jackfield(["config", "path", "--json"]).configured("").run();
    let places: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(places[0]["state"], "read", "{places}");
    assert_eq!(places[1]["state"], "missing", "{places}");
}

#[test]
fn a_wrong_file_is_an_error_for_show_and_none_for_path() {
    let ran = jackfield(["config", "show"])
        .configured("nonsense = 1")
        .run();
    assert_eq!(ran.code, Some(3));
    let ran = jackfield(["config", "path"])
        .configured("nonsense = 1")
        .run();
    assert_eq!(ran.code, Some(0));
    let first = ran.out.lines().next().unwrap();
    assert_eq!(
        first,
        "not used   ~/.config/jackfield/jackfield.toml  # your own configuration"
    );
}

#[test]
fn every_shell_gets_its_completions() {
    for (shell, sign) in [
        ("bash", "complete -F _jackfield"),
        ("elvish", "edit:completion:arg-completer[jackfield]"),
        ("fish", "complete -c jackfield"),
        ("powershell", "Register-ArgumentCompleter"),
        ("zsh", "#compdef jackfield"),
    ] {
        let ran = jackfield(["completions", shell]).run();
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        assert!(ran.out.contains(sign), "{shell}");
        assert!(ran.out.contains("max-rounds"), "{shell}");
    }
    assert_eq!(jackfield(["completions", "cmd"]).run().code, Some(2));
}

#[test]
fn every_command_has_its_page() {
    let ran = jackfield(["man", "mcp", "list"]).run();
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("jackfield\\-mcp\\-list"), "{}", ran.out);
    let ran = jackfield(["man", "dance"]).run();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.starts_with("error: there is no command `dance`"),
        "{}",
        ran.err
    );
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("new/man1");
    let ran = jackfield(["man", "--out", inner.to_str().unwrap()]).run();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    for page in ["jackfield.1", "jackfield-ask.1", "jackfield-mcp-list.1"] {
        assert!(inner.join(page).is_file(), "{page}");
    }
    // A link in place of a page is not followed.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    std::fs::remove_file(inner.join("jackfield.1")).unwrap();
    std::os::unix::fs::symlink(&file, inner.join("jackfield.1")).unwrap();
    let ran = jackfield(["man", "--out", inner.to_str().unwrap()]).run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(std::fs::read(&file).unwrap(), b"");
    let ran = jackfield(["man", "--out", file.to_str().unwrap()]).run();
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("cannot be written into"), "{}", ran.err);
}
