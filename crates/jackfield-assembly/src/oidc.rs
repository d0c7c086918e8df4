//! Where people sign in to the page, `[serve.oidc]`.

#[cfg_attr(not(feature = "oidc"), path = "oidc/without.rs")]
mod client;

use std::sync::Arc;

use jackfield_domain::directory::EntryName;
use jackfield_engine::ServerTools;

pub(crate) use self::client::check_issuer;
use crate::key_source::KeySource;
use crate::place::ValueSource;

/// A provider of OpenID Connect, and what people who sign in there may do.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct OidcConfig {
    /// The users that see everything and change the directory.
    pub admins: Vec<EntryName>,
    /// The claim whose value is the name of a user.
    pub claim: Arc<str>,
    /// The id of the gateway at the provider.
    pub client_id: Arc<str>,
    /// The source of the gateway's secret there; [`KeySource::None`] for a public client.
    pub client_secret: KeySource,
    /// The address of the provider.
    pub issuer: Arc<str>,
    /// What people call the provider.
    pub label: Arc<str>,
    /// The models, routes and assistants that they may name, as patterns; `None` for all.
    pub models: Option<Vec<Arc<str>>>,
    /// Where it is configured.
    pub place: ValueSource,
    /// What is asked for, beside `openid`.
    pub scopes: Vec<Arc<str>>,
    /// The server tools that they may use; by default, those of the gateway.
    pub tools: Option<ServerTools>,
}
