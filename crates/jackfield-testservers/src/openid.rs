//! A scripted provider of OpenID Connect, which is strict about what a client sends, and lies as a test says.
//!
//! The test is the browser and the person: it takes the address that a client sends the browser to, and
//! [`sign_in`](ScriptedOpenId::sign_in) gives the address that the provider sends the browser back to. A real browser that
//! asks for the former is sent to the latter, as if the person had signed in.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each flaw is in one place, and all others are right there"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jackfield_testkit::server::{RecordedRequest, Response, TestServer};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::{Url, form_urlencoded};

/// The id of the only client.
pub const CLIENT_ID: &str = "gateway";
/// The secret of the only client, with characters that have to be encoded.
pub const CLIENT_SECRET: &str = "a+secret of/the:gateway";

/// What is wrong with a provider.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OpenIdFlaw {
    /// The proof has an extension that has to be understood.
    Critical,
    /// Its address of keys answers with more bytes than any set of keys has.
    EndlessKeys,
    Expired,
    /// The proof is signed by another key.
    ForeignSignature,
    /// The metadata is about another issuer.
    ForeignMetadata,
    /// The proof is about nobody.
    EmptySubject,
    /// The claims that are not in the proof are about another person.
    ForeignUserInfo,
    /// The proof is for another client, too, and does not say that it was made for this one.
    ManyAudiences,
    /// The proof is signed with the client's secret.
    SharedSecret,
    /// The provider does everything right.
    #[default]
    None,
    /// The proof has no signature.
    Unsigned,
    /// The proof is for another client.
    WrongAudience,
    /// The proof is from another issuer.
    WrongIssuer,
    /// The proof belongs to another sign-in.
    WrongNonce,
}

/// What the person and the provider do.
#[derive(Clone, Debug)]
struct OpenIdScript {
    /// The claims beside those of the protocol.
    claims: Value,
    /// Whether the claims are at an address of their own.
    claims_apart: bool,
    flaw: OpenIdFlaw,
    /// What was asked for at the last sign-in.
    grant: Option<Grant>,
}

/// A code that was given, and what the exchange has to show.
#[derive(Clone, Debug)]
struct Grant {
    challenge: String,
    nonce: String,
    redirect: String,
}

/// The provider. Dropping it closes its port.
pub struct ScriptedOpenId {
    server: TestServer,
    shared: Arc<Shared>,
}

struct Shared {
    key: EcdsaKeyPair,
    other_key: EcdsaKeyPair,
    script: Mutex<OpenIdScript>,
}

