//! The two steps of a sign-in (OpenID Connect Core 1.0, section 3.1; PKCE, RFC 7636; the issuer of an answer, RFC 9207).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderValue;
use jackfield_ports::credential::Credential;
use jackfield_ports::identity_provider::{
    BegunSignIn, Identity, IdentityError, IdentityProvider, SignInSecrets,
};
use jackfield_provider_kit::guarded::GuardedSettings;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;
use url::{Url, form_urlencoded};

use crate::fetch::{ProviderHttp, shown, text};
use crate::id_token::{self, Expected};
use crate::metadata::{self, InvalidIssuer, Metadata};

/// What a provider knows a gateway by, and what it is asked for.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The claim whose value is the name of a user. An `email` counts if the provider has verified it, in lower case.
    pub claim: Arc<str>,
    /// The id of the gateway at the provider.
    pub client_id: Arc<str>,
    /// The secret of the gateway at the provider; `None` for a public client.
    pub client_secret: Option<Credential>,
    /// The address of the provider, exactly as it writes it.
    pub issuer: Arc<str>,
    /// What is asked for; `openid` is always.
    pub scopes: Vec<Arc<str>>,
}

/// A provider of OpenID Connect.
pub struct OidcClient {
    /// Answers that are being examined: no key is needed to bring one.
    answers: Semaphore,
    base: Url,
    http: ProviderHttp,
    kept: Mutex<KeptMetadata>,
    settings: OidcSettings,
}

/// What the last look at the metadata brought.
#[derive(Default)]
struct KeptMetadata {
    failed: Option<(Instant, IdentityError)>,
    found: Option<(Instant, Arc<Metadata>)>,
}

impl fmt::Debug for OidcClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OidcClient")
            .field("issuer", &self.settings.issuer)
            .finish_non_exhaustive()
    }
}

impl OidcClient {
    /// A provider, which is reached through a guarded client with these settings.
    ///
    /// # Errors
    ///
    /// [`InvalidIssuer`] if the issuer is no address that may be used.
    pub fn new(settings: OidcSettings, guarded: GuardedSettings) -> Result<Self, InvalidIssuer> {
        let base = metadata::check_issuer(&settings.issuer)?;
        let http = ProviderHttp::new(&base, guarded);
        Ok(Self {
            answers: Semaphore::new(MAX_ANSWERS),
            base,
            http,
            kept: Mutex::default(),
            settings,
        })
    }

    /// The metadata, which one request at a time asks for, and none for a while after.
    async fn metadata(&self) -> Result<Arc<Metadata>, IdentityError> {
        let mut kept = self.kept.lock().await;
        if let Some((at, found)) = &kept.found
            && at.elapsed() < METADATA_LIFETIME
        {
            return Ok(Arc::clone(found));
        }
        if let Some((at, error)) = &kept.failed
            && at.elapsed() < FAILURE_LIFETIME
        {
            return Err(error.clone());
        }
        let fetched = metadata::fetch(&self.http, &self.settings.issuer, &self.base).await;
        let now = Instant::now();
        match fetched {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                kept.found = Some((now, Arc::clone(&metadata)));
                Ok(metadata)
            }
            Err(error) => {
                kept.failed = Some((now, error.clone()));
                Err(error)
            }
        }
    }

    /// The code of an answer to a sign-in.
    fn code(&self, metadata: &Metadata, answer: &str) -> Result<String, IdentityError> {
        let field = |name: &str| field(answer, name);
        // Before all else that the answer says, also of errors (RFC 9207, section 2.4).
        match field("iss") {
            Some(issuer) if issuer != *self.settings.issuer => {
                return Err(invalid("is from another provider"));
            }
            None if metadata.sends_issuer => {
                return Err(invalid("does not say which provider it is from"));
            }
            Some(_) | None => {}
        }
        if let Some(error) = field("error") {
            let words = match field("error_description") {
                Some(description) => format!("{error} ({description})"),
                None => error,
            };
            let why = format!("the provider refuses: {}", shown(&words));
            return Err(IdentityError::Refused(why));
        }
        let code = field("code").filter(|code| !code.is_empty());
        code.ok_or_else(|| invalid("has no code"))
    }

    /// Exchanges a code for the proof of the identity and the token for the rest of it.
    async fn tokens(
        &self,
        metadata: &Metadata,
        redirect: &str,
        verifier: &str,
        code: &str,
    ) -> Result<(String, Option<String>), IdentityError> {
        let client = &*self.settings.client_id;
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect),
        ];
        let mut authorization = None;
        match &self.settings.client_secret {
            None => form.push(("client_id", client)),
            Some(secret) if metadata.secret_in_form => {
                form.push(("client_id", client));
                form.push(("client_secret", secret.expose()));
            }
            Some(secret) => authorization = basic(client, secret.expose()),
        }
        let endpoint = &metadata.token_endpoint;
        let fetched = self.http.post(endpoint, &form, authorization).await?;
        if !fetched.status.is_success() {
            // A description may repeat what was sent.
            let error = fetched.text("error").unwrap_or("no reason");
            let (error, status) = (shown(error), fetched.status);
            let why = format!("the provider exchanges no code: {status}, {error}");
            return Err(if fetched.status.is_client_error() {
                IdentityError::Refused(why)
            } else {
                IdentityError::Unavailable(why)
            });
        }
        let proof = fetched.text("id_token").ok_or_else(|| {
            let why = "the provider gives no proof of the identity: it has no `id_token`";
            IdentityError::Unavailable(why.to_owned())
        })?;
        let access = fetched.text("access_token").map(str::to_owned);
        Ok((proof.to_owned(), access))
    }

    /// The claims that the provider has at an address of their own, about the same person.
    async fn user_info(
        &self,
        metadata: &Metadata,
        subject: &str,
        access: Option<&str>,
    ) -> Result<Map<String, Value>, IdentityError> {
        let (Some(endpoint), Some(access)) = (&metadata.userinfo_endpoint, access) else {
            return Ok(Map::new());
        };
        let mut bearer = HeaderValue::from_str(&format!("Bearer {access}")).map_err(|_| {
            let why = "the provider gives a token that cannot be sent";
            IdentityError::Unavailable(why.to_owned())
        })?;
        bearer.set_sensitive(true);
        let fetched = self.http.get(endpoint, Some(bearer)).await?;
        if !fetched.status.is_success() {
            let why = format!("the provider answers {} about the person", fetched.status);
            return Err(IdentityError::Unavailable(why));
        }
        // Section 5.3.2: otherwise it must not be used.
        if fetched.text("sub") != Some(subject) {
            let why = "the provider answers about another person";
            return Err(IdentityError::Invalid(why.to_owned()));
        }
        Ok(fetched.object)
    }
}

