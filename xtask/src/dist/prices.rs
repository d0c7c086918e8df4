//! `cargo xtask prices`: makes the list prices that come with Jackfield.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use jackfield_prices::Catalogue;
use jackfield_prices::merge::merge;
use jackfield_prices::source::{self, PriceFile, Source};

use crate::args::Prices;

pub(crate) fn run(root: &Path, prices: &Prices) -> anyhow::Result<()> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| path.display().to_string());
    let mut files = Vec::new();
    for (path, expected) in [
        (&prices.litellm, Source::LiteLlm),
        (&prices.genai_prices, Source::GenaiPrices),
    ] {
        let file = source::read(&read(path)?, &prices.day);
        check(path, &file, expected)?;
        files.push(file);
    }
    let own = Catalogue::parse(read(&root.join(OWN))?).context(OWN)?;
    let merged = merge(&files, Some(&own), &prices.day)?;
    for name in &merged.free {
        eprintln!("left out, as nothing is no price that one source alone can say: {name}");
    }
    for difference in &merged.differences {
        eprintln!("differs: {difference}");
    }
    let text = merged.catalogue.text();
    fs::write(root.join(&prices.out), text).with_context(|| prices.out.display().to_string())?;
    let (models, differing) = (merged.catalogue.names().count(), merged.differences.len());
    println!(
        "{models} models, {} bytes; the sources differ on {differing}",
        text.len()
    );
    Ok(())
}

fn check(path: &Path, file: &PriceFile, expected: Source) -> anyhow::Result<()> {
    let path = path.display();
    if file.source != expected {
        bail!("{path} has the form of the other file: is it given by the other flag?");
    }
    for problem in &file.problems {
        eprintln!("{path}: {problem}");
    }
    if file.problems.iter().any(|problem| problem.is_error) {
        bail!("{path} has fields that change prices, and that are not read as they should be");
    }
    Ok(())
}

/// What both files lack, written by hand.
const OWN: &str = "crates/jackfield-prices/own.txt";