impl ScriptedOpenId {
    /// Starts a provider, at which one person signs in: `ann`, with a verified address.
    ///
    /// # Panics
    ///
    /// If no port can be opened, or there are no random numbers.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared {
            key: new_key(),
            other_key: new_key(),
            script: Mutex::new(OpenIdScript {
                claims: json!({
                    "email": "Ann@Example.com", "email_verified": true, "preferred_username": "ann",
                }),
                claims_apart: false,
                flaw: OpenIdFlaw::None,
                grant: None,
            }),
        });
        let answering = Arc::clone(&shared);
        let server = TestServer::start_with(move |request| answering.answer(request)).await;
        Self { server, shared }
    }

    #[must_use]
    pub fn issuer(&self) -> String {
        self.server.base_url()
    }

    /// How many requests it had.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.server.requests().len()
    }

    /// What is wrong with it from now on.
    pub fn set_flaw(&self, flaw: OpenIdFlaw) {
        self.shared.script().flaw = flaw;
    }

    /// What it says of the person from now on, in the proof or at an address of its own.
    pub fn set_claims(&self, claims: Value, apart: bool) {
        let mut script = self.shared.script();
        (script.claims, script.claims_apart) = (claims, apart);
    }

    /// Signs the person in, whose browser was sent to this address. Returns the address that the browser is sent back to.
    ///
    /// # Panics
    ///
    /// If the address is not one that a provider takes.
    #[must_use]
    pub fn sign_in(&self, url: &str) -> String {
        assert!(url.starts_with(&self.issuer()), "{url}");
        self.shared.sign_in(url)
    }
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, OpenIdScript> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sign_in(&self, url: &str) -> String {
        let url = Url::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(url.path(), "/authorize", "{url}");
        let field = |name: &str| {
            let mut pairs = url.query_pairs();
            let found = pairs.find(|(key, _)| key == name);
            let found = found.map(|(_, value)| value.into_owned());
            found.unwrap_or_else(|| panic!("{url} has no `{name}`"))
        };
        assert_eq!(field("response_type"), "code");
        assert_eq!(field("client_id"), CLIENT_ID);
        assert_eq!(field("code_challenge_method"), "S256");
        assert!(field("scope").split(' ').any(|scope| scope == "openid"));
        let (state, redirect) = (field("state"), field("redirect_uri"));
        for random in [&state, &field("nonce")] {
            assert!(random.len() >= 43, "{random} can be guessed");
        }
        self.script().grant = Some(Grant {
            challenge: field("code_challenge"),
            nonce: field("nonce"),
            redirect: redirect.clone(),
        });
        format!("{redirect}?code={CODE}&state={state}")
    }

    fn answer(&self, request: &RecordedRequest) -> Response {
        let host = request.header("host").unwrap_or_default();
        let issuer = format!("http://{host}");
        let script = self.script().clone();
        match (&*request.method, &*request.path) {
            ("GET", "/.well-known/openid-configuration") => {
                let is_foreign = script.flaw == OpenIdFlaw::ForeignMetadata;
                let named = if is_foreign {
                    "https://accounts.example.com"
                } else {
                    &issuer
                };
                found(&json!({
                    "issuer": named,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "jwks_uri": format!("{issuer}/keys"),
                    "userinfo_endpoint": format!("{issuer}/person"),
                }))
            }
            ("GET", "/keys") if script.flaw == OpenIdFlaw::EndlessKeys => {
                Response::json(200, vec![b' '; 1 << 20])
            }
            ("GET", "/keys") => found(&json!({ "keys": [
                { "kty": "new", "kid": "a", "use": 7 },
                document("other", new_key().public_key().as_ref()),
                document(KEY_ID, self.key.public_key().as_ref()),
            ] })),
            ("GET", "/person") if request.header("authorization") == Some("Bearer of-ann") => {
                let mut claims = script.claims;
                let is_foreign = script.flaw == OpenIdFlaw::ForeignUserInfo;
                claims["sub"] = if is_foreign { "bob" } else { SUBJECT }.into();
                found(&claims)
            }
            ("GET", path) if path.starts_with("/authorize?") => {
                let back = self.sign_in(&format!("{issuer}{path}"));
                Response::text(303, "").header("location", back)
            }
            ("POST", "/token") => self.exchange(request, &issuer),
            (method, path) => Response::json(404, format!("{{\"error\": \"{method} {path}\"}}")),
        }
    }

    fn exchange(&self, request: &RecordedRequest, issuer: &str) -> Response {
        let refused = |error: &str| {
            let why = json!({ "error": error, "error_description": CLIENT_SECRET });
            Response::json(400, why.to_string())
        };
        let encoded =
            |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
        let pair = format!("{}:{}", encoded(CLIENT_ID), encoded(CLIENT_SECRET));
        let expected = format!("Basic {}", STANDARD.encode(pair));
        if request.header("authorization") != Some(&*expected) {
            return refused("invalid_client");
        }
        let field = |name: &str| {
            let mut pairs = form_urlencoded::parse(&request.body);
            let found = pairs.find(|(key, _)| key == name);
            found
                .map(|(_, value)| value.into_owned())
                .unwrap_or_default()
        };
        if field("code") == SLOW_CODE {
            return found(&json!({})).stall();
        }
        // A code is good for one exchange.
        let Some(grant) = self.script().grant.take() else {
            return refused("invalid_grant");
        };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier").as_bytes()));
        let is_right = field("grant_type") == "authorization_code"
            && field("code") == CODE
            && field("redirect_uri") == grant.redirect
            && challenge == grant.challenge;
        if !is_right {
            return refused("invalid_grant");
        }
        found(&json!({
            "access_token": "of-ann", "token_type": "Bearer", "expires_in": 60,
            "id_token": self.proof(issuer, &grant.nonce),
        }))
    }

    fn proof(&self, issuer: &str, nonce: &str) -> String {
        let script = self.script().clone();
        let flaw = script.flaw;
        let mut claims = if script.claims_apart {
            json!({})
        } else {
            script.claims
        };
        let other = "https://accounts.example.com";
        claims["iss"] = if flaw == OpenIdFlaw::WrongIssuer {
            other
        } else {
            issuer
        }
        .into();
        let is_empty = flaw == OpenIdFlaw::EmptySubject;
        claims["sub"] = if is_empty { "" } else { SUBJECT }.into();
        claims["aud"] = match flaw {
            OpenIdFlaw::ManyAudiences => json!([CLIENT_ID, "another"]),
            OpenIdFlaw::WrongAudience => json!("another"),
            _ => json!(CLIENT_ID),
        };
        claims["nonce"] = if flaw == OpenIdFlaw::WrongNonce {
            "another"
        } else {
            nonce
        }
        .into();
        // The years 2001 and 2096.
        let (begin, end) = (1_000_000_000_u64, 4_000_000_000_u64);
        claims["iat"] = begin.into();
        claims["exp"] = if flaw == OpenIdFlaw::Expired {
            begin
        } else {
            end
        }
        .into();
        let algorithm = match flaw {
            OpenIdFlaw::SharedSecret => "HS256",
            OpenIdFlaw::Unsigned => "none",
            _ => "ES256",
        };
        let mut header = json!({ "alg": algorithm, "kid": KEY_ID, "typ": "JWT" });
        if flaw == OpenIdFlaw::Critical {
            header["crit"] = json!(["exp"]);
        }
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = match flaw {
            OpenIdFlaw::SharedSecret => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, CLIENT_SECRET.as_bytes());
                ring::hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
            }
            OpenIdFlaw::Unsigned => Vec::new(),
            OpenIdFlaw::ForeignSignature => sign(&self.other_key, &signed),
            _ => sign(&self.key, &signed),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

fn found(value: &Value) -> Response {
    Response::json(200, value.to_string())
}

fn new_key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
    let key = key.and_then(|key| {
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random);
        key.map_err(|_| ring::error::Unspecified)
    });
    key.unwrap_or_else(|_| panic!("there are no random numbers"))
}

fn sign(key: &EcdsaKeyPair, text: &str) -> Vec<u8> {
    let signature = key.sign(&SystemRandom::new(), text.as_bytes());
    let signature = signature.unwrap_or_else(|_| panic!("there are no random numbers"));
    signature.as_ref().to_vec()
}

/// A public key, which is a point after one byte, as a JSON Web Key.
fn document(id: &str, point: &[u8]) -> Value {
    let (x, y) = point[1..].split_at(32);
    let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
    json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": id, "x": x, "y": y })
}

/// A code whose exchange is never answered.
pub const SLOW_CODE: &str = "slow";
const CODE: &str = "code-1";
const KEY_ID: &str = "now";
/// The provider's own name for the person.
const SUBJECT: &str = "00u1";
