//! Code has its tokens in spans, and stays what it is.

use jackfield_web::to_html;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// The HTML in the block of this code.
fn coloured(language: &str, code: &str) -> String {
    let html = to_html(&format!("~~~~~~ {language}\n{code}\n~~~~~~\n"));
    let (_, inner) = html.split_once("<code").expect("a block");
    let (_, inner) = inner.split_once('>').expect("a tag");
    let inner = inner.strip_suffix("</code></pre>\n").expect("its end");
    inner.to_owned()
}

/// The code in HTML of which the tags balance.
fn code_of(html: &str) -> String {
    let mut text = String::new();
    let mut depth = 0;
    for part in html.split_inclusive('>') {
        let (before, tag) = part.split_once('<').unwrap_or((part, ""));
        text.push_str(before);
        match tag {
            "" => {}
            "/span>" => depth -= 1,
            tag => {
                let class = tag.strip_prefix("span class=\"").expect("a span");
                assert!("acdfknst".contains(class.strip_suffix("\">").expect("a class")));
                depth += 1;
            }
        }
        assert!((0..=1).contains(&depth), "{html}");
    }
    assert_eq!(depth, 0, "{html}");
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

#[track_caller]
fn check(language: &str, code: &str, marked: &str) {
    let html = coloured(language, code);
    assert_eq!(code_of(&html), format!("{code}\n"));
    let short = html.replace("<span class=\"", "[").replace("</span>", "]");
    let short = short.replace("\">", " ").replace("\n]", "]\n");
    assert_eq!(short.trim_end_matches('\n'), marked);
}

#[test]
fn a_reader_sees_the_tokens_of_a_language() {
    check(
        "rust,ignore",
        "fn f<'a>(s: &'a str) -> Vec<char> { vec!('\\'', 'x', 1_0u8) } // s",
        "[k fn] f&lt;'a&gt;(s: &amp;'a [k str]) -&gt; [t Vec]&lt;[k char]&gt; { [f vec]!([s '\\''], [s 'x'], [n 1_0u8]) } [c // s]",
    );
    check(
        "{.python}",
        "@a\ndef f(): # d\n  \"\"\"b\n  c\"\"\"\n  return f'x' + \"don't\"",
        "[k @a]\n[k def] [f f](): [c # d]\n  [s \"\"\"b\n  c\"\"\"]\n  [k return] f[s 'x'] + [s \"don't\"]",
    );
    check(
        "tsx",
        "const a: Map = `x${1}\n`; /* b",
        "[k const] a: [t Map] = [s `x${1}\n`]; [c /* b]",
    );
    check(
        "json",
        "{\"a\": [true, -1.5e3, \"b\"]}",
        "{[f \"a\"]: [[k true], -[n 1.5e3], [s \"b\"]]}",
    );
    check(
        "console",
        "$ echo \"$A\" $B a#b # c",
        "$ [k echo] [s \"$A\"] [f $B] a#b [c # c]",
    );
    check(
        "HTML",
        "<!-- a --><b class=\"c\">don't</b>",
        "[c &lt;!-- a --&gt;][k &lt;b] [f class]=[s \"c\"]&gt;don't[k &lt;/b]&gt;",
    );
    check(
        "css",
        "a { color: #fff; } /* b */",
        "a { [f color]: #fff; } [c /* b */]",
    );
    check(
        "sql",
        "SELECT 'it''s' FROM t -- a",
        "[k SELECT] [s 'it'][s 's'] [k FROM] t [c -- a]",
    );
    check("yml", "a-b: don't # c", "[f a-b]: don't [c # c]");
    check("toml", "[a]\nb = \"c\"", "[a]\n[f b] = [s \"c\"]");
    check(
        "c++",
        "#include <a>\nint f() { return 'x'; }",
        "[k #include] &lt;a&gt;\n[k int] [f f]() { [k return] [s 'x']; }",
    );
    check(
        "diff",
        "--- a\n@@ 1\n-b\n+c\n d",
        "[c --- a]\n[k @@ 1]\n[d -b]\n[a +c]\n d",
    );
    check("Dockerfile", "FROM a\nRUN b", "[k FROM] a\n[k RUN] b");
    check("md", "# a\nb", "[k # a]\nb");
}

#[test]
fn a_language_has_the_names_that_people_write() {
    for name in [
        "rust",
        "rs",
        "python",
        "py",
        "javascript",
        "js",
        "jsx",
        "typescript",
        "ts",
        "tsx",
        "json",
        "bash",
        "sh",
        "shell",
        "zsh",
        "console",
        "html",
        "xml",
        "css",
        "sql",
        "go",
        "golang",
        "java",
        "c",
        "c++",
        "cpp",
        "h",
        "c#",
        "cs",
        "csharp",
        "kotlin",
        "kt",
        "swift",
        "ruby",
        "rb",
        "php",
        "yaml",
        "yml",
        "toml",
        "diff",
        "patch",
        "dockerfile",
        "Docker",
        "markdown",
        "md",
    ] {
        let code = "# a\n<b> \"c\" 1\n+ d";
        assert!(coloured(name, code).contains("<span"), "{name}");
    }
    for name in ["", "text", "plaintext", "nonsense", "<b>"] {
        assert!(!coloured(name, "if 1 \"a\"").contains("<span"), "{name}");
    }
}

#[test]
fn code_in_a_list_is_one_text() {
    let html = to_html("- ```js\n  /* a\n  b */\n  ```");
    assert!(
        html.contains("<span class=\"c\">/* a\nb */</span>\n</code></pre>"),
        "{html}"
    );
}

#[test]
fn long_code_is_plain() {
    for code in [
        "1;\n".repeat(2_001),
        "1 ".repeat(2_100),
        format!("{}\n", "1;".repeat(1_000)).repeat(20),
    ] {
        assert!(!coloured("js", &code).contains("<span"));
    }
    assert!(coloured("js", &"let a = 1;\n".repeat(1_900)).contains("<span"));
}

proptest! {
    #[test]
    fn the_text_of_a_block_is_its_code(
        language in select(NAMES.to_vec()),
        parts in vec(prop_oneof![select(PARTS.to_vec()).prop_map(str::to_owned), any::<String>()], 0..20),
    ) {
        // What ends or moves a line of Markdown is no matter of its code.
        let code = parts.concat().replace(['\r', '\0', '~'], "");
        prop_assert_eq!(code_of(&coloured(language, &code)), code + "\n");
    }
}

const NAMES: &[&str] = &[
    "rust",
    "python",
    "js",
    "json",
    "bash",
    "html",
    "css",
    "sql",
    "go",
    "java",
    "cpp",
    "cs",
    "kotlin",
    "swift",
    "ruby",
    "php",
    "yaml",
    "toml",
    "diff",
    "dockerfile",
    "markdown",
    "text",
];

/// What code may be made of.
const PARTS: &[&str] = &[
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "r#\"",
    "\"#",
    "\\",
    "/*",
    "*/",
    "//",
    "#",
    "--",
    "<!--",
    "-->",
    "<a",
    "</",
    ">",
    "<",
    "&amp;",
    "&",
    "</span>",
    "<span class=\"k\">",
    "\n",
    "\t",
    " ",
    "if",
    "a",
    "é",
    "漢",
    "1.5",
    "$",
    "@",
    ":",
    "=",
    "(",
    "!(",
    "+",
    "-",
    "\u{301}",
];
