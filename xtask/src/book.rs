//! `cargo xtask book`: the documents as a site that can be searched, in `target/book/html`.
//!
//! The pages are those of the repository. What follows from the code is generated from it each time: the keys of the
//! configuration, the help of the commands, the API and the contracts.

mod api;
mod commands;
mod contracts;
mod diagram;
mod keys;
mod links;
mod pages;
mod snippets;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use self::pages::Page;
use crate::{run, tools, workspace};

/// Builds the site, and checks every link in it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mdbook = tools::MDBOOK.program(root)?;
    let out = root.join("target/book");
    let source = out.join("src");
    if source.exists() {
        fs::remove_dir_all(&source)
            .with_context(|| format!("cannot empty {}", source.display()))?;
    }
    let mut pages = pages::of_repository(root)?;
    for page in &pages {
        put(&source, &page.to, &pages::text(root, page, &pages)?)?;
    }
    pages::copy_files(root, &source)?;
    let program = built_program(root)?;
    let helps = commands::helps(root, &program)?;
    let snippets = snippets::check(root, &program, &pages, &helps)?;
    let mut generated = vec![keys::page(root, &program)?, commands::page(&helps)];
    generated.push(api::page(root, &program)?);
    generated.extend(contracts::pages(root)?);
    for (page, text) in generated {
        put(&source, &page.to, &text)?;
        pages.push(page);
    }
    put(&source, Path::new("SUMMARY.md"), &summary::text(&pages))?;
    put(&out, Path::new("book.toml"), BOOK)?;
    let html = out.join("html");
    if html.exists() {
        fs::remove_dir_all(&html).with_context(|| format!("cannot empty {}", html.display()))?;
    }
    run::succeed(&mut run::command(mdbook, &out, ["build"]))?;
    let checked = links::check(&html)?;
    println!(
        "book: {} pages, {checked} links, {snippets} examples, in {}",
        pages.len(),
        html.display()
    );
    Ok(())
}

/// A page that is made of code, with its text.
type Generated = (Page, String);

/// The `jackfield` of this source.
fn built_program(root: &Path) -> anyhow::Result<PathBuf> {
    let mut build = run::cargo(root, ["build", "--quiet", "--package", "jackfield-cli"]);
    run::succeed(build.args(["--bin", "jackfield"]))?;
    let name = format!("jackfield{}", std::env::consts::EXE_SUFFIX);
    let program = workspace::target(root)?.join("debug").join(name);
    if !program.is_file() {
        bail!("cargo built no {}", program.display());
    }
    Ok(program)
}

fn put(folder: &Path, file: &Path, text: &str) -> anyhow::Result<()> {
    let file = folder.join(file);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

const BOOK: &str = r#"[book]
title = "Jackfield"
language = "en"
src = "src"

[build]
build-dir = "html"
create-missing = false

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"

[output.html.fold]
enable = true
level = 0

[output.html.print]
enable = false

[output.html.search]
limit-results = 30
"#;

/// A text in which nothing is taken for HTML, nor for a link that rustdoc would resolve.
fn plain_text(text: &str) -> String {
    text.replace('<', "&lt;")
        .replace("[`", "`")
        .replace("`]", "`")
}
