//! Lines that are broken between words.

use jackfield_cli::render::wrap::{cut, wrapped};
use unicode_width::UnicodeWidthStr as _;

#[test]
fn lines_are_broken_at_spaces_and_nowhere_else() {
    for (line, width, expected) in [
        ("short", 40, "short"),
        ("", 10, ""),
        ("one two three", 9, "one two\n  three"),
        ("  one two three", 9, "  one two\n    three"),
        ("one\n\nfour five six", 10, "one\n\nfour five\n  six"),
        ("averylongword b", 6, "averylongword\n  b"),
        (
            "\u{1b}[1mone\u{1b}[0m two three",
            9,
            "\u{1b}[1mone\u{1b}[0m two\n  three",
        ),
        ("你好 世界 人", 9, "你好 世界\n  人"),
    ] {
        assert_eq!(wrapped(line, width), expected, "{line:?}");
    }
}

#[test]
fn nothing_is_lost_and_no_line_is_too_wide() {
    let words = ["a", "be", "sea", "deal", "eager", "finger", "莫斯科"];
    let line: Vec<&str> = words.iter().cycle().take(100).copied().collect();
    let line = line.join(" ");
    for width in 8..60 {
        let wrapped = wrapped(&line, width);
        assert!(
            wrapped.lines().all(|line| line.width() <= width),
            "{width}: {wrapped}"
        );
        let back: Vec<&str> = wrapped.split_whitespace().collect();
        assert_eq!(back.join(" "), line);
    }
}

#[test]
fn a_text_is_cut_at_the_width_and_not_before() {
    for (text, width, expected) in [
        ("whole", 5, "whole"),
        ("longer", 5, "long…"),
        ("a gap", 3, "a…"),
        ("你好世界", 5, "你好…"),
        ("你好世界", 8, "你好世界"),
        ("nothing", 0, "…"),
    ] {
        assert_eq!(cut(text, width), expected, "{text:?}");
    }
}