#[async_trait]
impl IdentityProvider for OidcClient {
    async fn begin(&self, redirect: &str) -> Result<BegunSignIn, IdentityError> {
        let metadata = self.metadata().await?;
        let (nonce, state, verifier) = (random()?, random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        let mut scope = "openid".to_owned();
        for one in self
            .settings
            .scopes
            .iter()
            .filter(|one| &***one != "openid")
        {
            scope.push(' ');
            scope.push_str(one);
        }
        let mut url = metadata.authorization_endpoint.clone();
        url.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("scope", &scope)
            .append_pair("state", &state)
            .append_pair("nonce", &nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        let secrets = SignInSecrets {
            nonce,
            state,
            verifier,
        };
        Ok(BegunSignIn {
            secrets,
            url: url.into(),
        })
    }

    async fn finish(
        &self,
        secrets: &SignInSecrets,
        redirect: &str,
        answer: &str,
    ) -> Result<Identity, IdentityError> {
        if field(answer, "state").as_deref() != Some(&*secrets.state) {
            return Err(invalid("belongs to another sign-in"));
        }
        let place = timeout(MAX_QUEUE, self.answers.acquire()).await;
        let Ok(Ok(_place)) = place else {
            let why = "too many sign-ins end at once";
            return Err(IdentityError::Unavailable(why.to_owned()));
        };
        let metadata = self.metadata().await?;
        let code = self.code(&metadata, answer)?;
        let tokens = self.tokens(&metadata, redirect, &secrets.verifier, &code);
        let (proof, access) = tokens.await?;
        let keys = self.http.get(&metadata.jwks_uri, None).await?;
        if !keys.status.is_success() {
            let why = format!("{} answers {}", metadata.jwks_uri, keys.status);
            return Err(IdentityError::Unavailable(why));
        }
        let expected = Expected {
            client: &self.settings.client_id,
            issuer: &self.settings.issuer,
            nonce: &secrets.nonce,
        };
        let claims = id_token::check(&proof, &keys.object, &expected)?;
        let subject = text(&claims, "sub").ok_or_else(|| invalid("names no person"))?;
        let subject = subject.to_owned();
        let claim = &*self.settings.claim;
        let name = match name(&claims, claim) {
            Some(name) => name,
            None => {
                let more = self.user_info(&metadata, &subject, access.as_deref());
                name(&more.await?, claim).ok_or_else(|| nameless(claim, &subject))?
            }
        };
        Ok(Identity { name, subject })
    }
}

/// A field of an answer.
fn field(answer: &str, name: &str) -> Option<String> {
    let mut pairs = form_urlencoded::parse(answer.as_bytes());
    let found = pairs.find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

fn invalid(why: &str) -> IdentityError {
    IdentityError::Invalid(format!("the answer {why}"))
}

/// The name of a person by this claim.
fn name(claims: &Map<String, Value>, claim: &str) -> Option<String> {
    let value = text(claims, claim)?;
    if claim != EMAIL {
        return Some(value.to_owned());
    }
    // Some providers write it as a text.
    let verified = claims.get("email_verified")?;
    let is_verified = verified == true || verified == "true";
    is_verified.then(|| value.to_ascii_lowercase())
}

fn nameless(claim: &str, subject: &str) -> IdentityError {
    let subject = shown(subject);
    IdentityError::Nameless(if claim == EMAIL {
        format!("the provider has no verified `email` of the person `{subject}`")
    } else {
        format!("the provider has no `{claim}` of the person `{subject}`")
    })
}

/// The header with the id and the secret of a client, each of them encoded as in a form (RFC 6749, section 2.3.1).
fn basic(client: &str, secret: &str) -> Option<HeaderValue> {
    let encoded =
        |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encoded(client), encoded(secret));
    let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// 256 random bits as a text of 43 letters, digits, `-` and `_`.
fn random() -> Result<String, IdentityError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        let why = format!("the operating system has no random numbers: {error}");
        IdentityError::Unavailable(why)
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// How long the metadata is good.
const METADATA_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long the provider is not asked again after it failed.
const FAILURE_LIFETIME: Duration = Duration::from_secs(2);
/// How many answers are examined at once.
const MAX_ANSWERS: usize = 64;
/// How long an answer waits for its place.
const MAX_QUEUE: Duration = Duration::from_secs(30);
/// The claim that counts if it is verified.
const EMAIL: &str = "email";
