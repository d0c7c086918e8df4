//! Formulas are MathML, and what is none stays text.

use jackfield_web::to_html;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[track_caller]
fn check(markdown: &str, html: &str) {
    let made = to_html(markdown);
    let made = made.replace("<span class=\"formula\">", "<F>");
    let made = made.replace("</math></span>", "</math></F>");
    assert_eq!(made.trim_end(), html, "{markdown}");
}

#[test]
fn a_formula_is_mathml_by_each_of_its_signs() {
    let x = "<math><msup><mi>x</mi><mn>2</mn></msup></math>";
    let display = "<F><math display=\"block\"><msup><mi>x</mi><mn>2</mn></msup></math></F>";
    check("a $x^2$ b", &format!("<p>a {x} b</p>"));
    check("a \\(x^2\\) b", &format!("<p>a {x} b</p>"));
    check(
        "**\\( x^2 \\)**, b",
        &format!("<p><strong>{x}</strong>, b</p>"),
    );
    check("$$x^2$$", &format!("<p>{display}</p>"));
    check(
        "It is\n\\[\nx^2\n\\].",
        &format!("<p>It is\n{display}.</p>"),
    );
    check(
        "- a\n\n  $$\n  x^2\n  $$\n- b",
        &format!("<ul>\n<li>\n<p>a</p>\n<p>{display}</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>"),
    );
    check(
        "> \\[\n> x^2\n> \\]",
        &format!("<blockquote>\n<p>{display}</p>\n</blockquote>"),
    );
    check(
        "|a|\n|-|\n|$x^2$|",
        &format!(
            "<table><thead><tr><th>a</th></tr></thead><tbody>\n<tr><td>{x}</td></tr>\n</tbody></table>"
        ),
    );
}

#[test]
fn a_line_of_a_formula_is_no_block() {
    for lines in ["\\[\na\n- b\n= d\n+ e\n\\]", "$$\na\n- b\n=\n1. c\n$$"] {
        let html = to_html(lines);
        assert!(
            html.starts_with("<p><span class=\"formula\"><math"),
            "{html}"
        );
        assert!(html.ends_with("</math></span></p>\n"), "{html}");
    }
}

#[test]
fn a_price_is_no_formula() {
    for text in [
        "it costs $5 and then $10",
        "$5-$10",
        "US$ 3 to US$ 4",
        "US$3 and US$4",
        "$ 5 $",
        "a$b$c",
        "\\$x\\$",
        "$HOME/bin:$PATH",
        "$5",
        "$",
        "$$",
        "$$ $$",
        "$$$$$$",
        "$a\n\nb$",
    ] {
        assert!(!to_html(text).contains("<math"), "{text}");
    }
    check(
        "it costs **$5**-**$10**",
        "<p>it costs <strong>$5</strong>-<strong>$10</strong></p>",
    );
}

#[test]
fn code_links_and_plain_signs_are_no_formulas() {
    check(
        "`$x$` and `\\(x\\)`",
        "<p><code>$x$</code> and <code>\\(x\\)</code></p>",
    );
    check(
        "```\n\\[x^2\\]\n$x$\n```",
        "<pre><code>\\[x^2\\]\n$x$\n</code></pre>",
    );
    check("see \\[1\\]", "<p>see [1]</p>");
    for text in [
        "[a \\[x^2\\]](https://a.b/$x$)",
        "[a]: https://a.b/$x$\n\n[a] $y",
        "$5 [a](https://a.b/$x) [b](https://a.b/$y)",
        "<https://a.b/$x$>",
    ] {
        let html = to_html(text);
        assert!(
            html.contains("href=\"https://a.b/$x") && !html.contains("<math"),
            "{html}"
        );
    }
    // A sign that ends in another cell or row is none, either.
    let html = to_html("|a $x|b$|\n|-|-|\n|\\[ x|c|\n|d \\]|e|");
    assert_eq!(html.matches("<td>").count(), 4, "{html}");
    assert!(!html.contains("<math"), "{html}");
}

#[test]
fn a_formula_that_cannot_be_read_is_shown_as_it_was_written() {
    for text in [
        "$\\nonsense{x}$",
        "\\[x^\\]",
        "$$\\def\\a{\\a\\a}\\a$$",
        "\\(\\newcommand{\\a}{\\a}\\a\\)",
        "$$\\href{javascript:alert(1)}{x}$$",
        "$$\\begin{align*} \\eqref{<b>} \\end{align*}$$",
    ] {
        let shown = text.replace('<', "&lt;").replace('>', "&gt;");
        check(text, &format!("<p><code>{shown}</code></p>"));
    }
    // A text may have what would be formatting.
    assert!(to_html("$\\text{<script>\"&}$").contains("<code>"));
    assert!(to_html("$\\text{a < b \\& c}$").contains("<mtext>"));
}

#[test]
fn a_formula_has_classes_in_place_of_styles() {
    let html = to_html("$$\\begin{array}{l|r}\\hline a & \\boxed{b}\\end{array}$$");
    assert!(html.contains("<mtd class=\"left line-right\">"), "{html}");
    assert!(html.contains("<mrow class=\"boxed\">"), "{html}");
    let html = to_html("$$\\begin{align} a &= b \\\\ c &= d \\tag{7} \\end{align}$$");
    assert!(
        html.contains("<mtd class=\"right\">") && html.contains("<mn>7</mn>"),
        "{html}"
    );
    assert!(!html.contains(" style=") && !html.contains("(1)"), "{html}");
    assert!(!to_html("$\\color{red}x\\hspace{9999em}\\!\\;$").contains("9999"));
}

