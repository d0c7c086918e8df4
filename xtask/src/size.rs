//! `cargo xtask size`: how large the code and the documents are, now and at an earlier revision.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::args::Size as Asked;
use crate::semver;
use crate::tidy::tokens::{find, text, tokens};
use crate::workspace::{self, TextFile};

/// Prints the sizes, or what has become of those of a revision.
pub(crate) fn run(root: &Path, asked: &Asked) -> anyhow::Result<()> {
    let after = Size::of(&workspace::text_files(root)?);
    let before = asked.since.as_deref().map(|revision| {
        let place = root.join("target/size");
        semver::unpack(root, revision, &place)?;
        anyhow::Ok(Size::of(&workspace::text_files(&place.join("tree"))?))
    });
    let before = before.transpose()?;
    if asked.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&Sizes { before, after })?
        );
    } else {
        print!("{}", table(before.as_ref(), &after));
    }
    Ok(())
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Sizes {
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Size>,
    after: Size,
}

/// What is counted of a tree.
#[derive(Debug, Default, Eq, PartialEq, Serialize)]
struct Size {
    /// By what the packages are for, and by their names.
    code: BTreeMap<&'static str, BTreeMap<String, Code>>,
    /// The words of the documents.
    words: BTreeMap<&'static str, usize>,
}

/// What is counted of a package.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
struct Code {
    source_lines: usize,
    public_items: usize,
    test_lines: usize,
}

impl Size {
    fn of(files: &[TextFile]) -> Self {
        let mut size = Self::default();
        for file in files {
            let parts: Vec<&str> = file.path.iter().filter_map(|part| part.to_str()).collect();
            if file.is("md") {
                let words = file.text.split_whitespace().count();
                *size.words.entry(document(&parts)).or_default() += words;
            }
            if let (true, Some((group, name, inside))) = (file.is("rs"), package(&parts)) {
                let group = size.code.entry(group).or_default();
                let code = group.entry(name.to_owned()).or_default();
                let lines = file.text.lines().filter(|line| !line.trim().is_empty());
                match inside {
                    "src" => {
                        code.source_lines += lines.count();
                        code.public_items += public_items(&file.text);
                    }
                    "tests" => code.test_lines += lines.count(),
                    _ => {}
                }
            }
        }
        size
    }
}

/// What a source file is a part of: the group of its package, its package, and the folder inside of it.
fn package<'a>(parts: &[&'a str]) -> Option<(&'static str, &'a str, &'a str)> {
    match *parts {
        ["crates", name, inside, ..] if DEVELOPMENT.contains(&name) => {
            Some(("development", name, inside))
        }
        ["crates", name, inside, ..] => Some(("product", name, inside)),
        ["examples", name, inside, ..] => Some(("others", name, inside)),
        ["tests", ..] => Some(("others", "tests", "tests")),
        [name, inside, ..] => Some(("others", name, inside)),
        _ => None,
    }
}

fn document(parts: &[&str]) -> &'static str {
    match *parts {
        ["docs", "adr", ..] => "docs/adr",
        ["docs", ..] => "docs without docs/adr",
        ["CHANGELOG.md"] => "CHANGELOG.md",
        ["CONTRIBUTING.md"] => "CONTRIBUTING.md",
        ["README.md"] => "README.md",
        _ => "other documents",
    }
}

/// How many items are `pub`, and not only `pub(crate)` or the like.
fn public_items(source: &str) -> usize {
    let tokens = tokens(source);
    let public = find(&tokens, &["pub"]);
    let items = public.filter(|at| ITEMS.contains(&text(&tokens, at + 1)));
    items.count() + find(&tokens, &["macro_export"]).count()
}

