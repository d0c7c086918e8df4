//! The files of the page.

use std::collections::BTreeSet;

use jackfield_web::{POLICY, assets, find};

fn text(path: &str) -> &'static str {
    let asset = find(path).expect("a file");
    std::str::from_utf8(asset.bytes).expect("text")
}

/// The names between quotes behind this word, such as `from '`.
fn named<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let rest = text.split(before).skip(1);
    rest.filter_map(|rest| rest.split(['"', '\'']).next())
        .collect()
}

#[test]
fn every_file_that_another_one_names_is_there() {
    let page = text("/");
    for path in [named(page, "href=\"/"), named(page, "src=\"/")].concat() {
        assert!(find(&format!("/{path}")).is_some(), "{path}");
    }
    for asset in assets() {
        let text = std::str::from_utf8(asset.bytes).expect("text");
        for name in [named(text, "from './"), named(text, "import('./")].concat() {
            assert!(find(&format!("/ui/{name}")).is_some(), "{name}");
        }
    }
    assert!(find("/ui/nothing.js").is_none());
    assert!(find("/ui/../assets.rs").is_none());
}

#[test]
fn all_files_together_are_small() {
    let first: usize = assets().iter().map(|asset| asset.compressed.len()).sum();
    assert!(first < 130_000, "{first} bytes");
    for asset in assets() {
        assert!(asset.compressed.len() > 20, "{}", asset.path);
        assert!(asset.bytes.len() < 32_000, "{}", asset.path);
    }
}

#[test]
fn the_first_view_is_small_and_all_of_it_is_asked_for_at_once() {
    let page = text("/");
    let preloaded: BTreeSet<&str> = named(page, "modulepreload\" href=\"/ui/")
        .into_iter()
        .collect();
    let mut needed = BTreeSet::from(["main.js"]);
    let mut rest = vec!["main.js"];
    while let Some(name) = rest.pop() {
        for other in named(text(&format!("/ui/{name}")), "from './") {
            if needed.insert(other) {
                rest.push(other);
            }
        }
    }
    needed.remove("main.js");
    assert_eq!(preloaded, needed);
    let size = |path: &str| find(path).expect("a file").compressed.len();
    let language = ["en", "ru", "zh"].map(|name| size(&format!("/ui/texts/{name}.js")));
    let modules = needed.iter().map(|name| size(&format!("/ui/{name}")));
    let others = [
        "/",
        "/ui/event_worker.js",
        "/ui/main.js",
        "/ui/page.css",
        "/ui/icon.svg",
    ]
    .map(size);
    let whole = modules.chain(others).chain(language.into_iter().max());
    let whole: usize = whole.sum();
    assert!(whole <= 60_000, "{whole} bytes");
}

#[test]
fn the_policy_allows_nothing_inline_and_the_page_has_nothing_inline() {
    assert!(!POLICY.contains("unsafe"), "{POLICY}");
    let page = text("/");
    for inline in ["<style", "style=", "onclick", "javascript:", "<script>"] {
        assert!(!page.contains(inline), "{inline}");
    }
    for asset in assets() {
        let text = std::str::from_utf8(asset.bytes).expect("text");
        for sink in [
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ] {
            assert!(!text.contains(sink), "{}: {sink}", asset.path);
        }
        // One place takes HTML: that which the gateway made.
        let takes = text.matches("innerHTML").count();
        let expected = usize::from(asset.path == "/ui/reply_text.js");
        assert_eq!(takes, expected, "{}", asset.path);
    }
}

#[test]
fn every_language_has_the_same_texts() {
    let keys = |language: &str| -> BTreeSet<&str> {
        let files = ["", "more/"].map(|folder| text(&format!("/ui/texts/{folder}{language}.js")));
        let lines = files.into_iter().flat_map(str::lines);
        let entries = lines.filter_map(|line| line.strip_prefix("  ")?.split_once(": '"));
        entries.map(|(key, _)| key).collect()
    };
    let english = keys("en");
    assert!(english.len() > 100, "{}", english.len());
    for language in ["ru", "zh"] {
        assert_eq!(keys(language), english, "{language}");
    }
    for asset in assets() {
        let text = std::str::from_utf8(asset.bytes).expect("text");
        for key in named(text, "say('") {
            assert!(english.contains(key), "{}: {key}", asset.path);
        }
    }
}
