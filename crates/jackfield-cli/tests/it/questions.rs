//! The question: words, standard input, both.

use jackfield_cli::question::{Input, read};

/// The question, or the message.
fn check(words: &[&str], input: Input, stdin: &[u8], expected: Result<&str, &str>) {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let found = read(&words, input, stdin).map_err(|fault| fault.messages.join("; "));
    assert_eq!(found.as_deref().map_err(String::as_str), expected);
}

#[test]
fn the_question_is_the_words_and_what_is_piped_in() {
    check(
        &["what", "is", "this?"],
        Input::NotGiven,
        b"unread",
        Ok("what is this?"),
    );
    check(
        &["what is this?"],
        Input::Given,
        b"a diff\n",
        Ok("what is this?\n\na diff"),
    );
    check(&["what is this?"], Input::Given, b"", Ok("what is this?"));
    check(
        &[],
        Input::Given,
        "привет 你好\n".as_bytes(),
        Ok("привет 你好"),
    );
    check(&["-"], Input::NotGiven, b"waited for", Ok("waited for"));
    check(
        &["explain", "-"],
        Input::NotGiven,
        b"waited for",
        Ok("explain\n\nwaited for"),
    );
}

#[test]
fn no_question_and_no_text_are_told() {
    check(&[], Input::NotGiven, b"", Err("there is no question"));
    check(&[" "], Input::Given, b" \n", Err("there is no question"));
    check(
        &[],
        Input::Given,
        b"ab\xff",
        Err("standard input is not UTF-8: byte 2 does not belong"),
    );
    check(
        &[],
        Input::Given,
        b"ab\xd0",
        Err("standard input is not UTF-8: byte 2 does not belong"),
    );
}

#[test]
fn ten_megabytes_are_read_and_not_one_byte_more() {
    let most = vec![b'a'; 10_000_000];
    let found = read(&[], Input::Given, most.as_slice()).unwrap();
    assert_eq!(found.len(), 10_000_000);
    let more = vec![b'a'; 10_000_001];
    check(
        &[],
        Input::Given,
        &more,
        Err("standard input is larger than 10 MB"),
    );
}
