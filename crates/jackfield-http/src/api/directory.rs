//! Users, teams, and who changed which of them or of their keys: for admins.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use jackfield_domain::directory::{
    DirectoryEntry, EntryKind, EntryName, user_of_principal, user_principal,
};
use jackfield_domain::price::Money;
use jackfield_domain::quota::QuotaChange;
use jackfield_engine::{ChangeQuery, ClientDirectory, DirectoryError, SecretError, UserUpdate};
use jackfield_gateway::{Gateway, Principal, failures};
use serde::Deserialize;

use super::extract::{JsonBody, NamePath, Parameters, Requester};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::directory::{
    ChangePage, QuotaEdited, QuotaForm, TeamAdded, TeamPage, TeamView, UnpricedForm, UserAdded,
    UserEdited, UserPage, UserView,
};

/// Which entries are listed.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EntryFilter {
    /// Only those after this name, in the order of names.
    pub(super) after: Option<String>,
    /// At most this many.
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(super) limit: Option<usize>,
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
    let users = users.into_iter().filter_map(DirectoryEntry::into_user);
    let users = users.map(|user| (&user).into()).collect();
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
        quota: quota_change(value.quota)?,
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
    let teams = teams.into_iter().filter_map(DirectoryEntry::into_team);
    let teams = teams.map(|team| (&team).into()).collect();
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

/// Limits what all users of a team together may use.
#[utoipa::path(
    patch, path = "/teams/{name}", tag = "users", operation_id = "edit_team", params(("name" = String, Path)),
    request_body = QuotaEdited,
    responses((status = 200, description = "The team.", body = TeamView), Problems)
)]
pub(crate) async fn edit_team(
    Requester(client): Requester,
    NamePath(name): NamePath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<QuotaEdited>,
) -> Result<Json<TeamView>, ProblemDetails> {
    let directory = for_admin(&gateway, &client)?;
    let team = limited(&directory, &client, (EntryKind::Team, &name), value).await?;
    let team = team
        .into_team()
        .ok_or_else(|| gone(EntryKind::Team, &name))?;
    Ok(Json((&team).into()))
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

pub(super) fn directory(gateway: &Gateway) -> Result<ClientDirectory<'_>, ProblemDetails> {
    gateway.engine().directory().ok_or_else(|| {
        let detail = "this gateway keeps no users and keys";
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })
}

/// The user of the requester, if it has a key of the directory.
pub(super) fn own_user(client: &Principal) -> Option<EntryName> {
    let user = user_of_principal(&client.principal);
    user.filter(|user| user_principal(user) == client.principal)
}

/// The directory, for an admin alone.
pub(super) fn for_admin<'g>(
    gateway: &'g Gateway,
    client: &Principal,
) -> Result<ClientDirectory<'g>, ProblemDetails> {
    if client.admin {
        return directory(gateway);
    }
    let detail = "users and keys are for admins";
    Err(ProblemDetails::new(ProblemKind::Forbidden, detail))
}

