//! Sign-in of people at a provider of OpenID Connect: the authorization code flow with PKCE, state and nonce.
//!
//! | module | what it has |
//! |---|---|
//! | `client` | the two steps of a sign-in |
//! | `fetch` | bounded requests to the provider |
//! | `id_token` | the proof of an identity, and what is checked of it |
//! | `metadata` | where the provider has what |
//! | `signatures` | the cryptography of `jsonwebtoken`, by ring |

mod client;
mod fetch;
mod id_token;
mod metadata;
mod signatures;

pub use self::client::{OidcClient, OidcSettings};
pub use self::metadata::{InvalidIssuer, check_issuer};
