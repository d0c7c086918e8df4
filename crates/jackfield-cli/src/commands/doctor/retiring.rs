//! Configured models that their vendors retire.

use jackfield_assembly::Config;
use jackfield_domain::time::WallTime;

use super::{Area, DoctorCheck};
use crate::render::usage::prices::retires;

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
    retiring.map(move |(model, day)| {
        let (provider, model, verb) = (&model.provider, &model.model, retires(&day, now));
        format!("the vendor of `{provider}/{model}` {verb} it on {day}")
    })
}
