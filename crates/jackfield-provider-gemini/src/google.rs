//! Credentials of Google, and the tokens that they are exchanged for ("Application Default Credentials", and AIP-4110
//! to AIP-4115, 2026-11): a service account's key, a person's sign-in of `gcloud`, or the metadata server of a machine
//! at Google.

mod assertion;
mod credentials;
mod issuer;
mod metadata;

pub use self::credentials::{AuthorizedUser, Credentials, InvalidCredentials, ServiceAccount};
pub use self::issuer::GoogleTokens;
