//! Formulas in the notation of TeX, as MathML.

use std::sync::LazyLock;
use std::thread;

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

pub(crate) use self::find::{Formula, Formulas};
use self::safe::safe;

mod find;
mod safe;

/// Makes the MathML of each formula that can be read.
///
/// The library goes one level deeper for each sign that nests, and has no limit of its own, so it gets a stack that is
/// large enough for the most signs.
pub(crate) fn convert(formulas: &mut [Formula]) {
    if formulas.is_empty() {
        return;
    }
    thread::scope(|scope| {
        let deep = thread::Builder::new().stack_size(STACK);
        let made = deep.spawn_scoped(scope, || {
            let mut left = MAX_MATHML;
            for formula in formulas {
                let made = mathml(formula).filter(|made| made.len() <= left);
                left -= made.as_ref().map_or(0, String::len);
                formula.mathml = made;
            }
        });
        // Without a thread, or after a panic, a formula is shown as it was written.
        made.map(|made| made.join().is_ok()).unwrap_or_default();
    });
}

fn mathml(formula: &Formula) -> Option<String> {
    static CONVERTER: LazyLock<Option<LatexToMathML>> = LazyLock::new(|| {
        let macros = MACROS.map(|(name, tex)| (name.to_owned(), tex.to_owned()));
        let config = MathCoreConfig {
            macros: macros.into(),
            ..MathCoreConfig::default()
        };
        LatexToMathML::new(config).ok()
    });
    let signs = formula.tex.matches(['\\', '{', '[', '^', '_']).count();
    if signs > MAX_SIGNS {
        return None;
    }
    let mut tex = formula.tex.clone();
    // The numbers of equations would begin anew with each formula.
    for name in NUMBERED {
        tex = tex.replace(&format!("{{{name}}}"), &format!("{{{name}*}}"));
    }
    let display = match formula.is_display {
        false => MathDisplay::Inline,
        true => MathDisplay::Block,
    };
    let made = CONVERTER
        .as_ref()?
        .convert_with_local_state(&tex, display)
        .ok()?;
    safe(&made.mathml)
}

/// What models write and the library does not have. The colour stands for a box.
const MACROS: [(&str, &str); 3] = [
    ("boxed", r"{\color[HTML]{010203}#1}"),
    ("tag", r"\qquad(\mathrm{#1})"),
    ("textcolor", "{#2}"),
];
/// The environments that number their lines.
const NUMBERED: [&str; 5] = ["align", "alignat", "equation", "gather", "multline"];
/// The most signs of a formula that may nest.
const MAX_SIGNS: usize = 1_000;
/// The most bytes of MathML in a text.
const MAX_MATHML: usize = 1 << 20;
/// Twice of what so many signs need in a debug build, where it is most.
const STACK: usize = 64 << 20;
