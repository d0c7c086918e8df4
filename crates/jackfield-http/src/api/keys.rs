//! Keys of the gateway's clients: for admins. A user without that right sees its own keys, and may revoke them; a key of
//! another user is missing to it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_domain::directory::{ClientKey, DirectoryEntry, EntryKind, user_principal};
use jackfield_domain::time::WallTime;
use jackfield_engine::{ClientDirectory, DirectoryError, KeyOptions, NewSecret};
use jackfield_gateway::{Gateway, Principal};

use super::directory::{
    EntryFilter, author, directory, for_admin, gone, known, limit, limited, name, page, quota,
};
use super::extract::{JsonBody, NamePath, OptionalJsonBody, Parameters, Requester};
use super::login;
use super::problem::{ProblemDetails, Problems};
use super::wire::directory::{KeyGiven, KeyPage, KeyView, QuotaEdited, Rotation, SecretView};

/// Lists the keys, without their secrets: all for an admin, and its own for a user.
#[utoipa::path(
    get, path = "/keys", tag = "users", operation_id = "list_keys", params(EntryFilter),
    responses((status = 200, description = "A page of them.", body = KeyPage), Problems)
)]
pub(crate) async fn keys(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(filter): Parameters<EntryFilter>,
) -> Result<Json<KeyPage>, ProblemDetails> {
    let directory = directory(&gateway)?;
    let limit = limit(filter.limit)?;
    let mut after = filter.after;
    let mut found = Vec::new();
    // Keys of other users take no place in a page.
    let next = loop {
        let filter = EntryFilter {
            after,
            limit: Some(limit - found.len()),
        };
        let (entries, next) = page(&directory, EntryKind::Key, filter).await?;
        let keys = entries.into_iter().filter_map(DirectoryEntry::into_key);
        let keys = keys.filter(|key| can_see(&client, key));
        found.extend(keys.map(|key| KeyView::from(&key)));
        if next.is_none() || found.len() == limit {
            break next;
        }
        after = next;
    };
    Ok(Json(KeyPage { keys: found, next }))
}

/// Makes a key. The answer has its secret, which nothing shows again.
#[utoipa::path(
    post, path = "/keys", tag = "users", operation_id = "create_key", request_body = KeyGiven,
    responses((status = 201, description = "The key with its secret.", body = SecretView), Problems)
)]
pub(crate) async fn create_key(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    parts: Parts,
    JsonBody { value, .. }: JsonBody<KeyGiven>,
) -> Result<Response, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    if value.sign_in {
        login::check_source(&parts)?;
    }
    let user = name(&value.user, "/user")?;
    let label = value.label.unwrap_or_default();
    if label.chars().count() > MAX_LABEL {
        let why = format!("a label has at most {MAX_LABEL} characters");
        return Err(ProblemDetails::field("/label", why));
    }
    let expires = value.expires.as_deref().map(|text| {
        let at = WallTime::from_rfc3339(text).filter(|at| *at > directory.now());
        at.ok_or_else(|| {
            let why = "this has to be a time to come, such as `2027-01-31T00:00:00Z`";
            ProblemDetails::field("/expires", why)
        })
    });
    if value.admin && value.no_approvals {
        let why = "an administrator's key could make another one that answers: only other keys can be made so";
        return Err(ProblemDetails::field("/no_approvals", why));
    }
    let options = KeyOptions {
        expires: expires.transpose()?,
        has_no_approvals: value.no_approvals,
        is_admin: value.admin,
        label: label.into(),
        models: value.models.map(|of| patterns(of, "/models")).transpose()?,
        quota: value
            .quota
            .map(quota)
            .transpose()?
            .and_then(|quota| quota.apply(None)),
        tools: value.tools.map(|of| patterns(of, "/tools")).transpose()?,
    };
    let by = author(&client);
    let made = directory.create_key(&by, &user, options);
    let (key, secret) = made.await?;
    let mut response = with_secret(StatusCode::CREATED, &key, &secret);
    if value.sign_in {
        match sign_in(&gateway, &secret, &parts.headers).await {
            Ok(cookie) => {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            // The key is made, and its secret is in no other answer.
            Err(problem) => {
                tracing::warn!(?problem, "the browser that made a key is not signed in");
            }
        }
    }
    Ok(response)
}

/// One key, without its secret.
#[utoipa::path(
    get, path = "/keys/{name}", tag = "users", operation_id = "get_key", params(("name" = String, Path)),
    responses((status = 200, description = "The key.", body = KeyView), Problems)
)]
pub(crate) async fn key(
    Requester(client): Requester,
    NamePath(id): NamePath,
    State(gateway): State<Gateway>,
) -> Result<Json<KeyView>, ProblemDetails> {
    let directory = directory(&gateway)?;
    let key = find_key(&directory, &client, &id).await?;
    Ok(Json((&key).into()))
}

