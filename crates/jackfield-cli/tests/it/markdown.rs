//! Markdown on a terminal: what is drawn, and that it is drawn the same however it comes.

use jackfield_cli::render::markdown::Markdown;
use proptest::prelude::*;

/// Lines of which a hundred are a long block.
const LINES: &[&str] = &[
    "- an item with some words, which is long enough that a few of them are a long block, and *more*\n",
    "- an item with some words, which is long enough that a few of them are a long block, and `more`\n",
    "  - an item below it, which is long enough that a few of them are a long block, too, of a kind\n",
    "  that goes on in a line of its own, which is long enough that a few of them are a long block\n",
    "\n",
    "1. one\n",
    "```\n",
    "let x = *some * *code; // which is long enough that a few of these lines are a long block\n",
    "\n    more of it, by four columns to the right, which is code if it stands alone here or not\n",
];

/// Everything that is printed of a text in these pieces.
fn drawn<'p>(pieces: impl IntoIterator<Item = &'p str>, columns: usize, styled: bool) -> String {
    let mut markdown = Markdown::new(styled);
    let mut out: String = pieces
        .into_iter()
        .map(|piece| markdown.push(piece, columns))
        .collect();
    out.push_str(&markdown.finish());
    out
}

#[track_caller]
fn check(source: &str, columns: usize, expected: &str) {
    assert_eq!(drawn([source], columns, false), expected, "{source:?}");
    let signs: Vec<String> = source.chars().map(String::from).collect();
    let signs = signs.iter().map(String::as_str);
    assert_eq!(drawn(signs, columns, false), expected, "{source:?} by sign");
}

#[test]
fn every_kind_of_block_is_drawn() {
    check("Hello *there*, **you**.", 80, "Hello there, you.");
    check("# One\nText\n\n## Two", 80, "# One\n\nText\n\n## Two");
    check(
        "- a\n- b\n  - c\n\n1. x\n2. y",
        80,
        "• a\n• b\n  • c\n\n1. x\n2. y",
    );
    check("1. a\n\n   more\n\n2. b", 80, "1. a\n\n   more\n\n2. b");
    check("- [ ] open\n- [x] done", 80, "• [ ] open\n• [x] done");
    check("> a\n> b\n\nc", 80, "│ a\n│ b\n\nc");
    check(
        "```sh\nls  -l\n\ncd\n```\nafter",
        80,
        "```sh\nls  -l\n\ncd\n```\n\nafter",
    );
    check(
        "- x:\n  ```\n  a\n  ```\n- y",
        80,
        "• x:\n  ```\n  a\n  ```\n• y",
    );
    check(
        "a\n\n---\n\nb",
        45,
        &format!("a\n\n{}\n\nb", "─".repeat(40)),
    );
    check("use `x  y` and `z`", 80, "use `x  y` and `z`");
    check(
        "[a](http://b.c) <http://d.e>",
        80,
        "a (http://b.c) http://d.e",
    );
    check(
        "![logo](http://b.c/x.png)",
        80,
        "image: logo (http://b.c/x.png)",
    );
    check(
        "see [a]\n\n[a]: http://b.c",
        80,
        "see [a]\n\n[a]: http://b.c",
    );
    check("one\ntwo", 80, "one\ntwo");
    check("a <b>c</b> < d & e", 80, "a <b>c</b> < d & e");
    check(
        "~~no~~ 2*3*4 snake_case_name 5 * 6",
        80,
        "no 2*3*4 snake_case_name 5 * 6"
            .replace("2*3*4", "234")
            .as_str(),
    );
    check("-\n-\n", 80, "• \n• ");
}

#[test]
fn lines_are_as_wide_as_the_terminal_and_break_between_words() {
    check("aaaa bbbb cccc dddd eeee", 21, "aaaa bbbb cccc dddd\neeee");
    check(
        "- aaaa bbbb cccc dddd eeee",
        21,
        "• aaaa bbbb cccc\n  dddd eeee",
    );
    check(
        "你好，世界。今天天气怎么样？",
        21,
        "你好，世界。今天天气\n怎么样？",
    );
    check("一二三四五六七八九十，一", 21, "一二三四五六七八九\n十，一");
    check(
        "https://example.com/a/very/long/address x",
        21,
        "https://example.com/a/very/long/address\nx",
    );
}

#[test]
fn an_address_and_what_stands_close_behind_it_are_one_word() {
    for (columns, source, expected) in [
        (
            27,
            "[word word - - ](http://x.y)*---\n```\n",
            "word word - -\n(http://x.y)*---\n\n```\n```",
        ),
        (
            21,
            "[1. - ， ](http://x.y)**\n```\naa",
            "1. - ，\n(http://x.y)**\n\n```\naa\n```",
        ),
        (25, "![a b ](http://x.y)*c", "image: a b\n(http://x.y)*c"),
    ] {
        check(source, columns, expected);
    }
}

