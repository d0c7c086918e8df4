//! Markdown as HTML in which nothing runs and nothing is loaded.

use jackfield_web::to_html;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[track_caller]
fn check(markdown: &str, html: &str) {
    assert_eq!(to_html(markdown).trim_end(), html);
}

#[test]
fn markdown_is_rendered() {
    check(
        "**15%** of `2500`",
        "<p><strong>15%</strong> of <code>2500</code></p>",
    );
    check("~~no~~", "<p><del>no</del></p>");
    check(
        "```rust\nlet a = <b>;\n```",
        "<pre><code class=\"language-rust\"><span class=\"k\">let</span> a = &lt;b&gt;;\n</code></pre>",
    );
    assert!(to_html("|a|\n|-|\n|b|").contains("<td>b</td>"));
    // An alignment would be a style in the page, which its policy refuses.
    let table = to_html("|a|b|c|\n|:-:|--:|-|\n|d|e|f|\n|g|h|i|");
    let cells = "<tr><td class=\"center\">g</td><td class=\"right\">h</td><td>i</td></tr>";
    assert!(table.contains("<th class=\"right\">b</th>") && table.contains(cells));
    assert!(!table.contains("style"), "{table}");
    assert!(to_html("- [x] done").contains("☑ done"));
}

#[test]
fn html_is_shown_as_text() {
    check(
        "a <b onclick=x>b</b>",
        "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>",
    );
    assert!(to_html("<script>alert(1)</script>").contains("&lt;script&gt;"));
    assert!(to_html("<!-- a --> <svg/onload=x>").contains("&lt;svg/onload=x&gt;"));
}

#[test]
fn a_link_leads_to_the_web_or_to_a_mail_address_alone() {
    check(
        "[a](https://example.com/?a=1&b='2')",
        "<p><a rel=\"noopener noreferrer nofollow\" target=\"_blank\" \
         href=\"https://example.com/?a=1&amp;b=%272%27\">a</a></p>",
    );
    assert!(to_html("<mailto:a@example.com>").contains("href=\"mailto:a@example.com\""));
    for target in [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "java&#10;script:alert(1)",
        "&#1;javascript:alert(1)",
        "data:text/html,b",
        "vbscript:x",
        "file:///etc/passwd",
        "//example.com",
        "/api/v1/sessions",
        "#/approvals",
    ] {
        check(&format!("[a](<{target}>)"), "<p><a>a</a></p>");
    }
}

#[test]
fn a_picture_is_a_link_and_is_not_loaded() {
    let html = to_html("![words](https://example.com/leak.png \"title\")");
    assert!(html.contains(">words</a>"), "{html}");
    assert!(!html.contains("<img"), "{html}");
}

/// The tags that the page may get.
const TAGS: &[&str] = &[
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];

proptest! {
    #[test]
    fn no_text_makes_another_tag_or_attribute(parts in vec(select(PARTS.to_vec()), 0..12)) {
        let html = to_html(&parts.concat());
        for tag in html.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').unwrap_or((tag, ""));
            let mut words = tag.trim_start_matches('/').trim_end_matches('/').split(' ');
            let name = words.next().unwrap_or_default();
            prop_assert!(TAGS.contains(&name), "{html}");
            for attribute in words.filter(|word| word.contains('=')) {
                let known = ["rel=", "target=", "href=\"http", "href=\"mailto:", "class=\"", "start="];
                prop_assert!(known.iter().any(|known| attribute.starts_with(known)), "{html}");
            }
        }
    }
}

/// What a hostile text may be made of.
const PARTS: &[&str] = &[
    "<",
    ">",
    "\"",
    "'",
    "&",
    "`",
    "```",
    "\n",
    "\n\n",
    "[",
    "](",
    ")",
    "![",
    "*",
    "_",
    "~~",
    "|",
    "|:-:|\n",
    "#",
    " ",
    "- ",
    "1. ",
    "<script>",
    "</script>",
    "<img src=x onerror=y>",
    "javascript:x",
    "https://a.b/",
    "<a href=\"",
    "<!--",
    "-->",
    "&#106;avascript:",
    "\u{202e}",
    "\u{0}",
    "a",
    "<https://a.b/\"onclick=\"x>",
    "```<b>\n",
];