#[test]
fn a_formula_that_nests_deeply_or_is_long_harms_nothing() {
    for (open, close) in [
        ("{", "}"),
        ("\\frac{1}{", "}"),
        ("\\frac1", ""),
        ("\\sqrt", ""),
        ("\\sqrt[", "]{x}"),
        ("\\hat", ""),
        ("x^{", "}"),
        ("x_", ""),
        ("\\left(", "\\right)"),
        ("\\begin{cases}", "\\end{cases}"),
        ("\\text{", "}"),
        ("\\color{red}", ""),
        ("\\boxed{", "}"),
        ("\\frac", ""),
        ("\\overbrace", ""),
        ("\\mathrm", ""),
        ("\\phantom{", "}"),
        ("\\substack{", "}"),
        ("\\xrightarrow", ""),
        ("\\cfrac", ""),
        ("\\not", ""),
        ("'", ""),
        ("\\tag", ""),
    ] {
        // As deep as the limit lets it.
        let signs = open.matches(['\\', '{', '[', '^', '_']).count();
        let signs = signs + close.matches(['\\', '{']).count();
        let depth = 990 / signs.max(1);
        let html = to_html(&nested(open, close, depth));
        assert!(html.len() < 1 << 20, "{open}");
    }
    for (open, close) in [("{", "}"), ("\\frac{1}{", "}")] {
        assert!(!to_html(&nested(open, close, 100_000)).contains("<math"));
    }
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("$${}x{}$$", open.repeat(depth), close.repeat(depth))
}

proptest! {
    #[test]
    fn a_formula_is_made_of_known_elements(
        parts in vec(select(PARTS.to_vec()), 1..12),
        signs in select(vec![("$", "$"), ("$$\n", "$$"), ("\\(", "\\)"), ("\\[ ", " \\]")]),
    ) {
        let html = to_html(&format!("a {}{}{} b\n\n<b>", signs.0, parts.concat(), signs.1));
        let mut open = Vec::new();
        for tag in html.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("its end");
            for attribute in tag.split('"').step_by(2).filter_map(|part| part.split(' ').next_back()) {
                prop_assert!(!["style=", "href=", "id=", "onclick="].contains(&attribute), "{html}");
            }
            let name = tag.split(' ').next().unwrap_or_default();
            if let Some(name) = name.strip_prefix('/') {
                prop_assert_eq!(open.pop(), Some(name), "{}", html);
            } else if !tag.ends_with('/') {
                prop_assert!(ELEMENTS.contains(&name), "{html}");
                open.push(name);
            }
        }
        prop_assert!(open.is_empty(), "{html}");
    }

    #[test]
    fn no_text_is_lost_or_made_up(parts in vec(select(TEXT.to_vec()), 0..16)) {
        let html = to_html(&parts.concat());
        let shown: String = html.split('<').filter_map(|part| part.split('>').nth(1)).collect();
        prop_assert!(!html.contains("QQ"), "{html}");
        let words = parts.iter().filter(|part| **part == "words").count();
        // A row of a table loses the cells that its head does not have.
        prop_assert!(shown.matches("words").count() == words || html.contains("<table"), "{html}");
    }
}

const ELEMENTS: &[&str] = &[
    "b",
    "code",
    "em",
    "i",
    "math",
    "menclose",
    "mfrac",
    "mi",
    "mmultiscripts",
    "mn",
    "mo",
    "mover",
    "mpadded",
    "mphantom",
    "mroot",
    "mrow",
    "mspace",
    "msqrt",
    "msub",
    "msubsup",
    "msup",
    "mtable",
    "mtd",
    "mtext",
    "mtr",
    "munder",
    "munderover",
    "p",
    "s",
    "span",
    "u",
];

/// What a hostile formula may be made of.
const PARTS: &[&str] = &[
    "x",
    "1",
    "{",
    "}",
    "^",
    "_",
    "&",
    "\\\\",
    "'",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "\"",
    "|",
    "%",
    "#1",
    "~",
    " ",
    "é",
    "漢",
    "\u{301}",
    "\\frac",
    "\\sqrt",
    "\\left",
    "\\right",
    "\\middle|",
    "\\big",
    "\\mathop",
    "\\not",
    "\\sum",
    "\\limits",
    "\\text{",
    "\\textbf{",
    "\\textsf{",
    "\\mathbb{",
    "\\operatorname{",
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "\\begin{align}",
    "\\end{align}",
    "\\begin{array}{l|c}",
    "\\end{array}",
    "\\begin{cases}",
    "\\end{cases}",
    "\\hline",
    "\\color{red}",
    "\\textcolor{red}{",
    "\\href{javascript:x}{",
    "\\label{<b>}",
    "\\ref{a}",
    "\\eqref{a}",
    "\\tag{a}",
    "\\hspace{-9em}",
    "\\,",
    "\\!",
    "\\boxed{",
    "\\cancel{",
    "\\substack{",
    "\\overbrace{",
    "\\xrightarrow[a]{",
    "\\binom",
    "\\genfrac",
    "\\stackrel",
    "\\char",
    "\\unicode{x3c}",
    "\\def\\a{\\a}",
    "\\newcommand{\\a}{\\a\\a}",
    "\\a",
    "\\kern1pt",
    "\\rule{1em}{2em}",
    "\\phantom{",
    "\\vec",
    "\\large",
    "\\displaystyle",
    "\\style{color:red}{",
    "\\class{a}{",
    "</math>",
    "<script>",
    "&lt;",
];

/// What a text with formulas may be made of.
const TEXT: &[&str] = &[
    "words",
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "x^2",
    " ",
    "\n",
    "\n\n",
    "`",
    "```\n",
    "|",
    "\n|-|-|\n",
    "> ",
    "- ",
    "[a](https://a.b/)",
    "\\",
    "\\$",
    "é",
    "<b>",
    "<div>\n",
    "    ",
    "5",
    "*",
    "\r",
];
