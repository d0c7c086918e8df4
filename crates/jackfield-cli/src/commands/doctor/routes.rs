//! Checks of the routes: that each has a target with a key, and what the running gateway says about them.

use jackfield_assembly::{Assembly, Config, Surroundings};

use crate::commands::routes::{TOKEN, live};
use crate::doctor_check::{Area, DoctorCheck};

/// A check for each route.
pub(super) async fn all(
    config: &Config,
    assembled: &Assembly,
    surroundings: &Surroundings,
    is_offline: bool,
) -> Vec<DoctorCheck> {
    if config.routes.is_empty() {
        return Vec::new();
    }
    let token = surroundings.environment.variable(TOKEN);
    let token = token.ok().flatten();
    let told = if is_offline {
        None
    } else {
        live(config, token.as_deref()).await.0
    };
    let checks = config.routes.iter().map(|(name, route)| {
        let missing: Vec<&str> = route
            .targets
            .iter()
            .map(|target| &*target.model.provider)
            .filter(|provider| assembled.missing_keys.contains_key(*provider))
            .collect();
        if missing.len() == route.targets.len() {
            let finding = format!("the route `{name}` has no target with a key");
            let help = "set the key of one of its providers";
            return DoctorCheck::failed(Area::Routes, finding, help);
        }
        if !missing.is_empty() {
            let finding = format!(
                "the route `{name}` has targets without a key: {}",
                missing.join(", ")
            );
            let help = "set their keys, or take them out of the route";
            return DoctorCheck::warning(Area::Routes, finding, help);
        }
        let routes = told.as_ref().and_then(|told| told["routes"].as_array());
        let own = routes.and_then(|routes| routes.iter().find(|one| one["name"] == **name));
        let targets = own.and_then(|own| own["targets"].as_array());
        let out: Vec<String> = targets
            .into_iter()
            .flatten()
            .filter(|target| target["state"] != "closed")
            .map(|target| {
                let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
                let kind = text(&target["last_failure"]["kind"]);
                format!("{} ({kind})", text(&target["model"]))
            })
            .collect();
        let count = route.targets.len();
        if out.is_empty() {
            let state = if targets.is_some() {
                "up"
            } else {
                "configured"
            };
            DoctorCheck::passed(
                Area::Routes,
                format!("the route `{name}`: {count} targets {state}"),
            )
        } else {
            let finding = format!("the route `{name}` goes on without {}", out.join(", "));
            let help = "`jackfield routes` says since when, why, and when each is tried again";
            DoctorCheck::warning(Area::Routes, finding, help)
        }
    });
    checks.collect()
}
