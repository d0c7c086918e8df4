//! The keys of the requester at providers: each user has and sees its own alone, and nothing shows a key again.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use jackfield_domain::directory::EntryName;
use jackfield_engine::Credential;
use jackfield_gateway::{Gateway, Principal};

use super::directory::{author, directory, own_user};
use super::extract::{JsonBody, ProviderPath, Requester};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::directory::{ProviderKeyGiven, ProviderKeyList, ProviderKeyView};

/// Lists the keys of the requester at providers, without the keys themselves.
#[utoipa::path(
    get, path = "/provider-keys", tag = "users", operation_id = "list_provider_keys",
    responses((status = 200, description = "The keys.", body = ProviderKeyList), Problems)
)]
pub(crate) async fn provider_keys(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
) -> Result<Json<ProviderKeyList>, ProblemDetails> {
    let user = user(&client)?;
    let keys = directory(&gateway)?.provider_keys(&user).await?;
    let keys = keys.iter().map(|(key, _)| key.into()).collect();
    Ok(Json(ProviderKeyList { keys }))
}

/// Sets the key of the requester at a provider, in place of an earlier one. Requests of the user to that provider are
/// made with it from then on.
#[utoipa::path(
    put, path = "/provider-keys/{provider}", tag = "users", operation_id = "set_provider_key",
    params(("provider" = String, Path)), request_body = ProviderKeyGiven,
    responses((status = 200, description = "The key, without itself.", body = ProviderKeyView), Problems)
)]
pub(crate) async fn set_provider_key(
    Requester(client): Requester,
    ProviderPath(provider): ProviderPath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<ProviderKeyGiven>,
) -> Result<Json<ProviderKeyView>, ProblemDetails> {
    let user = user(&client)?;
    if !gateway.engine().takes_own_keys(&provider) {
        let shown: String = provider.chars().take(MAX_SHOWN).collect();
        let detail = format!("there is no provider `{shown}` that takes keys of people");
        return Err(ProblemDetails::new(ProblemKind::NotFound, detail));
    }
    let (by, key) = (author(&client), Credential::new(value.key.trim()));
    let directory = directory(&gateway)?;
    let provider = provider.into();
    let set = directory.set_provider_key(&by, &user, &provider, &key);
    Ok(Json((&set.await?).into()))
}

/// Takes the key of the requester at a provider away, and deletes it. The gateway's own is used from then on.
#[utoipa::path(
    delete, path = "/provider-keys/{provider}", tag = "users", operation_id = "remove_provider_key",
    params(("provider" = String, Path)),
    responses((status = 204, description = "It is gone."), Problems)
)]
pub(crate) async fn remove_provider_key(
    Requester(client): Requester,
    ProviderPath(provider): ProviderPath,
    State(gateway): State<Gateway>,
) -> Result<StatusCode, ProblemDetails> {
    let user = user(&client)?;
    let provider: String = provider.chars().take(MAX_SHOWN).collect();
    let directory = directory(&gateway)?;
    let by = author(&client);
    let removed = directory.remove_provider_key(&by, &user, &provider);
    removed.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The user of the requester, who has a key of the directory.
fn user(client: &Principal) -> Result<EntryName, ProblemDetails> {
    own_user(client).ok_or_else(|| {
        let detail = "only users have keys of their own at providers: ask with a key of `jackfield keys create`";
        ProblemDetails::new(ProblemKind::Forbidden, detail)
    })
}

/// The maximum length of a provider's name, in characters.
const MAX_SHOWN: usize = 80;
