//! Wire types of users, teams, keys and the changes to them.

use std::sync::Arc;

use jackfield_domain::directory::{
    ClientKey, DirectoryChange, DirectoryEntry, EntryName, ProviderKey, Team, User,
};
use jackfield_domain::quota::Quota;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::own_servers::{OwnServerView, SignInView};

/// Limits of a key, a user or a team. What is missing stays as it is; `null` takes a limit away.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[schema(as = EditLimits, example = json!({ "requests_per_minute": 60, "parallel": null, "cost_per_day": "2.50" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct QuotaForm {
    /// The number of requests per minute, which may also come all at once.
    #[serde(default, deserialize_with = "present")]
    #[schema(minimum = 1, value_type = Option<u32>)]
    pub(crate) requests_per_minute: Option<Option<u32>>,
    /// The number of requests at once.
    #[serde(default, deserialize_with = "present")]
    #[schema(minimum = 1, value_type = Option<u32>)]
    pub(crate) parallel: Option<Option<u32>>,
    /// How many tokens its model calls may use per minute, input and output.
    #[serde(default, deserialize_with = "present")]
    #[schema(minimum = 1, value_type = Option<u64>)]
    pub(crate) tokens_per_minute: Option<Option<u64>>,
    /// What its model calls may cost per day (UTC), in US dollars.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub(crate) cost_per_day: Option<Option<String>>,
    /// What its model calls may cost per calendar month (UTC), in US dollars.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub(crate) cost_per_month: Option<Option<String>>,
    /// How many tokens its model calls may use per day (UTC), input and output.
    #[serde(default, deserialize_with = "present")]
    #[schema(minimum = 1, value_type = Option<u64>)]
    pub(crate) tokens_per_day: Option<Option<u64>>,
    /// How many tokens its model calls may use per calendar month (UTC).
    #[serde(default, deserialize_with = "present")]
    #[schema(minimum = 1, value_type = Option<u64>)]
    pub(crate) tokens_per_month: Option<Option<u64>>,
    /// What becomes of calls of models without a price under a budget of money.
    pub(crate) unpriced: Option<UnpricedForm>,
}

/// What becomes of calls of models without a price under a budget of money.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, ToSchema)]
#[schema(as = Unpriced)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UnpricedForm {
    /// They are made, and do not count for it.
    Allow,
    /// They are refused.
    Refuse,
}

/// What a key, a user or a team may use; `null` is no limit.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Quota)]
pub(crate) struct QuotaView {
    /// The number of requests per minute, which may also come all at once.
    #[schema(minimum = 1)]
    requests_per_minute: Option<u32>,
    /// The number of requests at once.
    #[schema(minimum = 1)]
    parallel: Option<u32>,
    /// How many tokens its model calls may use per minute, input and output.
    #[schema(minimum = 1)]
    tokens_per_minute: Option<u64>,
    /// What its model calls may cost per day (UTC), in US dollars.
    cost_per_day: Option<String>,
    /// What its model calls may cost per calendar month (UTC), in US dollars.
    cost_per_month: Option<String>,
    /// How many tokens its model calls may use per day (UTC), input and output.
    #[schema(minimum = 1)]
    tokens_per_day: Option<u64>,
    /// How many tokens its model calls may use per calendar month (UTC).
    #[schema(minimum = 1)]
    tokens_per_month: Option<u64>,
    /// What becomes of calls of models without a price under a budget of money.
    unpriced: UnpricedForm,
}

impl From<Quota> for QuotaView {
    fn from(quota: Quota) -> Self {
        Self {
            requests_per_minute: quota.requests_per_minute,
            parallel: quota.parallel,
            tokens_per_minute: quota.tokens_per_minute,
            cost_per_day: quota.cost_per_day.map(|cost| cost.to_string()),
            cost_per_month: quota.cost_per_month.map(|cost| cost.to_string()),
            tokens_per_day: quota.tokens_per_day,
            tokens_per_month: quota.tokens_per_month,
            unpriced: if quota.unpriced {
                UnpricedForm::Allow
            } else {
                UnpricedForm::Refuse
            },
        }
    }
}

/// What changes of a team or a key.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EditQuota)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuotaEdited {
    /// What changes of what it may use; `null` takes all limits away.
    #[serde(deserialize_with = "Option::deserialize")]
    pub(crate) quota: Option<QuotaForm>,
}

/// A user to add.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AddUser, example = json!({ "name": "ann", "team": "research" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct UserAdded {
    /// The name: lower-case letters, digits, `.`, `_`, `-`, `@` and `+`.
    #[schema(max_length = 64)]
    pub(crate) name: String,
    /// The team, if it belongs to one.
    pub(crate) team: Option<String>,
}

