//! What Tab completes in a chat, and the words of a prompt.

use jackfield_cli::for_tests::{Completion, Completions, words_of};

#[test]
fn a_word_that_fits_the_text_before_the_cursor_is_offered() {
    let folder = std::env::current_dir().unwrap();
    let completions = Completions {
        commands: &[
            ("/clear", "", "begin anew"),
            ("/model", "[NAME]", "take another"),
        ],
        context: Box::new(|before| {
            let found = vec![Completion {
                shown: "greet".to_owned(),
                word: "greet ".to_owned(),
            }];
            (before == "/prompt gr").then_some((8, found))
        }),
        models: vec!["claude/".to_owned(), "fast".to_owned()],
        resolve: Box::new(move |path| folder.join(path)),
    };
    for (before, at, words) in [
        ("", 0, vec!["/clear", "/model "]),
        ("/", 0, vec!["/clear", "/model "]),
        ("/c", 0, vec!["/clear"]),
        ("/model ", 7, vec!["claude/", "fast"]),
        ("/model f", 7, vec!["fast"]),
        ("/clear now", 0, vec![]),
        ("/prompt gr", 8, vec!["greet "]),
        ("hello", 0, vec![]),
        ("see @src/mai", 5, vec!["src/main.rs"]),
        ("@Cargo.to", 1, vec!["Cargo.toml"]),
        ("@sr", 1, vec!["src/"]),
        ("a\u{2003}@gone/x", 5, vec![]),
        ("me@sr", 0, vec![]),
    ] {
        let (place, found) = completions.complete(before);
        let found: Vec<&str> = found.iter().map(|one| &*one.word).collect();
        assert_eq!((place, found), (at, words), "{before:?}");
    }
}

#[test]
fn quotes_keep_the_spaces_of_a_prompts_words() {
    for (text, words) in [
        ("greet Ann", vec!["greet", "Ann"]),
        ("greet  \"Ann B.\"", vec!["greet", "Ann B."]),
        (
            "greet who='Ann B.' how=",
            vec!["greet", "who=Ann B.", "how="],
        ),
        ("greet it's", vec!["greet", "it's"]),
        ("greet \"\"", vec!["greet", ""]),
        ("greet \"open", vec!["greet", "open"]),
    ] {
        assert_eq!(words_of(text), words, "{text}");
    }
}
