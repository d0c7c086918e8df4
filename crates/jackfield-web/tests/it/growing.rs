//! Markdown while it is written looks as it will, block by block.

use jackfield_web::{GrowingText, to_html};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What the reader sees after each piece: all complete blocks, and the one that grows.
fn seen(pieces: &[&str]) -> (String, String) {
    let mut text = GrowingText::default();
    let (mut complete, mut rest) = (String::new(), String::new());
    for piece in pieces {
        if let Some(grown) = text.push(piece) {
            complete.push_str(&grown.complete);
            rest = grown.rest;
        }
    }
    (complete, rest)
}

#[test]
fn a_heading_has_its_form_before_the_next_block_is_there() {
    let (complete, rest) = seen(&["# Rain", " in Porto\n", "\nIt **ra"]);
    assert_eq!(complete, "");
    assert_eq!(rest, "<h1>Rain in Porto</h1>\n<p>It **ra</p>\n");
    let (complete, rest) = seen(&["# Rain\n\nIt **rains**.\n", "\nNo"]);
    assert_eq!(complete, "<h1>Rain</h1>\n");
    assert_eq!(rest, "<p>It <strong>rains</strong>.</p>\n<p>No</p>\n");
}

#[test]
fn a_table_and_code_have_their_form_while_they_grow() {
    let (_, rest) = seen(&["|a|b|\n", "|-|-:|\n", "|c|"]);
    assert!(rest.contains("<th class=\"right\">b"), "{rest}");
    let (_, rest) = seen(&["```rust\nfn ", "main("]);
    assert_eq!(
        rest,
        "<pre><code class=\"language-rust\"><span class=\"k\">fn</span> <span class=\"f\">main</span>(</code></pre>\n"
    );
}

#[test]
fn a_long_block_costs_a_multiple_of_its_length_and_is_plain_in_the_end() {
    let line = "let x = 1;\n";
    let mut text = GrowingText::default();
    text.push("```\n");
    let (mut made, mut last) = (0, 0);
    for nth in 0..10_000 {
        if let Some(grown) = text.push(line) {
            made += grown.rest.len();
            last = nth;
        }
    }
    assert!(last * line.len() < 17 << 10, "line {last}");
    assert!(made < 64 * (17 << 10), "{made} bytes");
    // What follows has its form again, after another part of that length.
    let grown = text.push(&format!(
        "```\n\n{}# Next\n\nText",
        "Words.\n\n".repeat(500)
    ));
    let grown = grown.expect("it is due");
    assert!(grown.complete.ends_with("<p>Words.</p>\n"));
    assert_eq!(grown.rest, "<h1>Next</h1>\n<p>Text</p>\n");
}

#[test]
fn a_table_of_many_cells_from_a_few_letters_is_plain_while_it_is_written() {
    let columns = 1_000;
    let mut text = GrowingText::default();
    let head = format!("{}|\n{}|\n", "|a".repeat(columns), "|-".repeat(columns));
    let mut made = text.push(&head).map_or(0, |grown| grown.rest.len());
    for _ in 0..20_000 {
        if let Some(grown) = text.push("|\n") {
            made += grown.complete.len() + grown.rest.len();
        }
    }
    assert!(made < 4 << 20, "{made} bytes");
}

/// Lines of which texts are made, without definitions of links.
const LINES: [&str; 36] = [
    "$$",
    "\\[",
    "a \\] b",
    "\\( x",
    "x \\)",
    "$x^2$ and $5",
    "- b $$",
    "`",
    "a\rb\r\rc",
    "words\r",
    "# Heading",
    "Words **bold** and `code`",
    "- item",
    "  - inner",
    "1. first",
    "2) second",
    "> quoted",
    "```",
    "~~~rust",
    "    indented",
    "|a|b|",
    "|-|:-:|",
    "|c|d|",
    "---",
    "===",
    "***",
    "",
    "",
    "<b>",
    "[a](https://example.com)",
    "Ünïcödé 漢字 👩‍👧",
    "- [x] done",
    "\tafter a tab",
    "#",
    "* ",
    "\\",
];

proptest! {
    #[test]
    fn pieces_give_the_same_as_the_whole(lines in vec(select(LINES.to_vec()), 1..24), cuts in vec(any::<Index>(), 0..12)) {
        let whole = format!("{}\n\nThe end of it\n", lines.join("\n"));
        let ends: Vec<usize> = whole.char_indices().map(|(at, _)| at).collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| ends[cut.index(ends.len())]).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let mut text = GrowingText::default();
        let (mut complete, mut rest) = (String::new(), String::new());
        let pieces = cuts.windows(2).map(|cut| &whole[cut[0]..cut[1]]);
        // The last piece is one that is always due.
        let end = "\n".repeat(whole.len());
        for piece in pieces.chain([end.as_str()]) {
            if let Some(grown) = text.push(piece) {
                complete.push_str(&grown.complete);
                rest = grown.rest;
            }
        }
        prop_assert_eq!(complete + &rest, to_html(&(whole + &end)));
    }
}