/// What changes of a user; what is missing stays.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EditUser, example = json!({ "disabled": true }))]
#[serde(deny_unknown_fields)]
pub(crate) struct UserEdited {
    /// Whether its keys are refused.
    pub(crate) disabled: Option<bool>,
    /// What changes of what all of its keys together may use; `null` takes all limits away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<QuotaForm>)]
    pub(crate) quota: Option<Option<QuotaForm>>,
    /// The team; `null` for none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub(crate) team: Option<Option<String>>,
}

/// A team to add.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AddTeam, example = json!({ "name": "research" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct TeamAdded {
    /// The name: lower-case letters, digits, `.`, `_`, `-`, `@` and `+`.
    #[schema(max_length = 64)]
    pub(crate) name: String,
}

/// A key to make.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CreateKey, example = json!({ "user": "ann", "label": "laptop", "expires": "2027-01-31T00:00:00Z" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyGiven {
    /// The user to which it belongs.
    pub(crate) user: String,
    /// What people call it.
    #[schema(max_length = 200)]
    pub(crate) label: Option<String>,
    /// When it ends; never without this.
    #[schema(format = DateTime)]
    pub(crate) expires: Option<String>,
    /// The models, routes and assistants that it may use, with `*` for any text; all without this.
    pub(crate) models: Option<Vec<String>>,
    /// The server tools that it may use, as patterns over `server/tool`; those of the gateway without this.
    pub(crate) tools: Option<Vec<String>>,
    /// What it may use; no limit of its own without this.
    pub(crate) quota: Option<QuotaForm>,
    /// Whether it sees the sessions of all, and may change users and keys.
    #[serde(default)]
    pub(crate) admin: bool,
    /// Whether it may neither list nor answer what waits for a person: for programs. Not with `admin`.
    #[serde(default)]
    pub(crate) no_approvals: bool,
    /// Whether the answer signs the browser in with this key, by a cookie. Only for the gateway's own page.
    #[serde(default)]
    pub(crate) sign_in: bool,
}

/// How a key is rotated.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = RotateKey)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rotation {
    /// How long the old secret is accepted; a day without this, and 0 for not at all.
    #[schema(minimum = 0)]
    pub(crate) overlap_ms: Option<u64>,
}

/// A user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = User)]
pub(crate) struct UserView {
    /// The name.
    name: String,
    /// The team, if it belongs to one.
    team: Option<String>,
    /// Whether its keys are refused.
    disabled: bool,
    /// What all of its keys together may use; `null` for no limit.
    quota: Option<QuotaView>,
}

impl From<&User> for UserView {
    fn from(user: &User) -> Self {
        Self {
            name: user.name.to_string(),
            team: user.team.as_ref().map(EntryName::to_string),
            disabled: user.is_disabled,
            quota: user.quota.map(Into::into),
        }
    }
}

/// A page of users.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserPage)]
pub(crate) struct UserPage {
    /// The users, by name.
    pub(crate) users: Vec<UserView>,
    /// What the next page takes as `after`, if there may be one.
    pub(crate) next: Option<String>,
}

/// A team.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Team)]
pub(crate) struct TeamView {
    /// The name.
    name: String,
    /// What all of its users together may use; `null` for no limit.
    quota: Option<QuotaView>,
}

impl From<&Team> for TeamView {
    fn from(team: &Team) -> Self {
        Self {
            name: team.name.to_string(),
            quota: team.quota.map(Into::into),
        }
    }
}

/// A page of teams.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TeamPage)]
pub(crate) struct TeamPage {
    /// The teams, by name.
    pub(crate) teams: Vec<TeamView>,
    /// What the next page takes as `after`, if there may be one.
    pub(crate) next: Option<String>,
}

/// A key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyView {
    /// Its id, which is no secret.
    id: String,
    /// The user to which it belongs.
    user: String,
    /// What people call it; may be empty.
    label: String,
    /// Whether it sees the sessions of all, and may change users and keys.
    admin: bool,
    /// Whether it may neither list nor answer what waits for a person.
    no_approvals: bool,
    /// The models, routes and assistants that it may use; `null` for all.
    models: Option<Vec<String>>,
    /// The server tools that it may use; `null` for those of the gateway.
    tools: Option<Vec<String>>,
    /// What it may use; `null` for no limit of its own.
    quota: Option<QuotaView>,
    /// When it ends; `null` for never.
    #[schema(format = DateTime)]
    expires: Option<String>,
    /// Since when it is revoked.
    #[schema(format = DateTime)]
    revoked: Option<String>,
    /// Until when the secret before the last rotation is accepted.
    #[schema(format = DateTime)]
    old_secret_until: Option<String>,
}

