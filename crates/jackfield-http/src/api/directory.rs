//! Users, teams, keys, and who changed which of them: for admins. A user without that right sees its own keys, and may
//! revoke them; a key of another user is missing to it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::CACHE_CONTROL;
use jackfield_domain::directory::{
    ClientKey, DirectoryEntry, EntryKind, EntryName, user_principal,
};
use jackfield_domain::time::WallTime;
use jackfield_engine::{
    ChangeQuery, ClientDirectory, DirectoryError, KeyOptions, NewSecret, UserUpdate,
};
use jackfield_gateway::{Gateway, Principal, failures};
use serde::Deserialize;

use super::extract::{JsonBody, NamePath, OptionalJsonBody, Parameters, Requester};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::directory::{
    ChangePage, KeyGiven, KeyPage, KeyView, Rotation, SecretView, TeamAdded, TeamPage, TeamView,
    UserAdded, UserEdited, UserPage, UserView,
};

/// Which entries are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EntryFilter {
    /// Only those after this name, in the order of names.
    after: Option<String>,
    /// At most this many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<usize>,
}

/// Which changes are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChangeFilter {
    /// Only those with a smaller number.
    before: Option<u64>,
    /// At most this many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<usize>,
}

/// Lists the users.
#[utoipa::path(
    get, path = "/users", tag = "users", operation_id = "list_users", params(EntryFilter),
    responses((status = 200, description = "A page of them.", body = UserPage), Problems)
)]
pub(crate) async fn users(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(filter): Parameters<EntryFilter>,
) -> Result<Json<UserPage>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let (users, next) = page(&directory, EntryKind::User, filter).await?;
    let users = users.iter().filter_map(|entry| match entry {
        DirectoryEntry::User(user) => Some(user.into()),
        DirectoryEntry::Key(_) | DirectoryEntry::Team(_) => None,
    });
    let users = users.collect();
    Ok(Json(UserPage { users, next }))
}

/// Adds a user.
#[utoipa::path(
    post, path = "/users", tag = "users", operation_id = "add_user", request_body = UserAdded,
    responses((status = 201, description = "The user.", body = UserView), Problems)
)]
pub(crate) async fn add_user(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<UserAdded>,
) -> Result<Response, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let name = name(&value.name, "/name")?;
    let team = value.team.as_deref().map(|team| self::name(team, "/team"));
    let by = author(&client);
    let added = directory.add_user(&by, name, team.transpose()?);
    let user = UserView::from(&added.await?);
    Ok((StatusCode::CREATED, Json(user)).into_response())
}

/// One user.
#[utoipa::path(
    get, path = "/users/{name}", tag = "users", operation_id = "get_user", params(("name" = String, Path)),
    responses((status = 200, description = "The user.", body = UserView), Problems)
)]
pub(crate) async fn user(
    Requester(client): Requester,
    NamePath(name): NamePath,
    State(gateway): State<Gateway>,
) -> Result<Json<UserView>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let user = directory.user(&known(&name, EntryKind::User)?).await?;
    Ok(Json((&user).into()))
}

/// Disables or enables a user, or gives it another team.
#[utoipa::path(
    patch, path = "/users/{name}", tag = "users", operation_id = "edit_user", params(("name" = String, Path)),
    request_body = UserEdited,
    responses((status = 200, description = "The user.", body = UserView), Problems)
)]
pub(crate) async fn edit_user(
    Requester(client): Requester,
    NamePath(name): NamePath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<UserEdited>,
) -> Result<Json<UserView>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let name = known(&name, EntryKind::User)?;
    let team = value.team.map(|team| {
        let team = team.as_deref().map(|team| self::name(team, "/team"));
        team.transpose()
    });
    let update = UserUpdate {
        is_disabled: value.disabled,
        team: team.transpose()?,
    };
    let by = author(&client);
    let updated = directory.update_user(&by, &name, &update);
    Ok(Json((&updated.await?).into()))
}

/// Lists the teams.
#[utoipa::path(
    get, path = "/teams", tag = "users", operation_id = "list_teams", params(EntryFilter),
    responses((status = 200, description = "A page of them.", body = TeamPage), Problems)
)]
pub(crate) async fn teams(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(filter): Parameters<EntryFilter>,
) -> Result<Json<TeamPage>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let (teams, next) = page(&directory, EntryKind::Team, filter).await?;
    let teams = teams.iter().filter_map(|entry| match entry {
        DirectoryEntry::Team(team) => Some(team.into()),
        DirectoryEntry::Key(_) | DirectoryEntry::User(_) => None,
    });
    let teams = teams.collect();
    Ok(Json(TeamPage { teams, next }))
}

