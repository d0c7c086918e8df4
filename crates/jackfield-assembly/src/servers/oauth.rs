//! The field `oauth` of a server with an address.

use std::sync::Arc;

use jackfield_provider_kit::guarded::Allowed;
use serde_json::Value;

use crate::servers::fields::{FileProblems, ServerFields, filled, texts};

/// How a person signs in at a server, as far as the server does not say it. Texts are as written, with `${NAME}` in
/// them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct OAuthEntry {
    /// Destinations of the sign-in that are allowed although they are not public.
    pub allow_private: Vec<Arc<str>>,
    /// The id of a client that was registered by hand.
    pub client_id: Option<Arc<str>>,
    /// The address of a document about the client.
    pub client_metadata_url: Option<Arc<str>>,
    /// The secret of the client that was registered by hand.
    pub client_secret: Option<Arc<str>>,
    /// The redirect that the client was registered with.
    pub redirect_uri: Option<Arc<str>>,
    /// The scope to ask for, instead of what the server suggests.
    pub scope: Option<Arc<str>>,
}

/// Reads the field; other programs name some of its fields otherwise.
pub(super) fn read(fields: &mut ServerFields<'_>, pages: &FileProblems) -> OAuthEntry {
    let Some(value) = fields.find("oauth") else {
        return OAuthEntry::default();
    };
    let Some(mut oauth) = ServerFields::of(pages, value, fields.key("oauth")) else {
        return OAuthEntry::default();
    };
    let allow_private = oauth.take("allow_private", texts).unwrap_or_default();
    for allowed in &allow_private {
        if let Err(error) = Allowed::default().allow(allowed) {
            oauth.problem("allow_private", error.to_string());
        }
    }
    let foreign_id = foreign(&mut oauth, "clientId", filled);
    let foreign_secret = foreign(&mut oauth, "clientSecret", filled);
    let port = foreign(&mut oauth, "callbackPort", |port| {
        let port = port.as_u64().and_then(|port| u16::try_from(port).ok());
        port.ok_or_else(|| "the number of a port was expected".to_owned())
    });
    let foreign_redirect = port.map(|port| format!("http://localhost:{port}/callback").into());
    let entry = OAuthEntry {
        allow_private,
        client_id: oauth.take("client_id", filled).or(foreign_id),
        client_metadata_url: oauth.take("client_metadata_url", filled),
        client_secret: oauth.take("client_secret", filled).or(foreign_secret),
        redirect_uri: oauth.take("redirect_uri", filled).or(foreign_redirect),
        scope: oauth.take("scope", filled),
    };
    oauth.finish_shared();
    entry
}

/// A field of other programs; one that cannot be used is left out.
fn foreign<T>(
    oauth: &mut ServerFields<'_>,
    name: &'static str,
    parse: impl FnOnce(&Value) -> Result<T, String>,
) -> Option<T> {
    match parse(oauth.find_foreign(name)?) {
        Ok(parsed) => Some(parsed),
        Err(message) => {
            oauth.remark(Some(name), format!("left out: {message}"));
            None
        }
    }
}
