//! Makes toolboxes of the configured web APIs.

use std::sync::Arc;

use jackfield_domain::ids::ToolboxId;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxStatus};
use jackfield_provider_kit::guarded::{Allowed, GuardedClient};
use jackfield_provider_kit::secret::Secret;
use jackfield_tools_web::{Header, WebTool, WebTools};

use super::super::network::{guarded, unreachable};
use crate::config::Config;
use crate::expand::{expand, expand_with};
use crate::place::{ConfigProblem, Origin};
use crate::surroundings::Environment;
use crate::web::{FOUND, OWN, WebApi};

/// Adds the toolboxes of the configured web APIs. In discreet mode, only the log has the reason why
/// an API cannot be used.
pub(super) fn join(
    config: &Config,
    environment: &Environment,
    toolboxes: &mut Vec<RegisteredToolbox>,
    redact_details: bool,
) -> Result<(), ConfigProblem> {
    let web = &config.web;
    let own = ToolboxStatus {
        prefix: web.prefix.clone(),
        server: None,
        trusted: true,
    };
    let kinds = [
        (OWN, &web.tools, config.network.allow_private.clone(), own),
        (
            FOUND,
            &web.found,
            Allowed::default(),
            ToolboxStatus::default(),
        ),
    ];
    for (id, apis, allowed, standing) in kinds {
        if apis.is_empty() {
            continue;
        }
        let id = ToolboxId::parse(id)
            .map_err(|error| ConfigProblem::new(Origin::Default.into(), error.to_string()))?;
        let (mut tools, mut unusable) = (Vec::new(), Vec::new());
        for api in apis.values() {
            match expand_api(api, environment) {
                Ok(tool) => tools.push(tool),
                Err(why) => {
                    let name = Arc::clone(api.tool.name());
                    let message = if redact_details {
                        tracing::warn!(toolbox = %id, tool = %name, why, "a web API cannot be used");
                        REDACTED.to_owned()
                    } else {
                        why
                    };
                    unusable.push((name, message));
                }
            }
        }
        // APIs of found files reach public addresses only, regardless of the configuration.
        let advised = standing.trusted;
        let client = client(config, allowed, advised)?;
        let toolbox = WebTools::new(id, client, tools).with_unusable(unusable);
        toolboxes.push(RegisteredToolbox {
            status: standing,
            toolbox: Arc::new(toolbox),
        });
    }
    Ok(())
}

/// A client that reaches these destinations besides public ones.
pub(super) fn client(
    config: &Config,
    allowed: Allowed,
    advised: bool,
) -> Result<GuardedClient, ConfigProblem> {
    let mut settings = guarded(config);
    settings.advised = advised;
    settings.allowed = allowed;
    GuardedClient::new(settings).map_err(|error| unreachable(config, &error))
}

/// The tool with the variables of its address and headers expanded, or the reason why that failed.
fn expand_api(api: &WebApi, environment: &Environment) -> Result<WebTool, String> {
    let place = api.place.origin_in_words();
    let mut tool = api.tool.clone();
    for name in api.tool.variables() {
        let wrong = |why: &str| {
            format!("its `url` cannot be used: {why}; correct it in {place}, or set it")
        };
        let value = expand(&format!("${{{name}}}"), environment).map_err(|why| wrong(&why))?;
        let held = |why: &str| wrong(&format!("the environment variable {name}: {why}"));
        tool = tool.with_variable(name, &value).map_err(held)?;
    }
    let mut headers = Vec::new();
    for (name, text) in &api.headers {
        let mut secrets = Vec::new();
        let wrong = |why: &str| {
            format!("its header `{name}` cannot be sent: {why}; correct it in {place}, or set it")
        };
        let value = expand_with(text, environment, |value| secrets.push(Secret::new(value)));
        let value = value.map_err(|why| wrong(&why))?;
        headers.push(Header::new(name.clone(), &value, secrets).map_err(wrong)?);
    }
    Ok(tool.with_headers(headers))
}

/// The message about an unusable API in discreet mode.
const REDACTED: &str = "it cannot be used as it is configured, and the log says why";
