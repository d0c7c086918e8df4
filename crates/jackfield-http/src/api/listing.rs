//! Listings: tools, servers, providers, models.

use axum::Json;
use axum::extract::State;
use jackfield_export::values;
use jackfield_gateway::Gateway;

use super::extract::{Requester, ServerPath};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::listing::{
    MissingView, ModelList, ModelView, ProviderList, ProviderView, ServerList, ServerLog,
    ServerView, ToolList, ToolView,
};
use super::wire::routes::{RouteList, RouteView};
use super::{approver, owner};

/// Lists the tools of the default assistant that the token may use, with the policy for each.
#[utoipa::path(
    get, path = "/tools", tag = "tools", operation_id = "list_tools",
    responses((status = 200, description = "The tools.", body = ToolList), Problems)
)]
pub(crate) async fn tools(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Result<Json<ToolList>, ProblemDetails> {
    let config = gateway.config();
    let requested = gateway.default_model();
    let options = requested.assistant.map(|assistant| &assistant.options);
    let mut options = options.unwrap_or(&config.default_options).clone();
    options.server_tools =
        owner::server_tools(&gateway, &client, requested.assistant, None, false)?;
    // Those of the client's own servers and of its team's are among them.
    options.caller = Some(Gateway::tool_caller(&client));
    approver::enable_approvals(gateway.engine(), &mut options).await;
    let offered = gateway.engine().tools(&options).await;
    Ok(Json(ToolList {
        tools: offered.catalog.iter().map(ToolView::from_entry).collect(),
        problems: offered
            .problems
            .iter()
            .chain(&offered.skipped)
            .map(MissingView::from)
            .collect(),
    }))
}

/// Lists the MCP servers and their states. Only an admin gets the reason why one is unusable.
#[utoipa::path(
    get, path = "/servers", tag = "tools", operation_id = "list_servers",
    responses((status = 200, description = "The servers.", body = ServerList), Problems)
)]
pub(crate) async fn servers(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Json<ServerList> {
    let servers = gateway.config().servers.servers().into_iter();
    let servers = servers.map(|server| ServerView::from_summary(server, client.admin));
    Json(ServerList {
        servers: servers.collect(),
    })
}

/// The last lines of the log of an MCP server: its standard error, and what it wrote outside the protocol. For admins,
/// as it may name what is on the machine.
#[utoipa::path(
    get, path = "/servers/{server}/log", tag = "tools", operation_id = "get_server_log", params(("server" = String, Path)),
    responses((status = 200, description = "The lines, the oldest first.", body = ServerLog), Problems)
)]
pub(crate) async fn server_log(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
) -> Result<Json<ServerLog>, ProblemDetails> {
    if !client.admin {
        let detail = "the log of a server is for admins";
        return Err(ProblemDetails::new(ProblemKind::Forbidden, detail));
    }
    let lines = gateway.config().servers.log(&server);
    let lines = lines.ok_or_else(|| {
        let server: String = server.chars().take(MAX_NAME).collect();
        let detail = format!("there is no MCP server `{server}`; `GET /api/v1/servers` lists them");
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })?;
    Ok(Json(ServerLog { lines }))
}

/// Lists the providers and their states, without a request to any of them.
#[utoipa::path(
    get, path = "/providers", tag = "models", operation_id = "list_providers",
    responses((status = 200, description = "The providers.", body = ProviderList), Problems)
)]
pub(crate) async fn providers(
    Requester(_asker): Requester,
    State(gateway): State<Gateway>,
) -> Json<ProviderList> {
    let engine = gateway.engine();
    let providers = gateway.config().providers.iter();
    let providers =
        providers.map(|(name, state)| ProviderView::new(name, state, engine.capabilities(name)));
    Json(ProviderList {
        providers: providers.collect(),
    })
}

/// Lists the routes with the state of their targets in this process. Only an admin gets the messages of failures.
#[utoipa::path(
    get, path = "/routes", tag = "models", operation_id = "list_routes",
    responses((status = 200, description = "The routes.", body = RouteList), Problems)
)]
pub(crate) async fn routes(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Json<RouteList> {
    let routes = gateway.engine().routes();
    let routes = routes
        .iter()
        .filter(|status| client.allows_model(&status.route.name))
        .map(|status| RouteView::new(status, client.admin));
    Json(RouteList {
        routes: routes.collect(),
    })
}

/// Lists the models: assistants, aliases, routes, and the models that the providers with a key list. A provider may have
/// models that it does not list.
#[utoipa::path(
    get, path = "/models", tag = "models", operation_id = "list_models",
    responses((status = 200, description = "The models.", body = ModelList), Problems)
)]
pub(crate) async fn models(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Json<ModelList> {
    let config = gateway.config();
    let models = gateway.models_for(&client).await;
    let models = models.iter().map(|model| {
        let alias_of = config.aliases.get(&model.id);
        let assistant = config.assistants.get(&model.id);
        let assistant = assistant.filter(|_| alias_of.is_none());
        let assistant_with = assistant.map(|assistant| values::model(&assistant.options.model));
        let route = gateway.engine().route(&model.id);
        let route = route.filter(|_| alias_of.is_none() && assistant_with.is_none());
        ModelView {
            assistant_with,
            route_to: route.map(|route| {
                let targets = route.targets.iter();
                targets.map(|target| values::model(&target.model)).collect()
            }),
            ..ModelView::new(model, alias_of.map(values::model))
        }
    });
    Json(ModelList {
        default: values::model(&config.default_options.model),
        models: models.collect(),
    })
}

/// The maximum length of a name in an error, in characters.
const MAX_NAME: usize = 80;