/// Adds a team.
#[utoipa::path(
    post, path = "/teams", tag = "users", operation_id = "add_team", request_body = TeamAdded,
    responses((status = 201, description = "The team.", body = TeamView), Problems)
)]
pub(crate) async fn add_team(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<TeamAdded>,
) -> Result<Response, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let name = name(&value.name, "/name")?;
    let team = directory.add_team(&author(&client), name).await?;
    Ok((StatusCode::CREATED, Json(TeamView::from(&team))).into_response())
}

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
        found.extend(entries.iter().filter_map(|entry| match entry {
            DirectoryEntry::Key(key) if can_see(&client, key) => Some(KeyView::from(key)),
            DirectoryEntry::Key(_) | DirectoryEntry::Team(_) | DirectoryEntry::User(_) => None,
        }));
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
    JsonBody { value, .. }: JsonBody<KeyGiven>,
) -> Result<Response, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
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
    let options = KeyOptions {
        expires: expires.transpose()?,
        is_admin: value.admin,
        label: label.into(),
        models: value.models.map(|of| patterns(of, "/models")).transpose()?,
        tools: value.tools.map(|of| patterns(of, "/tools")).transpose()?,
    };
    let by = author(&client);
    let made = directory.create_key(&by, &user, options);
    let (key, secret) = made.await?;
    Ok(with_secret(StatusCode::CREATED, &key, &secret))
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

/// Lists the changes of users, teams and keys, with their authors, the newest first.
#[utoipa::path(
    get, path = "/changes", tag = "users", operation_id = "list_changes", params(ChangeFilter),
    responses((status = 200, description = "A page of them.", body = ChangePage), Problems)
)]
pub(crate) async fn changes(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    Parameters(filter): Parameters<ChangeFilter>,
) -> Result<Json<ChangePage>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let limit = limit(filter.limit)?;
    let query = ChangeQuery {
        before: filter.before,
        entry: None,
        limit,
    };
    let changes = directory.changes(&query).await?;
    let next = changes.last().filter(|_| changes.len() == limit);
    Ok(Json(ChangePage {
        next: next.map(|(number, _)| *number),
        changes: changes.iter().map(Into::into).collect(),
    }))
}

fn directory(gateway: &Gateway) -> Result<ClientDirectory<'_>, ProblemDetails> {
    gateway.engine().directory().ok_or_else(|| {
        let detail = "this gateway keeps no users and keys";
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })
}

/// The directory, for an admin alone.
fn for_admin<'g>(
    gateway: &'g Gateway,
    client: &Principal,
) -> Result<ClientDirectory<'g>, ProblemDetails> {
    if client.admin {
        return directory(gateway);
    }
    let detail = "users and keys are for admins";
    Err(ProblemDetails::new(ProblemKind::Forbidden, detail))
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

/// A page of entries, and the name after which the next one begins.
async fn page(
    directory: &ClientDirectory<'_>,
    kind: EntryKind,
    filter: EntryFilter,
) -> Result<(Vec<DirectoryEntry>, Option<String>), ProblemDetails> {
    let limit = limit(filter.limit)?;
    let after = filter.after.as_deref().map(|after| {
        EntryName::parse(after)
            .map_err(|error| ProblemDetails::parameter("after", error.to_string()))
    });
    let entries = directory.entries(kind, after.transpose()?, limit).await?;
    let last = entries.last().filter(|_| entries.len() == limit);
    let next = last.map(|last| last.name().to_string());
    Ok((entries, next))
}

fn limit(limit: Option<usize>) -> Result<usize, ProblemDetails> {
    match limit {
        None => Ok(USUAL),
        Some(limit) if (1..=LIMIT).contains(&limit) => Ok(limit),
        Some(_) => {
            let why = format!("this has to be between 1 and {LIMIT}");
            Err(ProblemDetails::parameter("limit", why))
        }
    }
}

/// A name in a body.
fn name(text: &str, place: &str) -> Result<EntryName, ProblemDetails> {
    EntryName::parse(text).map_err(|error| ProblemDetails::field(place, error.to_string()))
}

/// A name in a path. What cannot be a name is missing.
fn known(text: &str, kind: EntryKind) -> Result<EntryName, ProblemDetails> {
    EntryName::parse(text).map_err(|error| {
        let detail = format!("there is no {} `{}`", kind.as_str(), error.0);
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })
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

/// The author of a change, as the log of changes names it.
fn author(client: &Principal) -> Arc<str> {
    format!("{}, by the API", client.name).into()
}

/// The answer with a secret, which no cache may keep.
fn with_secret(status: StatusCode, key: &ClientKey, secret: &NewSecret) -> Response {
    let body = Json(SecretView {
        secret: secret.reveal().to_owned(),
        key: key.into(),
    });
    (status, [(CACHE_CONTROL, "no-store")], body).into_response()
}

impl From<DirectoryError> for ProblemDetails {
    fn from(error: DirectoryError) -> Self {
        let detail = error.to_string();
        match &error {
            DirectoryError::Busy { .. } => Self::new(ProblemKind::Busy, detail),
            DirectoryError::Exists { .. } => Self::new(ProblemKind::Conflict, detail),
            DirectoryError::Missing { .. } => Self::new(ProblemKind::NotFound, detail),
            DirectoryError::Name(_) => Self::new(ProblemKind::Invalid, detail),
            DirectoryError::Refused(_) => Self::new(ProblemKind::Conflict, detail),
            DirectoryError::Journal(_) | DirectoryError::Random(_) | _ => {
                failures::from_directory_error(&error).into()
            }
        }
    }
}

/// How long an old secret is accepted if a rotation does not say it.
const OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// The default page size.
const USUAL: usize = 50;
/// The maximum page size.
const LIMIT: usize = 200;
/// The maximum length of a label, in characters.
const MAX_LABEL: usize = 200;
/// The maximum number of patterns of a key.
const MAX_PATTERNS: usize = 200;
/// The maximum length of a pattern, in bytes.
const MAX_PATTERN: usize = 200;
