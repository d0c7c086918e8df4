//! The signed statement of a service account that is exchanged for a token (RFC 7523; AIP-4111).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

use super::credentials::ServiceAccount;
use super::issuer::SCOPE;

/// The statement as of this time, in seconds since 1970; `None` if the private key is none.
pub(super) fn sign(account: &ServiceAccount, now: u64) -> Option<String> {
    let key = key_pair(account.private_key.expose())?;
    let mut header = json!({ "alg": "RS256", "typ": "JWT" });
    if let Some(id) = &account.private_key_id {
        header["kid"] = json!(id);
    }
    let claims = json!({
        "aud": account.token_uri,
        "exp": now + LIFETIME,
        "iat": now,
        "iss": account.client_email,
        "scope": SCOPE,
    });
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        signed.as_bytes(),
        &mut signature,
    )
    .ok()?;
    Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The key in the PEM of a file: PKCS #8, which is what the vendor issues.
fn key_pair(pem: &str) -> Option<RsaKeyPair> {
    let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).ok()?;
    RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).ok()
}

/// How long a statement is valid, in seconds; the longest that is accepted.
const LIFETIME: u64 = 3600;
