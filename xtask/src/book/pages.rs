//! The pages of the repository, and how they stand in the book.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

use super::diagram;

/// A page of the book.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Page {
    /// Its file from the root of the repository; empty for one that is generated.
    pub(super) from: PathBuf,
    pub(super) title: String,
    /// Its file in the book.
    pub(super) to: PathBuf,
}

/// Every document of the repository that is for readers.
pub(super) fn of_repository(root: &Path) -> anyhow::Result<Vec<Page>> {
    let mut files: Vec<(PathBuf, PathBuf)> = Vec::new();
    for name in TOP {
        if root.join(name).is_file() {
            let to = if *name == "README.md" {
                "index.md".to_owned()
            } else {
                name.to_ascii_lowercase()
            };
            files.push((PathBuf::from(name), PathBuf::from(to)));
        }
    }
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in sorted(&root.join(&folder))? {
            let path = folder.join(&entry);
            if root.join(&path).is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                let to = path.strip_prefix("docs")?;
                let to = if entry == "README.md" {
                    to.with_file_name("index.md")
                } else {
                    to.to_owned()
                };
                files.push((path, to));
            }
        }
    }
    let pages = files.into_iter().map(|(from, to)| {
        let file = root.join(&from);
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let title = text.lines().find_map(|line| line.strip_prefix("# "));
        let title = title.with_context(|| format!("{} has no title", from.display()))?;
        Ok(Page {
            from,
            title: title.to_owned(),
            to,
        })
    });
    pages.collect()
}

/// Copies the other files of the documents: pictures, and what can be downloaded.
pub(super) fn copy_files(root: &Path, source: &Path) -> anyhow::Result<()> {
    for folder in FILES {
        let folder = Path::new(folder);
        for name in sorted(&root.join("docs").join(folder))? {
            let (from, to) = (
                root.join("docs").join(folder).join(&name),
                source.join(folder),
            );
            fs::create_dir_all(&to)
                .and_then(|()| fs::copy(&from, to.join(&name)))
                .with_context(|| format!("cannot copy {}", from.display()))?;
        }
    }
    Ok(())
}

/// The text of a page, whose links lead to where their targets stand in the book.
pub(super) fn text(root: &Path, page: &Page, pages: &[Page]) -> anyhow::Result<String> {
    let file = root.join(&page.from);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut out = String::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let fence = line.trim_start();
        if fence.starts_with("```") {
            let block: Vec<&str> = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| !line.trim_start().starts_with("```"))
                .collect();
            if fence == "```mermaid" {
                let drawn = diagram::svg(&block)
                    .with_context(|| format!("{}:{}", page.from.display(), index + 1))?;
                out.push_str(&drawn);
            } else {
                out.push_str(&format!("{line}\n{}\n", block.join("\n")));
                let indent = &line[..line.len() - fence.len()];
                out.push_str(&format!("{indent}```\n"));
            }
            continue;
        }
        let moved = moved_links(root, page, pages, line)
            .with_context(|| format!("{}:{}", page.from.display(), index + 1))?;
        out.push_str(&moved);
        out.push('\n');
    }
    Ok(out)
}

/// A line with its links as the book needs them. A link to a file that is in no book becomes its text.
fn moved_links(root: &Path, page: &Page, pages: &[Page], line: &str) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        let Some(length) = rest[at + 2..].find(')') else {
            break;
        };
        let link = &rest[at + 2..at + 2 + length];
        out.push_str(&rest[..at]);
        rest = &rest[at + 3 + length..];
        let is_code = out.matches('`').count() % 2 == 1;
        if is_code || link.contains("://") || link.starts_with("mailto:") || link.starts_with('#') {
            out.push_str(&format!("]({link})"));
            continue;
        }
        let (file, anchor) = match link.split_once('#') {
            Some((file, anchor)) => (file, format!("#{anchor}")),
            None => (link, String::new()),
        };
        let folder = page.from.parent().unwrap_or_else(|| Path::new(""));
        let target = plain(&folder.join(file));
        if !root.join(&target).exists() {
            bail!("the link `{link}` leads nowhere");
        }
        let place = pages.iter().find(|page| page.from == target);
        let place = place.map(|page| page.to.clone()).or_else(|| {
            let file = target.strip_prefix("docs").ok()?;
            let is_copied = FILES.iter().any(|folder| file.starts_with(folder));
            is_copied.then(|| file.to_owned())
        });
        match place {
            Some(place) => {
                let way = way(&page.to, &place);
                out.push_str(&format!("]({way}{anchor})"));
            }
            None => {
                // Only its text is left.
                if let Some(open) = out.rfind('[') {
                    out.remove(open);
                }
            }
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The relative way from one file of the book to another.
fn way(from: &Path, to: &Path) -> String {
    let depth = from.components().count().saturating_sub(1);
    format!("{}{}", "../".repeat(depth), to.display())
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::Prefix(_) | Component::RootDir => {}
        }
    }
    plain
}

fn sorted(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// The folders of `docs` whose files are copied.
const FILES: &[&str] = &["deploy", "images", "monitoring"];

/// The documents at the root of the repository.
const TOP: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "ROADMAP.md",
    "SECURITY.md",
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Page, moved_links};

    fn page(from: &str, to: &str) -> Page {
        Page {
            from: from.into(),
            title: String::new(),
            to: to.into(),
        }
    }

    #[test]
    fn links_lead_to_where_their_targets_stand() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let pages = [
            page("README.md", "index.md"),
            page("docs/cli.md", "cli.md"),
            page("docs/guides/spending.md", "guides/spending.md"),
        ];
        let moved = |from: usize, line: &str| moved_links(root, &pages[from], &pages, line);
        for (from, line, expected) in [
            (
                0,
                "see [a](docs/cli.md#notes), [b](https://x.example/a.md)",
                "see [a](cli.md#notes), [b](https://x.example/a.md)",
            ),
            (
                2,
                "[a](../cli.md) and [b](#here)",
                "[a](../cli.md) and [b](#here)",
            ),
            (
                2,
                "[home](../../README.md), [`code`](../../xtask/src/main.rs)!",
                "[home](../index.md), `code`!",
            ),
            (
                1,
                "![p](images/page-phone.png) `[x](y)`",
                "![p](images/page-phone.png) `[x](y)`",
            ),
        ] {
            assert_eq!(moved(from, line).unwrap(), expected);
        }
        assert!(moved(1, "[a](gone.md)").is_err());
    }
}
