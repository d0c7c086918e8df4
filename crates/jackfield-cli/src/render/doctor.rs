//! Check results, for people and for programs.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::doctor_check::{CheckResult, DoctorCheck, TroubleshootingSection};
use crate::render::plain::{BAD, DIM, GOOD, NAME, WARM};
use crate::render::tools::document;
use crate::render::words;

/// Prints one check; the first one of an area after its heading.
///
/// # Errors
///
/// The stream cannot be written.
pub fn checked(out: &mut impl Write, check: &DoctorCheck, is_first: bool) -> io::Result<()> {
    if is_first {
        writeln!(out, "{NAME}{}{NAME:#}", check.area.as_str())?;
    }
    let (sign, word, style) = match check.verdict {
        CheckResult::Failed => ("✗", "failed: ", BAD),
        CheckResult::Fine => ("✓", "", GOOD),
        CheckResult::Skipped => ("-", "skipped: ", DIM),
        CheckResult::Warning => ("!", "warning: ", WARM),
    };
    let took = check
        .duration
        .map(|took| format!(" ({})", words::time(took)));
    writeln!(
        out,
        "  {style}{sign} {word}{style:#}{}{DIM}{}{DIM:#}",
        words::printable(&check.finding),
        took.unwrap_or_default()
    )?;
    if let Some(help) = check.help.as_ref().filter(|help| !help.is_empty()) {
        writeln!(out, "    {GOOD}help{GOOD:#}: {}", words::printable(help))?;
    }
    if let Some(page) = check.page {
        writeln!(out, "    {DIM}see {}{DIM:#}", page.as_str())?;
    }
    out.flush()
}

/// Prints the number of failed checks; for programs, all checks.
///
/// # Errors
///
/// The stream cannot be written.
pub fn checks(out: &mut impl Write, checks: &[DoctorCheck], as_json: bool) -> io::Result<()> {
    let count = |verdict| {
        checks
            .iter()
            .filter(|check| check.verdict == verdict)
            .count()
    };
    let (failed, warnings) = (count(CheckResult::Failed), count(CheckResult::Warning));
    if as_json {
        let all: Vec<Value> = checks.iter().map(check_json).collect();
        return document(
            out,
            &json!({ "failed": failed, "warnings": warnings, "checks": all }),
        );
    }
    let warnings = match warnings {
        0 => String::new(),
        warnings => format!(", {}", words::counted(warnings as u64, "warning")),
    };
    match failed {
        0 => writeln!(out, "\n{GOOD}nothing failed{GOOD:#}{warnings}")?,
        failed => writeln!(out, "\n{BAD}{failed} failed{BAD:#}{warnings}")?,
    }
    out.flush()
}

fn check_json(check: &DoctorCheck) -> Value {
    let took = check
        .duration
        .map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    json!({
        "area": check.area.as_str(),
        "verdict": check.verdict.as_str(),
        "says": check.finding,
        "help": check.help.as_ref().filter(|help| !help.is_empty()),
        "see": check.page.map(TroubleshootingSection::as_str),
        "took_ms": took,
    })
}