#[test]
fn tables_fit_or_stand_one_below_the_other() {
    let table = "| Город | 城市 |\n|:--|--:|\n| Москва | 1 |\n| Токио | 23 |\n\nend";
    check(
        table,
        80,
        "Город  │ 城市\n───────┼─────\nМосква │    1\nТокио  │   23\n\nend",
    );
    let wide = "| a | b |\n|---|---|\n| one two three four | five six seven |\n";
    let drawn = "\
a              │ b
───────────────┼──────────────
one two three  │ five six
four           │ seven";
    check(wide, 31, drawn);
    let many = "| a | b | c | d |\n|-|-|-|-|\n| 111111111 | 222222222 | 333333333 | 444444444 |\n";
    check(
        many,
        31,
        "a: 111111111\nb: 222222222\nc: 333333333\nd: 444444444",
    );
}

#[test]
fn nothing_of_the_text_is_an_escape_sequence() {
    let source = "a\u{1b}[2J &#27;[31m `\u{1b}]0;x\u{7}` [\u{9b}1m](http://\u{1b}[0m)\n\n```\u{1b}c\n\u{1b}[A&#x9b;\n```\n\n|a\u{1b}|\n|-|\n|&#27;|\n\n<b \u{1b}>\n\n[x]: <\u{1b}[1m>";
    let plain = drawn([source], 80, false);
    assert!(
        !plain.chars().any(|c| c.is_control() && c != '\n'),
        "{plain:?}"
    );
}

const PIECES: &[&str] = &[
    "a",
    "word ",
    "слово ",
    "你好",
    "，",
    "。",
    " ",
    " ",
    "\n",
    "\n",
    "\n\n",
    "*",
    "**",
    "_",
    "`",
    "```",
    "~~",
    "- ",
    "1. ",
    "2) ",
    "> ",
    "# ",
    "## ",
    "---",
    "===",
    "| ",
    " | ",
    "|-|-|\n",
    "[",
    "](http://x.y)",
    "] ",
    "<b>",
    "<",
    "&amp;",
    "\\",
    "  ",
    "    ",
    "[ ] ",
    "5",
    ".",
    "!",
    "👍🏽",
    "é",
    "\n```\n",
    "\n- ",
    "\n1. ",
    "\n> ",
    "\n\n  ",
];

#[test]
fn long_lists_and_long_code_are_drawn_to_their_end() {
    let many = |line: &dyn Fn(usize) -> String, count: usize| -> String {
        (1..=count).map(line).collect()
    };
    for (source, expected) in [
        (
            many(&|n| format!("- item {n} of *many*\n"), 1000),
            many(&|n| format!("• item {n} of many\n"), 1000),
        ),
        (
            many(
                &|n| format!("{n}. item\n{:1$}- below\n\n", "", n.to_string().len() + 2),
                1000,
            ),
            many(
                &|n| format!("{n}. item\n{:1$}• below\n\n", "", n.to_string().len() + 2),
                1000,
            ),
        ),
        // Numbers that do not go on as they are drawn.
        (
            many(&|_| "1. an item of a list\n".to_owned(), 400),
            many(&|n| format!("{n}. an item of a list\n"), 400),
        ),
        (
            format!(
                "```c\n{}```\n*a*\n",
                many(&|n| format!("*p{n} = *q * *r;\n"), 6000)
            ),
            format!(
                "```c\n{}```\n\na\n",
                many(&|n| format!("*p{n} = *q * *r;\n"), 6000)
            ),
        ),
        (
            format!("~~~\n{}", many(&|n| format!("# {n}\n\n"), 1000)),
            format!("~~~\n{}```", many(&|n| format!("# {n}\n\n"), 1000)).replace("~~~", "```"),
        ),
    ] {
        assert_eq!(drawn([&*source], 80, false).trim_end(), expected.trim_end());
        let pieces = source
            .as_bytes()
            .chunks(61)
            .map(|piece| str::from_utf8(piece).unwrap());
        assert_eq!(drawn(pieces, 80, false).trim_end(), expected.trim_end());
    }
}

/// Texts that were once drawn differently when they came one character at a time.
#[test]
fn brackets_and_code_are_drawn_the_same_however_they_are_cut() {
    for source in [
        "a[\\] ](http://x.y)word ",
        "\\\\`- ` ",
        "a [`] `b](http://x.y) word ",
        "a [``]`] ``b](http://x.y) word ",
        "- word `a](http://x.y)  `](http://x.y)*](http://x.y)\n```\n",
        "word - - ---``` |  | ---```](http://x.y)**\n```\na",
    ] {
        let signs: Vec<String> = source.chars().map(String::from).collect();
        let signs = signs.iter().map(String::as_str);
        assert_eq!(
            drawn([source], 24, true),
            drawn(signs, 24, true),
            "{source:?}"
        );
    }
}

proptest! {
    #[test]
    fn long_blocks_are_the_same_however_they_are_cut(
        lines in prop::collection::vec(prop::sample::select(LINES), 40..120),
        size in 1_usize..700,
    ) {
        let whole: String = lines.concat();
        let pieces = whole.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap());
        prop_assert_eq!(drawn([&*whole], 60, true), drawn(pieces, 60, true), "{:?}", whole);
    }

    #[test]
    fn however_it_is_cut_the_same_is_drawn(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24),
        columns in 20_usize..60,
    ) {
        let whole: String = pieces.concat();
        let signs: Vec<String> = whole.chars().map(String::from).collect();
        let by_sign = drawn(signs.iter().map(String::as_str), columns, true);
        prop_assert_eq!(drawn([&*whole], columns, true), by_sign, "{:?}", whole);
    }
}
