//! Bad input: what a person gives. Nothing is asked of any model.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::harness::{KEY, jackfield};

#[tokio::test]
async fn standard_input_that_is_not_utf_8_is_told_with_its_byte_and_the_way_to_convert_it() {
    for arguments in [["ask", "-"], ["ask", "What is this?"]] {
        let ask = jackfield(arguments).configured("");
        let ran = ask.stdin(b"caf\xe9").run().await;
        ran.fails(2, "standard input is not UTF-8: byte 3", "iconv");
    }
}

#[tokio::test]
async fn standard_input_that_no_model_reads_at_once_is_told() {
    let ask = jackfield(["ask", "-"]).configured("");
    let ran = ask.stdin(vec![b'a'; 10_000_001]).run().await;
    ran.fails(
        2,
        "standard input is larger than 10 MB",
        "cut it, or ask about a part",
    );
}

#[tokio::test]
async fn no_question_is_told_with_an_example() {
    for stdin in ["", " \n"] {
        let ran = jackfield(["ask", "-"])
            .configured("")
            .stdin(stdin)
            .run()
            .await;
        ran.fails(2, "there is no question", "jackfield ask \"");
    }
}

#[tokio::test]
async fn a_flag_that_is_not_there_is_told_with_the_one_that_is() {
    let ran = jackfield(["ask", "--modell", "x", "hello"]).run().await;
    ran.stops(2, "--modell");
    ran.says("'--model'");
}

#[tokio::test]
async fn toml_that_is_none_is_told_with_file_and_line() {
    let file = "/.config/jackfield/jackfield.toml";
    let ran = jackfield(["ask", "hello"])
        .configured("model = \n")
        .run()
        .await;
    ran.fails(
        3,
        &format!("{file}:1: this is not TOML: string values must be quoted"),
        "mend line 1 of ",
    );
    let ran = jackfield(["ask", "hello"])
        .configured("\n[limits\nrounds = 3")
        .run()
        .await;
    ran.fails(
        3,
        &format!("{file}:2: this is not TOML: unclosed table, expected `]`"),
        &format!("{file}; `docs/configuration.md` has an example"),
    );
}

#[tokio::test]
async fn a_configuration_that_is_not_utf_8_is_told_with_its_byte() {
    let ran = jackfield(["ask", "hello"])
        .configured(b"model = \"caf\xe9\"")
        .run()
        .await;
    ran.fails(
        3,
        "jackfield.toml:1: this is not UTF-8 from byte 12 on",
        "iconv",
    );
}

