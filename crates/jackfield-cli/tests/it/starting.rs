//! What is wrong before anything is asked.

use crate::process::jackfield;

#[test]
fn without_a_key_two_lines_say_what_to_do() {
    let ran = jackfield(["ask", "hello"]).run();
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""));
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        lines[0],
        "error: there is no key for `claude`: ANTHROPIC_API_KEY is not set"
    );
    assert!(
        lines[1].starts_with("help: export ANTHROPIC_API_KEY=..."),
        "{lines:?}"
    );
    assert!(lines[1].contains("jackfield demo"), "{lines:?}");
}

#[test]
fn a_provider_with_a_key_is_named_where_the_chosen_one_has_none() {
    let ran = jackfield(["ask", "-m", "claude/claude-opus-5-5", "hello"])
        .env("OPENAI_API_KEY", "sk-test-key")
        .run();
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.err
            .contains("or ask `openai`, which has a key, with `--model openai/MODEL`"),
        "{}",
        ran.err
    );
    let ran = jackfield(["ask", "-m", "openai/gpt-6-sol", "hello"]).run();
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.err
            .starts_with("error: there is no key for `openai`: OPENAI_API_KEY is not set\n"),
        "{}",
        ran.err
    );
    let page = "(get a key at https://platform.openai.com/api-keys)";
    assert!(ran.err.contains(page), "{}", ran.err);
}

#[test]
fn a_wrong_configuration_is_told_with_file_line_and_key() {
    let ran = jackfield(["ask", "hello"])
        .configured("[limits]\nroundz = 3\nshown = 'big'")
        .run();
    assert_eq!(ran.code, Some(3));
    assert_eq!(
        ran.err,
        "error: ~/.config/jackfield/jackfield.toml:3: key `limits.shown`: `big` is not a size such as \"256KiB\" or \"4MB\"\n\
         error: ~/.config/jackfield/jackfield.toml:2: key `limits.roundz`: unknown; did you mean `rounds`?\n\
         help: `docs/configuration.md` has every key, what it takes, and an example\n"
    );
}

#[test]
fn a_file_that_is_no_toml_or_not_there_is_told() {
    let ran = jackfield(["tools", "list"]).configured("model = \n").run();
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.err.contains("jackfield.toml:1: this is not TOML"),
        "{}",
        ran.err
    );
    let ran = jackfield(["tools", "list", "--config", "gone.toml"]).run();
    assert_eq!(ran.code, Some(3));
    assert!(
        ran.err.contains("gone.toml` cannot be read\n  caused by: ")
            && ran
                .err
                .contains("\nhelp: name a file that is there with `--config`"),
        "{}",
        ran.err
    );
}

#[test]
fn an_unknown_model_is_told_by_the_flag_that_named_it() {
    for (name, meant) in [
        ("opus", "claude/claude-opus-5-5"),
        ("haiku", "claude/claude-haiku-5-5"),
        ("gpt-7", "openai/gpt-7"),
        ("nothing", "claude/nothing"),
    ] {
        let ran = jackfield(["ask", "-m", name, "hello"]).run();
        assert_eq!(ran.code, Some(3));
        assert_eq!(
            ran.err,
            format!(
                "error: --model: `{name}` is neither an alias nor of the form `provider/model`\n\
                 help: write the provider before the model, as in `{meant}`\n"
            )
        );
    }
}

#[test]
fn a_known_model_needs_no_provider_before_it() {
    for name in ["gpt-6-sol", "gpt-5-mini"] {
        let ran = jackfield(["ask", "-m", name, "hello"]).run();
        assert!(
            ran.err.starts_with("error: there is no key for `openai`"),
            "{}",
            ran.err
        );
    }
    // With two of them, it is not known which is meant; in a file, others may be known tomorrow.
    let two =
        "[providers.second]\nkind = \"openai\"\n[prices.\"second/gpt-5\"]\ninput = 1\noutput = 1";
    let ran = jackfield(["ask", "-m", "gpt-5", "hello"])
        .configured(two)
        .run();
    assert!(ran.err.contains("is neither an alias nor"), "{}", ran.err);
    let ran = jackfield(["ask", "hello"])
        .configured("model = \"gpt-6-sol\"")
        .run();
    assert!(
        ran.err
            .contains("help: write the provider before the model, as in `openai/gpt-6-sol`"),
        "{}",
        ran.err
    );
}

#[test]
fn the_version_is_a_command_too() {
    let [command, flag] = ["version", "--version"].map(|word| jackfield([word]).run());
    assert_eq!((command.code, command.err.as_str()), (Some(0), ""));
    assert_eq!(command.out, flag.out);
}

#[cfg(feature = "serve")]
#[test]
fn an_address_to_listen_on_that_is_none_is_told() {
    let ran = jackfield(["serve", "--bind", "example.com"]).run();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err
            .contains("such as \"127.0.0.1:8350\" or \"localhost:8350\""),
        "{}",
        ran.err
    );
}

#[test]
fn what_is_no_text_is_told_with_what_to_do() {
    for (bytes, help) in [
        (
            &b"PK\x03\x04\xff\xff"[..],
            "an archive or an Office document",
        ),
        (b"\x1f\x8b\xff", "gunzip -c"),
        (b"\xff\xfea\0", "iconv -f UTF-16"),
        (b"\0\xff", "this is no text"),
        (b"caf\xe9", "iconv -f ISO-8859-1"),
    ] {
        let ran = jackfield(["ask", "--file", "../a", "?"])
            .in_home("a", bytes)
            .run();
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains(help), "{help}: {}", ran.err);
        let piped = jackfield(["ask", "-"]).stdin(bytes).run();
        assert!(piped.err.contains(help), "{help}: {}", piped.err);
    }
    let ran = jackfield(["ask", "--file", "..", "?"]).run();
    assert!(
        ran.err.starts_with(
            "error: `..` is a folder, and only files can be sent\nhelp: name the files"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn a_question_that_is_none_is_told() {
    for run in [
        jackfield(["ask"]),
        jackfield(["ask", "  "]),
        jackfield(["ask"]).stdin("\n"),
    ] {
        let ran = run.run();
        assert_eq!(ran.code, Some(2));
        assert!(
            ran.err.starts_with("error: there is no question\nhelp: "),
            "{}",
            ran.err
        );
    }
    let ran = jackfield(["ask", "-"]).stdin(b"caf\xe9").run();
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err
            .starts_with("error: standard input is not UTF-8: byte 3"),
        "{}",
        ran.err
    );
}

#[test]
fn what_clap_does_not_know_is_a_wrong_command_line() {
    for arguments in [
        ["ask", "--nonsense"],
        ["tools", "dance"],
        ["ask", "--max-rounds=0"],
    ] {
        assert_eq!(jackfield(arguments).run().code, Some(2), "{arguments:?}");
    }
}

#[test]
fn the_log_is_silent_until_it_is_asked_for() {
    let ran = jackfield(["tools", "call", "calculator", "expression=1+1"]).run();
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("2\n", ""));
    let ran = jackfield(["demo", "1+1"])
        .env("JACKFIELD_LOG", "trace")
        .run();
    assert!(ran.err.lines().count() > 10, "{}", ran.err);
    assert!(!ran.err.contains("opens-nothing"), "{}", ran.err);
}
