//! The proof of an identity, and what is checked of it (OpenID Connect Core 1.0, section 3.1.3.7, read 2026-11-27).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jackfield_ports::identity_provider::IdentityError;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::{DecodingKey, Header, Validation, decode, decode_header};
use serde_json::{Map, Value};

use crate::fetch::text;
use crate::signatures;

/// What a proof has to be for.
#[derive(Debug)]
pub(crate) struct Expected<'a> {
    pub(crate) client: &'a str,
    pub(crate) issuer: &'a str,
    pub(crate) nonce: &'a str,
}

/// What a proof says, once it was checked with the keys of the provider.
pub(crate) fn check(
    token: &str,
    keys: &Map<String, Value>,
    expected: &Expected<'_>,
) -> Result<Map<String, Value>, IdentityError> {
    signatures::install();
    let header = decode_header(token).map_err(|error| invalid(&error.to_string()))?;
    if !signatures::ALGORITHMS.contains(&header.alg) {
        return Err(invalid(&format!("{:?} is not taken", header.alg)));
    }
    if has_critical(token) {
        return Err(invalid("it has an extension that has to be understood"));
    }
    let mut validation = Validation::new(header.alg);
    validation.set_audience(&[expected.client]);
    validation.set_issuer(&[expected.issuer]);
    validation.set_required_spec_claims(&["aud", "exp", "iss", "sub"]);
    validation.validate_nbf = true;
    let mut why = "the provider has no key for it".to_owned();
    for key in usable(keys, &header) {
        match decode::<Map<String, Value>>(token, &key, &validation) {
            Ok(token) => {
                check_claims(&token.claims, expected)?;
                return Ok(token.claims);
            }
            Err(error) => why = error.to_string(),
        }
    }
    Err(invalid(&why))
}

/// Whether the header of a token names extensions that have to be understood (RFC 7515, section 4.1.11). None is.
fn has_critical(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).unwrap_or_default();
    let header: Value = serde_json::from_slice(&header).unwrap_or_default();
    header.get("crit").is_some()
}

/// What the library does not check.
fn check_claims(claims: &Map<String, Value>, expected: &Expected<'_>) -> Result<(), IdentityError> {
    // The library takes a list of issuers, too.
    if text(claims, "iss") != Some(expected.issuer) {
        return Err(invalid("InvalidIssuer"));
    }
    if text(claims, "nonce") != Some(expected.nonce) {
        return Err(invalid("it belongs to another sign-in"));
    }
    let audiences = claims.get("aud").and_then(Value::as_array);
    let has_others = audiences.is_some_and(|audiences| audiences.len() > 1);
    let party = claims.get("azp");
    if (has_others || party.is_some()) && party.and_then(Value::as_str) != Some(expected.client) {
        return Err(invalid("it was made for another client"));
    }
    Ok(())
}

/// The keys that may have signed a token with this header. A key of a form that is not known is passed over.
fn usable(keys: &Map<String, Value>, header: &Header) -> Vec<DecodingKey> {
    let keys = keys.get("keys").and_then(Value::as_array);
    let keys = keys.into_iter().flatten().take(MAX_KEYS);
    let keys = keys.filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
    let keys = keys.filter(|key| {
        let common = &key.common;
        let is_named = header.kid.is_none() || common.key_id == header.kid;
        is_named && !matches!(common.public_key_use, Some(PublicKeyUse::Encryption))
    });
    let keys = keys.filter_map(|key| DecodingKey::from_jwk(&key).ok());
    keys.filter(|key| key.family() == header.alg.family())
        .collect()
}

fn invalid(why: &str) -> IdentityError {
    IdentityError::Invalid(format!("the provider's proof is not accepted: {why}"))
}

/// How many keys of a provider are tried.
const MAX_KEYS: usize = 50;
