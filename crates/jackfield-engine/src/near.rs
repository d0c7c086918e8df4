//! Suggests known names for a wrong one.

/// `; did you mean …?` if a known name is near, and a list of the known names otherwise.
#[must_use]
pub fn did_you_mean(name: &str, known: &[impl AsRef<str>]) -> String {
    match nearest(name, known) {
        Some(near) => format!("{DID_YOU_MEAN}`{near}`?"),
        None if known.is_empty() => String::new(),
        None => {
            let mut known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
            known.sort_unstable();
            known.dedup();
            format!("; there are: {}", known.join(", "))
        }
    }
}

/// The nearest known name, if it is near enough.
fn nearest<'a>(name: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let scored = known.iter().map(|known| {
        let known = known.as_ref();
        (strsim::jaro_winkler(&name, &known.to_lowercase()), known)
    });
    let (score, near) = scored.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    (score >= NEAR_ENOUGH).then_some(near)
}

/// The text before a suggestion.
pub const DID_YOU_MEAN: &str = "; did you mean ";

/// The similarity of `roundz` and `rounds` is above this; that of `top_p` and `model` is far below.
const NEAR_ENOUGH: f64 = 0.8;
