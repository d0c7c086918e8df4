//! The list of chapters. A document that is named nowhere here stands at the end of its part.

use std::path::Path;

use super::pages::Page;

/// The text of `SUMMARY.md`.
pub(super) fn text(pages: &[Page]) -> String {
    let mut text = "# Summary\n\n".to_owned();
    for page in pages.iter().filter(|page| page.to == Path::new("index.md")) {
        text.push_str(&format!("[{}](index.md)\n", page.title));
    }
    for part in PARTS {
        let mut chapters: Vec<&Page> = pages.iter().filter(|page| part.has(&page.to)).collect();
        chapters.sort_by_key(|page| {
            let mut names = part.order.iter();
            let place = names.position(|name| page.to == Path::new(name));
            (place.unwrap_or(usize::MAX), page.title.clone())
        });
        if chapters.is_empty() {
            continue;
        }
        text.push_str(&format!("\n# {}\n\n", part.title));
        for page in chapters {
            text.push_str(&format!("- [{}]({})\n", page.title, page.to.display()));
            let Some(folder) = page.to.parent().filter(|_| page.to.ends_with("index.md")) else {
                continue;
            };
            let mut below: Vec<&Page> = pages
                .iter()
                .filter(|below| below.to != page.to && below.to.starts_with(folder))
                .collect();
            below.sort_by(|one, two| one.to.cmp(&two.to));
            for page in below {
                text.push_str(&format!("  - [{}]({})\n", page.title, page.to.display()));
            }
        }
    }
    text
}

/// A part of the book.
struct Part {
    /// The folder of its further pages; the empty one for those of the top that no part names.
    folder: Option<&'static str>,
    /// The pages that come first, in this order.
    order: &'static [&'static str],
    title: &'static str,
}

impl Part {
    fn has(&self, page: &Path) -> bool {
        let is_named = |part: &Self| part.order.iter().any(|name| page == Path::new(name));
        if is_named(self) {
            return true;
        }
        if page == Path::new("index.md") || PARTS.iter().any(is_named) {
            return false;
        }
        match self.folder {
            Some("") => page.parent() == Some(Path::new("")),
            Some(folder) => page.starts_with(folder),
            None => false,
        }
    }
}

const PARTS: &[Part] = &[
    Part {
        folder: Some("concepts"),
        order: &[
            "concepts/session-and-turn.md",
            "concepts/round.md",
            "concepts/journal.md",
            "concepts/approval.md",
            "concepts/recovery.md",
            "glossary.md",
        ],
        title: "Concepts",
    },
    Part {
        folder: Some("guides"),
        order: &["guides/install.md", "guides/run-the-gateway.md"],
        title: "Guides",
    },
    Part {
        folder: Some(""),
        order: &[
            "configuration.md",
            "configuration-keys.md",
            "cli.md",
            "commands.md",
            "http.md",
            "api.md",
            "api-operations.md",
            "page.md",
        ],
        title: "Reference",
    },
    Part {
        folder: None,
        order: &["troubleshooting.md"],
        title: "Help",
    },
    Part {
        folder: None,
        order: &[
            "architecture.md",
            "contracts/index.md",
            "adr/index.md",
            "benchmarks.md",
        ],
        title: "Inside",
    },
    Part {
        folder: Some("contributing"),
        order: &[
            "contributing.md",
            "roadmap.md",
            "changelog.md",
            "security.md",
            "code_of_conduct.md",
        ],
        title: "The project",
    },
];

#[cfg(test)]
mod tests {
    use super::text;
    use crate::book::pages::Page;

    #[test]
    fn every_page_is_in_it_once_and_those_of_an_index_stand_below_it() {
        let files = [
            "index.md",
            "cli.md",
            "new.md",
            "adr/index.md",
            "adr/0002-b.md",
            "adr/0001-a.md",
            "guides/use-x.md",
            "guides/run-the-gateway.md",
            "troubleshooting.md",
        ];
        let pages = files.map(|file| Page {
            from: file.into(),
            title: file.to_owned(),
            to: file.into(),
        });
        let summary = text(&pages);
        for file in files {
            assert_eq!(
                summary.matches(&format!("]({file})")).count(),
                1,
                "{file}\n{summary}"
            );
        }
        assert!(
            summary
                .contains("- [adr/index.md](adr/index.md)\n  - [adr/0001-a.md](adr/0001-a.md)\n")
        );
        let place = |file: &str| summary.find(&format!("[{file}]"));
        assert!(place("guides/run-the-gateway.md") < place("guides/use-x.md"));
        assert!(place("cli.md") < place("new.md"));
    }
}
