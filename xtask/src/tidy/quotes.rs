//! Code that a document quotes is code that is compiled and tested.
//!
//! A document says `<!-- from PATH -->` on the line before a block of code. Each line of the block then
//! stands in that file, in this order and without lines between them; a line `// …` leaves some out.

use std::path::Path;

use super::{Finding, Rule};
use crate::workspace::TextFile;

/// Checks every quotation.
pub(crate) fn check(files: &[TextFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for document in files.iter().filter(|file| file.is("md")) {
        let lines: Vec<&str> = document.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(path) = named(line) else { continue };
            let mut broken = |problem: String| {
                findings.push(QUOTE.broken(&document.path, at + 1, problem));
            };
            let Some(block) = block_after(&lines[at + 1..]) else {
                broken(format!("no block of code from `{path}` follows"));
                continue;
            };
            let Some(source) = files.iter().find(|file| file.path == Path::new(path)) else {
                broken(format!("there is no file `{path}`"));
                continue;
            };
            if let Some(line) = missing(block, &source.text) {
                broken(format!("`{path}` does not have `{line}` there"));
            }
        }
    }
    findings
}

/// The file that a line says the next block is from.
fn named(line: &str) -> Option<&str> {
    let inner = line.trim().strip_prefix("<!-- from ")?;
    inner.strip_suffix(" -->")
}

/// The lines of the block of code that comes next.
fn block_after<'a>(lines: &'a [&'a str]) -> Option<&'a [&'a str]> {
    let (fence, rest) = lines.split_first()?;
    if !fence.starts_with("```") {
        return None;
    }
    let end = rest.iter().position(|line| *line == "```")?;
    Some(&rest[..end])
}

/// The first line of a quotation that its source does not have where it should; `None` if all are there.
fn missing<'a>(block: &[&'a str], source: &str) -> Option<&'a str> {
    let source: Vec<&str> = source.lines().map(str::trim).collect();
    let mut from = 0;
    for part in block.split(|line| line.trim() == "// …") {
        let part: Vec<&str> = part.iter().map(|line| line.trim()).collect();
        let Some(last) = part.len().checked_sub(1) else {
            continue;
        };
        let rest = &source[from..];
        let Some(found) = rest.windows(part.len()).position(|lines| lines == part) else {
            let known = |line: &&&str| rest.contains(*line);
            let wrong = part.iter().find(|line| !known(line));
            return Some(wrong.unwrap_or(&part[0]));
        };
        from += found + last + 1;
    }
    None
}

const QUOTE: Rule = Rule {
    name: "quote",
    mend: "quote the file as it is now, and leave lines out with `// …`",
};

#[cfg(test)]
mod tests {
    use super::check;
    use crate::workspace::TextFile;

    const SOURCE: &str = "fn a() {\n    one();\n    two();\n    three();\n}\n";

    fn problems(document: &str) -> Vec<String> {
        let files = [("src/a.rs", SOURCE), ("guide.md", document)];
        let files: Vec<TextFile> = files
            .iter()
            .map(|(path, text)| TextFile {
                path: path.into(),
                text: (*text).to_owned(),
            })
            .collect();
        check(&files)
            .into_iter()
            .map(|finding| finding.problem)
            .collect()
    }

    fn quoting(code: &str) -> String {
        format!("Words.\n\n<!-- from src/a.rs -->\n```rust\n{code}```\n")
    }

    #[test]
    fn a_true_quotation_is_kept_whatever_its_indent() {
        assert!(problems(&quoting(SOURCE)).is_empty());
        assert!(problems(&quoting("one();\ntwo();\n")).is_empty());
        assert!(problems(&quoting("fn a() {\n    // …\n    three();\n}\n")).is_empty());
    }

    #[test]
    fn a_quotation_that_is_not_true_any_more_is_found() {
        for code in ["one();\nthree();\n", "four();\n", "two();\n// …\none();\n"] {
            assert_eq!(problems(&quoting(code)).len(), 1, "{code}");
        }
        assert!(problems(&quoting("one();\nfour();\n"))[0].contains("`four();`"));
    }

    #[test]
    fn a_quotation_of_nothing_is_found() {
        assert_eq!(problems("<!-- from src/a.rs -->\nWords.\n").len(), 1);
        let other = "<!-- from src/b.rs -->\n```rust\none();\n```\n";
        assert_eq!(problems(other).len(), 1);
    }
}
