//! The question: words, standard input, both.

use jackfield_cli::commands::chat::mentions::mentions;
use jackfield_cli::commands::chat::slash::{self, COMMANDS, ChatInput};
use jackfield_cli::question::{StdinKind, lines, read};

/// The question, or the message.
fn check(words: &[&str], input: StdinKind, stdin: &[u8], expected: Result<&str, &str>) {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let found = read(&words, input, stdin).map_err(|fault| fault.messages.join("; "));
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

#[test]
fn the_question_is_the_words_and_what_is_piped_in() {
    check(
        &["what", "is", "this?"],
        StdinKind::NotGiven,
        b"unread",
        Ok("what is this?"),
    );
    check(
        &["what is this?"],
        StdinKind::Given,
        b"a diff\n",
        Ok("what is this?\n\na diff"),
    );
    check(
        &["what is this?"],
        StdinKind::Given,
        b"",
        Ok("what is this?"),
    );
    check(
        &[],
        StdinKind::Given,
        "привет 你好\n".as_bytes(),
        Ok("привет 你好"),
    );
    check(&["-"], StdinKind::NotGiven, b"waited for", Ok("waited for"));
    check(
        &["explain", "-"],
        StdinKind::NotGiven,
        b"waited for",
        Ok("explain\n\nwaited for"),
    );
}

#[test]
fn no_question_and_no_text_are_told() {
    check(&[], StdinKind::NotGiven, b"", Err("there is no question"));
    check(
        &[" "],
        StdinKind::Given,
        b" \n",
        Err("there is no question"),
    );
    check(
        &[],
        StdinKind::Given,
        b"ab\xff",
        Err("standard input is not UTF-8: byte 2 does not belong"),
    );
    check(
        &[],
        StdinKind::Given,
        b"ab\xd0",
        Err("standard input is not UTF-8: byte 2 does not belong"),
    );
}

#[test]
fn ten_megabytes_are_read_and_not_one_byte_more() {
    let most = vec![b'a'; 10_000_000];
    let found = read(&[], StdinKind::Given, most.as_slice()).unwrap();
    assert_eq!(found.len(), 10_000_000);
    let more = vec![b'a'; 10_000_001];
    check(
        &[],
        StdinKind::Given,
        &more,
        Err("standard input is larger than 10 MB"),
    );
}

/// The messages of this input, and what is wrong with it.
fn messages(stdin: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut wrong = Vec::new();
    let mut next = lines(stdin, |fault| wrong.extend(fault.messages.clone()));
    let messages: Vec<String> = std::iter::from_fn(&mut next).collect();
    drop(next);
    (messages, wrong)
}

#[test]
fn a_line_is_a_message_and_a_backslash_goes_on() {
    let (found, wrong) = messages("a\r\n\nb\\\nc\\\n\nпоследняя".as_bytes());
    assert_eq!(found, ["a", "", "b\nc\n", "последняя"]);
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(messages(b"").0, [""; 0]);
    assert_eq!(messages(b"a\\").0, ["a\n"]);
}

#[test]
fn a_line_that_cannot_be_read_ends_the_messages() {
    let (found, wrong) = messages(b"a\nb\xff\nc\n");
    assert_eq!(found, ["a"]);
    assert_eq!(
        wrong,
        ["standard input is not UTF-8: byte 1 does not belong"]
    );
    let (found, wrong) = messages(&vec![b'a'; 10_000_001]);
    assert_eq!(found, [""; 0]);
    assert_eq!(wrong, ["standard input is larger than 10 MB"]);
}

#[test]
fn a_word_of_letters_behind_a_slash_is_a_command() {
    for (line, expected) in [
        ("", ChatInput::Nothing),
        (" \t", ChatInput::Nothing),
        ("hello /help", ChatInput::Message("hello /help".to_owned())),
        ("/help", ChatInput::Help),
        (" /HELP ", ChatInput::Help),
        ("/quit", ChatInput::Quit),
        ("/exit", ChatInput::Quit),
        ("exit", ChatInput::Quit),
        (" Quit ", ChatInput::Quit),
        ("quit now", ChatInput::Message("quit now".to_owned())),
        ("/clear", ChatInput::Clear),
        ("/usage", ChatInput::Usage),
        ("/model", ChatInput::Model(None)),
        ("/model  a/b ", ChatInput::Model(Some("a/b".to_owned()))),
        ("/tools x", ChatInput::Tools(Some("x".to_owned()))),
        (
            "/system\nBe\nbrief",
            ChatInput::System(Some("Be\nbrief".to_owned())),
        ),
        ("//help", ChatInput::Message("/help".to_owned())),
        ("/", ChatInput::Message("/".to_owned())),
        ("/etc/hosts", ChatInput::Message("/etc/hosts".to_owned())),
        ("/2 of it", ChatInput::Message("/2 of it".to_owned())),
        (
            "/quit now",
            ChatInput::Unknown("/quit takes nothing behind it".to_owned()),
        ),
    ] {
        assert_eq!(slash::read(line), expected, "{line:?}");
    }
    let ChatInput::Unknown(why) = slash::read("/modle") else {
        panic!("there is such a command");
    };
    assert!(why.contains("did you mean `/model`?"), "{why}");
}

#[test]
fn files_are_named_with_an_at_sign_and_only_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["notes.md", "two words.md", "a.", "Ünï.txt"] {
        std::fs::write(folder.path().join(name), "x").unwrap();
    }
    for (text, files, missing) in [
        ("look at @notes.md", vec!["notes.md"], vec![]),
        (
            "@notes.md, (@a.) and @notes.md!",
            vec!["notes.md", "a."],
            vec![],
        ),
        (
            "@\"two words.md\" and @Ünï.txt?",
            vec!["two words.md", "Ünï.txt"],
            vec![],
        ),
        ("mail me@notes.md or @nobody", vec![], vec![]),
        ("import @types/node", vec![], vec!["types/node"]),
        ("@ @\"\" @\"open", vec![], vec![]),
        ("@two words.md", vec![], vec![]),
    ] {
        let found = mentions(text, |path| folder.path().join(path));
        let files: Vec<_> = files.iter().map(|name| folder.path().join(name)).collect();
        assert_eq!(
            (found.files, found.missing),
            (
                files,
                missing
                    .iter()
                    .map(|word: &&str| (*word).to_owned())
                    .collect()
            ),
            "{text}"
        );
    }
}

#[test]
fn every_command_that_is_listed_is_one() {
    for (name, _, _) in COMMANDS {
        assert!(
            !matches!(
                slash::read(name),
                ChatInput::Unknown(_) | ChatInput::Message(_)
            ),
            "{name}"
        );
    }
}
