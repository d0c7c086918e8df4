//! The OpenAPI 3.1 document of the API, generated from its code.

use std::sync::OnceLock;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::problem::ProblemView;
use super::{
    approval_events, approvals, budgets, context, directory, doctor, events, health, keys, listing,
    login, own_servers, provider_keys, resource_events, sessions, sign_in, sign_ins, timeline,
    turns, ui, usage,
};

/// The API under `/api/v1`.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Jackfield API",
        description = "Durable sessions and turns: server tools and client tools, approvals, and events that can be \
                       resumed from any cursor.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    modifiers(&ApiKeyScheme),
    security(("token" = []), ("login" = [])),
    tags(
        (name = "login", description = "Cookies for the gateway's own page."),
        (name = "sessions", description = "Conversations."),
        (name = "turns", description = "Messages and their answers."),
        (name = "events", description = "What happens, as it happens."),
        (name = "approvals", description = "Questions to people."),
        (name = "tools", description = "Tools and the servers that they are of."),
        (name = "models", description = "Models and their providers."),
        (name = "ui", description = "Front ends made for the AI SDK."),
        (name = "usage", description = "What was used."),
        (name = "users", description = "Users, teams and keys of the gateway's clients."),
        (name = "health", description = "Whether the gateway is well."),
    ),
    paths(
        approval_events::events,
        approvals::allow, approvals::deny, approvals::get, approvals::list,
        context::complete, context::prompt, context::prompts, context::read, context::resources,
        directory::add_team, directory::add_user, directory::changes, keys::create_key,
        keys::edit_key, directory::edit_team, directory::edit_user,
        keys::key, keys::keys, keys::revoke_key, keys::rotate_key,
        own_servers::edit_own_server, own_servers::own_servers,
        own_servers::remove_own_server, own_servers::set_own_server,
        provider_keys::provider_keys, provider_keys::remove_provider_key,
        provider_keys::set_provider_key,
        sign_ins::begin_sign_in, sign_ins::end_sign_in, sign_ins::finish_sign_in, directory::teams, directory::user,
        directory::users,
        events::watch, events::several::watch, resource_events::watch,
        listing::models, listing::providers, listing::routes, listing::server_log, listing::servers, listing::tools,
        login::delete, login::get, login::post, sign_in::begin, sign_in::end,
        sessions::compact, sessions::create, sessions::delete, sessions::edit, sessions::export, sessions::fork,
        sessions::forks::forks, sessions::get, sessions::import::import, sessions::list, sessions::turns,
        timeline::replay, timeline::step, timeline::timeline,
        turns::cancel, turns::get, turns::post, turns::results,
        ui::chat, ui::stream,
        budgets::budgets, doctor::doctor,
        usage::usage,
    ),
    // No path names this schema explicitly; it describes all error responses.
    components(schemas(ProblemView))
)]
struct ApiDocument;

/// What is not under `/api/v1`.
#[derive(OpenApi)]
#[openapi(paths(health::alive, health::ready))]
struct Health;

/// The token that requests need, or the cookie of a login.
struct ApiKeyScheme;

impl Modify for ApiKeyScheme {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", scheme);
        let cookie = ApiKey::Cookie(ApiKeyValue::new(login::COOKIE_NAME));
        components.add_security_scheme("login", SecurityScheme::ApiKey(cookie));
    }
}

pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let mut api = ApiDocument::openapi();
    let paths = std::mem::take(&mut api.paths.paths);
    let under = paths.into_iter();
    api.paths.paths = under
        .map(|(path, item)| (format!("{ROOT}{path}"), item))
        .collect();
    api.merge(Health::openapi());
    api
}

/// Answers with the document, which is generated once.
pub(crate) async fn json() -> Response {
    static WRITTEN: OnceLock<Bytes> = OnceLock::new();
    let written = WRITTEN.get_or_init(|| {
        let text = document().to_json().unwrap_or_default();
        Bytes::from(text)
    });
    let mut response = Response::new(Body::from(written.clone()));
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The common prefix of all API paths.
pub(crate) const ROOT: &str = "/api/v1";
