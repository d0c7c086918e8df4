//! Configured models that their vendors retire.

use jackfield_assembly::Config;
use jackfield_domain::time::WallTime;

use super::{Area, DoctorCheck};

/// Warns of each configured model that its vendor retires soon.
pub(super) fn all(config: &Config, now: WallTime) -> Vec<DoctorCheck> {
    let checks = said(config, now).map(|says| {
        let help =
            "name another model in the configuration; `jackfield models` lists those of a provider";
        DoctorCheck::warning(Area::Models, says, help)
    });
    checks.collect()
}

/// A sentence on each configured model that its vendor retires soon.
pub(crate) fn said(config: &Config, now: WallTime) -> impl Iterator<Item = String> {
    let retiring = config.retiring(now).into_iter();
    let today = now.to_rfc3339();
    retiring.map(move |(model, day)| {
        // Days of this form are in the order of their texts.
        let is_past = today.get(..day.len()).is_some_and(|today| *day < *today);
        let verb = if is_past { "retired" } else { "retires" };
        format!(
            "the vendor of `{}/{}` {verb} it on {day}",
            model.provider, model.model
        )
    })
}
