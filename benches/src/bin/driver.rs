//! Measures, and says what came of it: `jackfield-bench [--quick] [--only CASE] [--write PAGE]`.
#![expect(clippy::print_stdout, reason = "a benchmark speaks through its output")]

use anyhow::{Context as _, bail};
use jackfield_benches::document::{filled, machine};
use jackfield_benches::suite::{self, Amount};

fn main() -> anyhow::Result<()> {
    let (mut amount, mut only, mut page) = (Amount::Whole, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .with_context(|| format!("{argument} WHAT?"))
        };
        match argument.as_str() {
            "--only" => only = Some(value()?),
            "--quick" => amount = Amount::Quick,
            "--write" => page = Some(value()?),
            _ => bail!("there is no `{argument}`; there are --only CASE, --quick and --write PAGE"),
        }
    }
    let machine = machine();
    let report = suite::run(amount, only.as_deref())?;
    println!("{machine}\n\n{report}");
    if let Some(page) = page {
        let text = std::fs::read_to_string(&page)?;
        let block = format!("{machine}\n\n{report}");
        let text = filled(&text, &block).with_context(|| format!("{page} has no marks"))?;
        std::fs::write(&page, text)?;
    }
    Ok(())
}
