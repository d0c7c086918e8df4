//! `jackfield routes`: the routes, and the state of their targets in the gateway that runs.

use jackfield_assembly::{Config, ConfigError, Registry, ask_gateway, load};
use serde_json::{Value, json};

use crate::args::RoutesArgs;
use crate::commands::{ask, config, printed};
use crate::exit::Exit;
use crate::fault::CommandError;
use crate::render;

/// Lists the routes.
///
/// # Errors
///
/// [`CommandError`] with the exit code and help.
pub async fn run(asked: RoutesArgs, registry: &Registry) -> Result<Exit, CommandError> {
    let surroundings = config::surroundings()?;
    let loaded = load(&surroundings, &ask::source_flags(&asked.source))?;
    // A route with a provider of an unknown kind is reported here, as by every other command.
    registry.assemble(&loaded, &surroundings.environment)?;
    let token = surroundings.environment.variable(TOKEN);
    let token = token.map_err(ConfigError::from)?;
    let (live, remark) = live(&loaded, token.as_deref()).await;
    let routes = listed(&loaded, live.as_ref());
    let out = &mut anstream::stdout();
    if !asked.json
        && let Some(remark) = remark
        && !routes.is_empty()
    {
        render::remark(&remark);
    }
    printed::finish(
        render::routes::list(out, &routes, asked.json),
        Exit::Answered,
    )
}

/// The routes of the running gateway, or why their state is not known.
pub(crate) async fn live(config: &Config, token: Option<&str>) -> (Option<Value>, Option<String>) {
    match ask_gateway(config, "/api/v1/routes", token).await {
        Ok(routes) => (Some(routes), None),
        Err(error) => (
            None,
            Some(format!("the state of the targets is not known: {error}")),
        ),
    }
}

/// The configured routes as in the API, with the state that a gateway tells.
fn listed(config: &Config, live: Option<&Value>) -> Vec<Value> {
    let routes = config.routes.iter().map(|(name, route)| {
        let told = live.and_then(|live| live["routes"].as_array());
        let told = told.and_then(|told| told.iter().find(|one| one["name"] == **name));
        if let Some(told) = told {
            return told.clone();
        }
        let plain = route.targets.iter().map(|target| (target, false));
        let filtered = route.content_filter.iter().map(|target| (target, true));
        let targets = plain.chain(filtered).map(|(target, content_filter)| {
            json!({
                "model": format!("{}/{}", target.model.provider, target.model.model),
                "tier": target.tier,
                "weight": target.weight,
                "content_filter": content_filter,
                "state": null,
            })
        });
        json!({ "name": **name, "targets": targets.collect::<Vec<_>>() })
    });
    routes.collect()
}

/// The variable with the token for the gateway.
pub(crate) const TOKEN: &str = "JACKFIELD_TOKEN";