#[tokio::test]
async fn everything_that_is_wrong_in_a_configuration_is_told_at_once() {
    let text = "[limits]\nroundz = 3\non_limit = \"explode\"\nparallel_calls = \"many\"\n";
    let ran = jackfield(["ask", "hello"]).configured(text).run().await;
    ran.stops(
        3,
        ":2: key `limits.roundz`: unknown; did you mean `rounds`?",
    );
    ran.stops(
        3,
        ":3: key `limits.on_limit`: `explode` is unknown; there are: answer, error",
    );
    ran.stops(
        3,
        ":4: key `limits.parallel_calls`: a whole number was expected, not a string",
    );
    let helps = ran.err.matches("help: `docs/configuration.md`").count();
    assert_eq!(helps, 1, "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn a_key_in_the_configuration_is_an_error_that_does_not_show_it() {
    let text = format!("[providers.claude]\napi_key = \"{KEY}\"\n");
    let ran = jackfield(["ask", "hello"]).configured(text).run().await;
    ran.fails(3, "key `providers.claude.api_key`", "`api_key_env`");
    let text = format!("providers.claude.base_url = \"http://me:{KEY}@127.0.0.1:9/?key={KEY}\"");
    let ran = jackfield(["ask", "hello"]).configured(text).run().await;
    ran.fails(
        3,
        "base_url has a user or a password in it: keys belong into their own setting",
        "take the user and the password out of `base_url`",
    );
    let text = format!("providers.claude.base_url = \"{KEY}\"");
    let ran = jackfield(["ask", "hello"]).configured(text).run().await;
    ran.fails(3, "key `providers.claude", "set `base_url` to an address");
}

#[tokio::test]
async fn no_key_is_told_with_the_variable_and_the_page_and_the_demo() {
    let ran = jackfield(["ask", "hello"]).run().await;
    ran.fails(
        3,
        "ANTHROPIC_API_KEY is not set",
        "export ANTHROPIC_API_KEY=...",
    );
    ran.says_line("help: ", "https://");
    ran.says_line("help: ", "jackfield demo");
    let ran = jackfield(["ask", "hello"])
        .env("ANTHROPIC_API_KEY", "")
        .run()
        .await;
    ran.fails(
        3,
        "ANTHROPIC_API_KEY is empty",
        "export ANTHROPIC_API_KEY=...",
    );
}

#[tokio::test]
async fn a_key_that_no_header_can_hold_is_told_and_not_shown() {
    for key in [
        format!("{KEY} and more"),
        format!("{KEY}\nand more"),
        format!("{KEY}é"),
    ] {
        let ran = jackfield(["ask", "hello"])
            .env("ANTHROPIC_API_KEY", key)
            .run()
            .await;
        ran.fails(
            3,
            "ANTHROPIC_API_KEY is set, but the key has characters in it that no key has",
            "export ANTHROPIC_API_KEY=",
        );
    }
    let mut key = KEY.as_bytes().to_vec();
    key.push(0xff);
    let ask = jackfield(["ask", "hello"]).env("ANTHROPIC_API_KEY", OsStr::from_bytes(&key));
    let ran = ask.run().await;
    ran.fails(
        3,
        "ANTHROPIC_API_KEY is not UTF-8",
        "export ANTHROPIC_API_KEY=...",
    );
}

#[tokio::test]
async fn a_model_that_cannot_be_is_told_by_the_flag_that_named_it() {
    let ran = jackfield(["ask", "--model", "opus", "hello"])
        .configured("")
        .run()
        .await;
    ran.fails(
        3,
        "--model: `opus` is neither an alias nor of the form `provider/model`",
        "`claude/claude-opus-5-5`",
    );
    let ran = jackfield(["ask", "--model", "nobody/x", "hello"])
        .configured("")
        .run()
        .await;
    ran.fails(
        3,
        "--model: there is no provider `nobody`; there are: cerebras, claude",
        "[providers.nobody]",
    );
    let variable = OsStr::from_bytes(b"claude/\xff");
    let ran = jackfield(["ask", "hello"])
        .env("JACKFIELD_MODEL", variable)
        .run()
        .await;
    ran.fails(
        3,
        "JACKFIELD_MODEL: this is not UTF-8",
        "give JACKFIELD_MODEL another value, or unset it",
    );
}

#[tokio::test]
async fn a_configuration_file_that_is_not_there_is_told_with_its_path() {
    let ran = jackfield(["ask", "--config", "gone.toml", "hello"])
        .run()
        .await;
    ran.fails(3, "/project/gone.toml` cannot be read", "`--config`");
}

#[tokio::test]
async fn a_tool_called_by_hand_fails_with_the_cause_and_what_there_is() {
    let ran = jackfield(["tools", "call", "calculato", "expression=1"])
        .run()
        .await;
    ran.fails(
        2,
        "there is no tool `calculato`; there are: calculator, current_datetime",
        "jackfield tools list",
    );
    let ran = jackfield(["tools", "call", "calculator", "1+1"])
        .run()
        .await;
    ran.fails(
        2,
        "`1+1` is neither a JSON object nor key=value",
        "expression='15% of 2500'",
    );
    let ran = jackfield(["tools", "call", "calculator", "{\"expression\": "])
        .run()
        .await;
    ran.fails(
        2,
        "the arguments are not a JSON object",
        "'{\"expression\": ",
    );
    let ran = jackfield(["tools", "call", "calculator", "expression=1/0"])
        .run()
        .await;
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    assert!(ran.out.contains("zero"), "{}", ran.out);
}