/// Limits what a key may use.
#[utoipa::path(
    patch, path = "/keys/{name}", tag = "users", operation_id = "edit_key", params(("name" = String, Path)),
    request_body = QuotaEdited,
    responses((status = 200, description = "The key.", body = KeyView), Problems)
)]
pub(crate) async fn edit_key(
    Requester(client): Requester,
    NamePath(id): NamePath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<QuotaEdited>,
) -> Result<Json<KeyView>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let key = limited(&directory, &client, (EntryKind::Key, &id), value).await?;
    let key = key.into_key().ok_or_else(|| gone(EntryKind::Key, &id))?;
    Ok(Json((&key).into()))
}

/// Revokes a key, at once and for good. It stays in the list.
#[utoipa::path(
    delete, path = "/keys/{name}", tag = "users", operation_id = "revoke_key", params(("name" = String, Path)),
    responses((status = 200, description = "The key.", body = KeyView), Problems)
)]
pub(crate) async fn revoke_key(
    Requester(client): Requester,
    NamePath(id): NamePath,
    State(gateway): State<Gateway>,
) -> Result<Json<KeyView>, ProblemDetails> {
    let directory = directory(&gateway)?;
    let key = find_key(&directory, &client, &id).await?;
    let revoked = directory.revoke_key(&author(&client), &key.id).await?;
    Ok(Json((&revoked).into()))
}

/// Gives a key a new secret, which the answer has. The old one is accepted for a while.
#[utoipa::path(
    post, path = "/keys/{name}/rotate", tag = "users", operation_id = "rotate_key", params(("name" = String, Path)),
    request_body = Option<Rotation>,
    responses((status = 200, description = "The key with its new secret.", body = SecretView), Problems)
)]
pub(crate) async fn rotate_key(
    Requester(client): Requester,
    NamePath(id): NamePath,
    State(gateway): State<Gateway>,
    OptionalJsonBody(rotation): OptionalJsonBody<Rotation>,
) -> Result<Response, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let id = known(&id, EntryKind::Key)?;
    let overlap = rotation.overlap_ms.map_or(OVERLAP, Duration::from_millis);
    let by = author(&client);
    let rotated = directory.rotate_key(&by, &id, overlap);
    let (key, secret) = rotated.await?;
    Ok(with_secret(StatusCode::OK, &key, &secret))
}

/// The key of this id, unless it is missing to the client.
async fn find_key(
    directory: &ClientDirectory<'_>,
    client: &Principal,
    id: &str,
) -> Result<ClientKey, ProblemDetails> {
    let id = known(id, EntryKind::Key)?;
    let key = directory.key(&id).await?;
    if can_see(client, &key) {
        return Ok(key);
    }
    Err(DirectoryError::Missing {
        kind: EntryKind::Key,
        name: id,
    }
    .into())
}

fn can_see(client: &Principal, key: &ClientKey) -> bool {
    client.admin || client.principal == user_principal(&key.user)
}

fn patterns(given: Vec<String>, place: &str) -> Result<Vec<Arc<str>>, ProblemDetails> {
    let is_long = |pattern: &String| pattern.is_empty() || pattern.len() > MAX_PATTERN;
    if given.len() > MAX_PATTERNS || given.iter().any(is_long) {
        let why =
            format!("at most {MAX_PATTERNS} patterns of 1 to {MAX_PATTERN} bytes each are taken");
        return Err(ProblemDetails::field(place, why));
    }
    Ok(given.into_iter().map(Into::into).collect())
}

/// Signs the browser that made a key in with it; the header with its cookie.
async fn sign_in(
    gateway: &Gateway,
    secret: &NewSecret,
    headers: &HeaderMap,
) -> Result<HeaderValue, ProblemDetails> {
    let client = gateway.authenticate(Some(secret.reveal())).await?;
    login::sign_in(gateway, &client, headers).await
}

/// The answer with a secret, which no cache may keep.
fn with_secret(status: StatusCode, key: &ClientKey, secret: &NewSecret) -> Response {
    let body = Json(SecretView {
        secret: secret.reveal().to_owned(),
        key: key.into(),
    });
    (status, [(CACHE_CONTROL, "no-store")], body).into_response()
}

/// How long an old secret is accepted if a rotation does not say it.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum length of a label, in characters.
const MAX_LABEL: usize = 200;
/// The maximum number of patterns of a key.
const MAX_PATTERNS: usize = 200;
/// The maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 200;
