//! Every link of the site leads to a file that is there, and to a place in it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// Checks all pages, and returns how many links of the site there are.
pub(super) fn check(html: &Path) -> anyhow::Result<usize> {
    let mut pages: HashMap<PathBuf, String> = HashMap::new();
    let mut folders = vec![html.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "html") {
                let text = fs::read_to_string(&path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                pages.insert(path, text);
            }
        }
    }
    let places: HashMap<&Path, HashSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path.as_path(), values(text, " id=\"").collect()))
        .collect();
    let mut checked = 0;
    let mut broken = Vec::new();
    for (page, text) in &pages {
        // Its addresses count from the page where the server found none.
        if page.ends_with("404.html") {
            continue;
        }
        for link in values(text, " href=\"").chain(values(text, " src=\"")) {
            let is_elsewhere = link.contains(':') || link.starts_with("//");
            if is_elsewhere || link.is_empty() {
                continue;
            }
            checked += 1;
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.clone()
            } else {
                plain(&page.with_file_name(file))
            };
            let is_there = match places.get(target.as_path()) {
                Some(places) => place.is_empty() || places.contains(place),
                None => target.is_file(),
            };
            if !is_there {
                let page = page.strip_prefix(html).unwrap_or(page);
                broken.push(format!("{}: `{link}` leads nowhere", page.display()));
            }
        }
    }
    broken.sort();
    broken.dedup();
    if !broken.is_empty() {
        bail!("{} broken links:\n{}", broken.len(), broken.join("\n"));
    }
    Ok(checked)
}

/// The values of an attribute, as they are written.
fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(attribute)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
}

fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            plain.pop();
        } else if part.as_os_str() != "." {
            plain.push(part);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::check;

    #[test]
    fn a_link_to_no_file_and_to_no_place_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            fs::create_dir_all(folder.path().join("sub")).unwrap();
            fs::write(folder.path().join(name), text).unwrap();
        };
        put(
            "a.html",
            "<a href=\"sub/b.html#here\">b</a> <a href=\"#top\">t</a> <h1 id=\"top\">",
        );
        put(
            "sub/b.html",
            "<h1 id=\"here\"><a href=\"../a.html\"> <a href=\"https://x.example/\">",
        );
        assert_eq!(check(folder.path()).unwrap(), 3);
        put("c.html", "<a href=\"a.html#gone\"><img src=\"no.png\">");
        assert_eq!(
            check(folder.path()).unwrap_err().to_string(),
            "2 broken links:\nc.html: `a.html#gone` leads nowhere\nc.html: `no.png` leads nowhere"
        );
    }
}