/// A page of entries, and the name after which the next one begins.
pub(super) async fn page(
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

pub(super) fn limit(limit: Option<usize>) -> Result<usize, ProblemDetails> {
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
pub(super) fn name(text: &str, place: &str) -> Result<EntryName, ProblemDetails> {
    EntryName::parse(text).map_err(|error| ProblemDetails::field(place, error.to_string()))
}

/// A name in a path. What cannot be a name is missing.
pub(super) fn known(text: &str, kind: EntryKind) -> Result<EntryName, ProblemDetails> {
    EntryName::parse(text).map_err(|error| gone(kind, &error.0))
}

/// There is no entry of this name.
pub(super) fn gone(kind: EntryKind, name: &str) -> ProblemDetails {
    let detail = format!("there is no {} `{name}`", kind.as_str());
    ProblemDetails::new(ProblemKind::NotFound, detail)
}

/// Changes what an entry may use.
pub(super) async fn limited(
    directory: &ClientDirectory<'_>,
    client: &Principal,
    (kind, name): (EntryKind, &str),
    edited: QuotaEdited,
) -> Result<DirectoryEntry, ProblemDetails> {
    let (name, change) = (known(name, kind)?, quota_change(Some(edited.quota))?);
    let by = author(client);
    let (_, entry) = directory.limit(&by, kind, &name, &change).await?;
    Ok(entry)
}

/// What a body changes of a quota; the inner `None` takes all limits away.
fn quota_change(given: Option<Option<QuotaForm>>) -> Result<QuotaChange, ProblemDetails> {
    match given {
        None => Ok(QuotaChange::default()),
        Some(None) => Ok(QuotaChange::REMOVE_ALL),
        Some(Some(given)) => quota(given),
    }
}

/// The limits that a body names.
pub(super) fn quota(given: QuotaForm) -> Result<QuotaChange, ProblemDetails> {
    let money = |given: Option<Option<String>>, place| {
        let parsed = given.map(|limit| limit.map(|text| Money::parse(&text)).transpose());
        parsed
            .transpose()
            .map_err(|error| ProblemDetails::field(place, error.to_string()))
    };
    let change = QuotaChange {
        cost_per_day: money(given.cost_per_day, "/quota/cost_per_day")?,
        cost_per_month: money(given.cost_per_month, "/quota/cost_per_month")?,
        parallel: given.parallel,
        requests_per_minute: given.requests_per_minute,
        tokens_per_day: given.tokens_per_day,
        tokens_per_minute: given.tokens_per_minute,
        tokens_per_month: given.tokens_per_month,
        unpriced: given.unpriced.map(|form| form == UnpricedForm::Allow),
    };
    let requests = [change.parallel, change.requests_per_minute];
    let tokens = [
        change.tokens_per_minute,
        change.tokens_per_day,
        change.tokens_per_month,
    ];
    if requests.contains(&Some(Some(0))) || tokens.contains(&Some(Some(0))) {
        let why = "a limit is at least 1; `disabled` refuses a user";
        return Err(ProblemDetails::field("/quota", why));
    }
    Ok(change)
}

/// The author of a change, as the log of changes names it.
pub(super) fn author(client: &Principal) -> Arc<str> {
    format!("{}, by the API", client.name).into()
}

impl From<DirectoryError> for ProblemDetails {
    fn from(error: DirectoryError) -> Self {
        let detail = error.to_string();
        match &error {
            DirectoryError::Busy { .. } => Self::new(ProblemKind::Busy, detail),
            DirectoryError::Exists { .. } => Self::new(ProblemKind::Conflict, detail),
            DirectoryError::Missing { .. } => Self::new(ProblemKind::NotFound, detail),
            DirectoryError::InvalidServer(_)
            | DirectoryError::Name(_)
            | DirectoryError::NoKey
            | DirectoryError::ServerRefused(_)
            | DirectoryError::SignInFailed(_) => Self::new(ProblemKind::Invalid, detail),
            DirectoryError::NoLogin => Self::new(ProblemKind::NotFound, detail),
            DirectoryError::SignIn(_) => {
                let detail = "the sign-in was changed meanwhile: begin it again";
                Self::new(ProblemKind::Conflict, detail)
            }
            DirectoryError::TooManyServerNames { .. } | DirectoryError::TooManyServers { .. } => {
                Self::new(ProblemKind::Conflict, detail)
            }
            DirectoryError::Secret(SecretError::NotConfigured) => {
                let detail =
                    "this gateway keeps no secrets of people: it has no master key to encrypt them";
                Self::new(ProblemKind::Forbidden, detail)
            }
            DirectoryError::Refused(_) => Self::new(ProblemKind::Conflict, detail),
            DirectoryError::Journal(_) | _ => failures::from_directory_error(&error).into(),
        }
    }
}

const USUAL: usize = 50;
const LIMIT: usize = 200;