/// The sizes as people read them; with an earlier size, each is that before, that now, and the difference.
fn table(before: Option<&Size>, after: &Size) -> String {
    let nothing = Size::default();
    let (old, mut table) = (before.unwrap_or(&nothing), String::new());
    let mut row = |name: &str, cells: &[(usize, usize)]| {
        table.push_str(&format!("{name:<32}"));
        for (old, new) in cells {
            table.push_str(&match before {
                Some(_) => {
                    let grown = new.cast_signed() - old.cast_signed();
                    format!("{old:>9}{new:>8}{grown:>+8}")
                }
                None => format!("{new:>9}"),
            });
        }
        table.push('\n');
    };
    for group in keys(&old.code, &after.code) {
        let [old, new] = [old, after].map(|size| size.code.get(group).cloned().unwrap_or_default());
        let mut sum = [(0, 0); 3];
        for name in keys(&old, &new) {
            let [old, new] = [&old, &new].map(|code| code.get(name).copied().unwrap_or_default());
            let cells = [
                (old.source_lines, new.source_lines),
                (old.public_items, new.public_items),
                (old.test_lines, new.test_lines),
            ];
            row(name, &cells);
            for (sum, cell) in sum.iter_mut().zip(cells) {
                *sum = (sum.0 + cell.0, sum.1 + cell.1);
            }
        }
        row(&format!("= {group}: lines, items, tests"), &sum);
    }
    for name in keys(&old.words, &after.words) {
        let [old, new] = [old, after].map(|size| size.words.get(name).copied().unwrap_or_default());
        row(&format!("{name}: words"), &[(old, new)]);
    }
    table
}

fn keys<'a, K: Ord, V>(a: &'a BTreeMap<K, V>, b: &'a BTreeMap<K, V>) -> BTreeSet<&'a K> {
    a.keys().chain(b.keys()).collect()
}

/// What there is for tests and trials.
const DEVELOPMENT: &[&str] = &[
    "jackfield-demo",
    "jackfield-dialect-rules",
    "jackfield-testkit",
    "jackfield-testservers",
];

/// What the word behind the `pub` of an item can be.
const ITEMS: &[&str] = &[
    "async", "const", "enum", "extern", "fn", "macro", "mod", "static", "struct", "trait", "type",
    "unsafe", "use",
];

#[cfg(test)]
mod tests {
    use super::{Code, Size, public_items, table};
    use crate::workspace::TextFile;

    fn size(files: &[(&str, &str)]) -> Size {
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: path.into(),
                text: (*text).to_owned(),
            })
            .collect();
        Size::of(&files)
    }

    #[test]
    fn lines_that_are_not_blank_count_where_they_stand() {
        let size = size(&[
            ("crates/a/src/b/c.rs", "//! B.\n\n  \npub fn f() {}\n"),
            ("crates/a/tests/it/b.rs", "pub fn f() {}\n"),
            ("crates/a/benches/b.rs", "fn f() {}\n"),
            ("crates/jackfield-demo/src/lib.rs", "\n"),
            ("tests/src/lib.rs", "fn f() {}\n"),
            ("README.md", "# One two\n"),
            ("docs/adr/0001-a.md", "three"),
        ]);
        let code = |group: &str, name: &str| size.code[group][name];
        let expected = Code {
            source_lines: 2,
            public_items: 1,
            test_lines: 1,
        };
        assert_eq!(code("product", "a"), expected);
        assert_eq!(code("development", "jackfield-demo"), Code::default());
        assert_eq!(code("others", "tests").test_lines, 1);
        let words: Vec<_> = size
            .words
            .iter()
            .map(|(name, words)| (*name, *words))
            .collect();
        assert_eq!(words, [("README.md", 3), ("docs/adr", 1)]);
    }

    #[test]
    fn an_item_is_public_if_nothing_narrows_it() {
        for (source, count) in [
            (
                "pub const fn f() {} pub async fn g() {} pub use a::{b, c};",
                3,
            ),
            ("pub struct S { pub a: u8, pub(crate) b: u8 }", 1),
            (
                "pub(crate) fn f() {} pub(super) mod a; fn g() { \"pub fn\" }",
                0,
            ),
            ("#[macro_export] macro_rules! m { () => {} }", 1),
        ] {
            assert_eq!(public_items(source), count, "{source}");
        }
    }

    #[test]
    fn a_table_shows_a_package_that_is_new_or_gone() {
        let [one, two] = ["crates/a/src/lib.rs", "crates/b/src/lib.rs"];
        let before = size(&[(one, "a();\n")]);
        let after = size(&[(two, "a();\nb();\n"), ("a.md", "a")]);
        let shown = table(Some(&before), &after);
        let lines: Vec<String> = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "a 1 0 -1 0 0 +0 0 0 +0",
            "b 0 2 +2 0 0 +0 0 0 +0",
            "= product: lines, items, tests 1 2 +1 0 0 +0 0 0 +0",
            "other documents: words 0 1 +1",
        ];
        assert_eq!(lines, expected);
        assert!(
            table(None, &after)
                .starts_with("b                                       2        0        0\n")
        );
    }
}
