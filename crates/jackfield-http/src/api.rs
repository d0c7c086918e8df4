//! Jackfield's own API, `/api/v1`: sessions, turns and their events, approvals, listings, usage, users and keys; and
//! the health endpoints of the gateway.
//!
//! A session belongs to the principal of the token that created it, and other tokens cannot see it. An admin
//! token sees all sessions, and so does every client where no token is required.
//! This API can retract text: when a reply is requested again, the text streamed so far is marked as superseded.

mod answer;
mod approval_events;
mod approvals;
mod approve_tool;
mod approver;
mod ask_tool;
mod budgets;
mod context;
mod directory;
mod doctor;
mod document;
mod events;
mod extract;
mod health;
mod keys;
mod listing;
mod login;
mod own_servers;
mod owner;
mod page;
mod problem;
mod provider_keys;
mod resource_events;
mod session_events;
mod sessions;
mod sign_in;
mod sign_ins;
mod story;
mod timeline;
mod turns;
mod ui;
mod usage;
mod wire;

use axum::Router;
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, patch, post, put};
use http::{Method, Uri};
use jackfield_dialect_kit::serve::ServeError;

pub(crate) use self::approve_tool::ApproveTool;
pub(crate) use self::ask_tool::AskTool;
use self::problem::{ProblemDetails, ProblemKind};
use jackfield_gateway::Gateway;

/// Whether a path belongs to this API or to the health endpoints.
pub(crate) fn owns_path(path: &str) -> bool {
    let behind = path.strip_prefix("/api");
    behind.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || path == "/healthz"
        || path == "/readyz"
}

/// Renders a refusal as a problem document.
pub(crate) fn refusal_response(error: ServeError) -> Response {
    ProblemDetails::from(error).into_response()
}

/// The routes of the API and of the health endpoints.
pub(crate) fn router(gateway: &Gateway) -> Router<Gateway> {
    let api = Router::new()
        .route("/approvals", get(approvals::list))
        .route("/approvals/events", get(approval_events::events))
        .route("/approvals/{approval}", get(approvals::get))
        .route("/approvals/{approval}/allow", post(approvals::allow))
        .route("/approvals/{approval}/deny", post(approvals::deny))
        .route("/budgets", get(budgets::budgets))
        .route("/changes", get(directory::changes))
        .route("/doctor", post(doctor::doctor))
        .route("/docs", get(page::html))
        .route("/docs/page.css", get(page::css))
        .route("/docs/page.js", get(page::js))
        .route("/events", get(events::several::watch))
        .route("/keys", get(keys::keys).post(keys::create_key))
        .route(
            "/keys/{name}",
            get(keys::key)
                .patch(keys::edit_key)
                .delete(keys::revoke_key),
        )
        .route("/keys/{name}/rotate", post(keys::rotate_key))
        .route(
            "/login",
            get(login::get).post(login::post).delete(login::delete),
        )
        .route("/login/oidc", get(sign_in::begin))
        .route("/login/oidc/callback", get(sign_in::end))
        .route("/models", get(listing::models))
        .route("/openapi.json", get(document::json))
        .route("/own-servers", get(own_servers::own_servers))
        .route(
            "/own-servers/{name}",
            put(own_servers::set_own_server)
                .patch(own_servers::edit_own_server)
                .delete(own_servers::remove_own_server),
        )
        .route(
            "/own-servers/{name}/sign-in",
            post(sign_ins::begin_sign_in).delete(sign_ins::end_sign_in),
        )
        .route("/provider-keys", get(provider_keys::provider_keys))
        .route(
            "/provider-keys/{provider}",
            put(provider_keys::set_provider_key).delete(provider_keys::remove_provider_key),
        )
        .route("/providers", get(listing::providers))
        .route("/routes", get(listing::routes))
        .route("/servers", get(listing::servers))
        .route("/servers/{server}/complete", post(context::complete))
        .route("/servers/{server}/log", get(listing::server_log))
        .route(
            "/servers/{server}/prompts",
            get(context::prompts).post(context::prompt),
        )
        .route("/servers/{server}/resources", get(context::resources))
        .route("/servers/{server}/resources/contents", get(context::read))
        .route(
            "/servers/{server}/resources/events",
            get(resource_events::watch),
        )
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route(
            "/sessions/{session}",
            get(sessions::get)
                .patch(sessions::edit)
                .delete(sessions::delete),
        )
        .route("/sessions/import", post(sessions::import::import))
        .route("/sessions/{session}/events", get(events::watch))
        .route("/sessions/{session}/export", get(sessions::export))
        .route("/sessions/{session}/compact", post(sessions::compact))
        .route("/sessions/{session}/fork", post(sessions::fork))
        .route("/sessions/{session}/forks", get(sessions::forks::forks))
        .route(
            "/sessions/{session}/turns",
            get(sessions::turns).post(turns::post),
        )
        .route("/sessions/{session}/steps/{step}", get(timeline::step))
        .route("/sessions/{session}/turns/{turn}", get(turns::get))
        .route(
            "/sessions/{session}/turns/{turn}/cancel",
            post(turns::cancel),
        )
        .route(
            "/sessions/{session}/turns/{turn}/replay",
            get(timeline::replay),
        )
        .route(
            "/sessions/{session}/turns/{turn}/timeline",
            get(timeline::timeline),
        )
        .route(
            "/sessions/{session}/turns/{turn}/results",
            post(turns::results),
        )
        .route("/sign-ins", post(sign_ins::finish_sign_in))
        .route("/teams", get(directory::teams).post(directory::add_team))
        .route("/teams/{name}", patch(directory::edit_team))
        .route("/tools", get(listing::tools))
        .route("/ui/chat", post(ui::chat))
        .route("/ui/chat/{chat}/stream", get(ui::stream))
        .route("/usage", get(usage::usage))
        .route("/users", get(directory::users).post(directory::add_user))
        .route(
            "/users/{name}",
            get(directory::user).patch(directory::edit_user),
        )
        .route_layer(middleware::from_fn_with_state(
            gateway.clone(),
            extract::writes::admit,
        ))
        .fallback(no_such_address)
        .method_not_allowed_fallback(wrong_method);
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .method_not_allowed_fallback(wrong_method_of_health)
        .nest(document::ROOT, api)
}

// A nested router sees the path without its prefix.
async fn no_such_address(uri: Uri) -> Response {
    let (root, path) = (document::ROOT, uri.path());
    let detail = format!("there is nothing at {root}{path}; {root}/docs shows what there is");
    ProblemDetails::new(ProblemKind::NotFound, detail).into_response()
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    method_not_allowed(&method, &format!("{}{}", document::ROOT, uri.path()))
}

async fn wrong_method_of_health(method: Method, uri: Uri) -> Response {
    method_not_allowed(&method, uri.path())
}

fn method_not_allowed(method: &Method, path: &str) -> Response {
    let detail = format!("{path} does not take {method}");
    ProblemDetails::new(ProblemKind::MethodNotAllowed, detail).into_response()
}
