//! The model listing of the gateway.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::response::Response;
use http::request::Parts;
use jackfield_dialect_claude::models as claude;
use jackfield_dialect_gemini::models as gemini;
use jackfield_dialect_kit::serve::{ServeError, ServeErrorKind};
use jackfield_dialect_openai::models as openai;
use jackfield_domain::listing::ListedModel;
use jackfield_gateway::{Gateway, Principal, RequestedModel};

use crate::auth::authenticate;
use crate::dialects::{is_claude, is_gemini};
use crate::refusal::{self, HttpRefusal, PathTail};

/// `GET /v1/models`
pub(crate) async fn all(
    State(gateway): State<Gateway>,
    Query(query): Query<BTreeMap<String, String>>,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let models = gateway.models_for(&client).await;
    let body = if is_claude(&head.headers) {
        claude::page(&models, &|name| query.get(name).cloned())?
    } else if is_gemini(&head.headers) {
        gemini::page(&models, &|name| query.get(name).cloned())?
    } else {
        openai::to_wire(&models, CREATED).to_string().into_bytes()
    };
    Ok(refusal::json(body))
}

/// `GET /v1/models/{id}`
pub(crate) async fn one(
    State(gateway): State<Gateway>,
    PathTail(name): PathTail,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let model = served(&gateway, &client, &name).await?;
    let body = if is_claude(&head.headers) {
        claude::model_body(&model)
    } else if is_gemini(&head.headers) {
        gemini::model_body(&model)
    } else {
        openai::one_to_wire(&model, CREATED)
            .to_string()
            .into_bytes()
    };
    Ok(refusal::json(body))
}

/// `GET /v1beta/models`
pub(crate) async fn all_of_gemini(
    State(gateway): State<Gateway>,
    Query(query): Query<BTreeMap<String, String>>,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let models = gateway.models_for(&client).await;
    let page = gemini::page(&models, &|name| query.get(name).cloned())?;
    Ok(refusal::json(page))
}

/// `GET /v1beta/models/{id}`
pub(crate) async fn one_of_gemini(
    State(gateway): State<Gateway>,
    PathTail(name): PathTail,
    head: Parts,
) -> Result<Response, HttpRefusal> {
    let client = authenticate(&gateway, &head.headers, &head.extensions).await?;
    let model = served(&gateway, &client, &name).await?;
    Ok(refusal::json(gemini::model_body(&model)))
}

async fn served(
    gateway: &Gateway,
    client: &Principal,
    name: &str,
) -> Result<ListedModel, ServeError> {
    let requested = gateway.requested_model(name)?;
    gateway.check_model(client, Some(name), &requested)?;
    let RequestedModel {
        assistant,
        model: requested,
        ..
    } = requested;
    let models = gateway.model_catalog().await;
    let is_default = requested == gateway.config().default_options.model;
    let known = models.find(&requested).cloned();
    let is_there = known.is_some() || is_default || assistant.is_some();
    if !is_there && models.lists(&requested.provider) {
        let message = format!(
            "`{}` lists no model `{}`",
            requested.provider, requested.model
        );
        return Err(ServeError::new(ServeErrorKind::NoSuchModel, message));
    }
    // A provider may have models that it does not list.
    Ok(ListedModel {
        id: name.into(),
        ..known.unwrap_or_else(|| ListedModel::new(""))
    })
}

/// The creation time of models without one.
const CREATED: u64 = 0;
