//! Measures, and says what came of it: `jackfield-bench [--quick] [--only CASE] [--write PAGE]`.
#![expect(clippy::print_stdout, reason = "a benchmark speaks through its output")]

use anyhow::{Context as _, bail};
use jackfield_benches::document::{filled, machine};
use jackfield_benches::journal::{recovery, waiting};
use jackfield_benches::suite::{self, Amount, ours};

fn main() -> anyhow::Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let given: Vec<&str> = given.iter().map(String::as_str).collect();
    // What a case has done in a process of its own.
    match *given {
        ["--hold", file] => {
            return recovery::hold(&ours()?, file.as_ref(), |count| println!("{count}"));
        }
        ["--wait", file, turns, base_url] => {
            let [before, after, bytes] =
                waiting::wait(&ours()?, file.as_ref(), turns.parse()?, base_url)?;
            println!("{before} {after} {bytes}");
            return Ok(());
        }
        _ => {}
    }
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