impl From<&ClientKey> for KeyView {
    fn from(key: &ClientKey) -> Self {
        let old = key.secrets.get(1);
        Self {
            id: key.id.to_string(),
            user: key.user.to_string(),
            label: key.label.to_string(),
            admin: key.is_admin,
            no_approvals: key.has_no_approvals,
            models: key.models.as_deref().map(texts),
            tools: key.tools.as_deref().map(texts),
            quota: key.quota.map(Into::into),
            expires: key.expires.map(|at| at.to_rfc3339()),
            revoked: key.revoked.map(|at| at.to_rfc3339()),
            old_secret_until: old.and_then(|old| old.until).map(|at| at.to_rfc3339()),
        }
    }
}

/// A page of keys.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyPage)]
pub(crate) struct KeyPage {
    /// The keys, by id.
    pub(crate) keys: Vec<KeyView>,
    /// What the next page takes as `after`, if there may be one.
    pub(crate) next: Option<String>,
}

/// A key that was just made or rotated, with its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyWithSecret)]
pub(crate) struct SecretView {
    /// What clients send as their token. It is in this answer alone.
    pub(crate) secret: String,
    #[serde(flatten)]
    pub(crate) key: KeyView,
}

/// A key of a user at a provider, to set.
#[derive(Deserialize, ToSchema)]
#[schema(as = SetProviderKey, example = json!({ "key": "sk-…" }))]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderKeyGiven {
    /// The key, which nothing shows again.
    #[schema(max_length = 4096)]
    pub(crate) key: String,
}

impl std::fmt::Debug for ProviderKeyGiven {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderKeyGiven").finish_non_exhaustive()
    }
}

/// A key of a user at a provider, without the key itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProviderKey)]
pub(crate) struct ProviderKeyView {
    /// The user.
    user: String,
    /// The provider, as the gateway names it.
    provider: String,
    /// The last characters of the key; empty for a short one.
    hint: String,
}

impl From<&ProviderKey> for ProviderKeyView {
    fn from(key: &ProviderKey) -> Self {
        Self {
            user: key.user.to_string(),
            provider: key.provider.to_string(),
            hint: key.hint.to_string(),
        }
    }
}

/// The keys of a user at providers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProviderKeys)]
pub(crate) struct ProviderKeyList {
    /// The keys, by provider.
    pub(crate) keys: Vec<ProviderKeyView>,
}

/// A change of a user, a team or a key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub(crate) struct ChangeView {
    /// Its number, which grows with every change.
    number: u64,
    /// When.
    #[schema(format = DateTime)]
    at: String,
    /// Who made it.
    by: String,
    /// What was done: `created`, `changed`, `disabled`, `enabled`, `removed`, `revoked` or `rotated`.
    action: &'static str,
    /// What it is about: `user`, `team`, `key`, `provider-key`, `server` or `sign-in`.
    kind: &'static str,
    /// The name of the entry, or the id of the key.
    name: String,
    /// The entry since then.
    #[schema(value_type = Object)]
    entry: EntryView,
}

/// An entry of any kind.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum EntryView {
    Key(KeyView),
    ProviderKey(ProviderKeyView),
    Server(OwnServerView),
    SignIn(SignInView),
    Team(TeamView),
    User(UserView),
}

impl From<&(u64, DirectoryChange)> for ChangeView {
    fn from((number, change): &(u64, DirectoryChange)) -> Self {
        Self {
            number: *number,
            at: change.at.to_rfc3339(),
            by: change.by.to_string(),
            action: change.action.as_str(),
            kind: change.entry.kind().as_str(),
            name: change.entry.name().to_string(),
            entry: match &change.entry {
                DirectoryEntry::Key(key) => EntryView::Key(key.into()),
                DirectoryEntry::ProviderKey(key) => EntryView::ProviderKey(key.into()),
                DirectoryEntry::Server(server) => EntryView::Server(server.into()),
                DirectoryEntry::SignIn(sign_in) => EntryView::SignIn(sign_in.into()),
                DirectoryEntry::Team(team) => EntryView::Team(team.into()),
                DirectoryEntry::User(user) => EntryView::User(user.into()),
            },
        }
    }
}

/// A page of changes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChangePage)]
pub(crate) struct ChangePage {
    /// The changes, the newest first.
    pub(crate) changes: Vec<ChangeView>,
    /// What the next page takes as `before`, if there may be one.
    pub(crate) next: Option<u64>,
}

/// Reads a field that is there, with `null` as a value.
fn present<'de, D, T>(reader: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(reader).map(Some)
}

fn texts(patterns: &[Arc<str>]) -> Vec<String> {
    patterns.iter().map(ToString::to_string).collect()
}
