//! What proves who asks: a bearer key, or keys that sign requests (Signature Version 4).

use std::time::SystemTime;

use aws_credential_types::Credentials as AwsCredentials;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use bytes::Bytes;
use http::Request;
use jackfield_ports::chat_model::BoxError;
use jackfield_provider_kit::secret::Secret;

/// The credentials of a provider.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A key of Bedrock alone, sent as `authorization: Bearer`.
    Bearer(Secret),
    /// Keys of an AWS account, which sign each request and are not sent.
    Signing(SigningKeys),
}

/// Keys of an AWS account.
#[derive(Clone, Debug)]
pub struct SigningKeys {
    /// The id of the secret key, which is sent.
    pub access_key_id: String,
    /// The region that signatures are for.
    pub region: String,
    pub secret_access_key: Secret,
    /// The token of temporary keys, which is sent.
    pub session_token: Option<Secret>,
}

impl Credentials {
    /// The secret that no message may show.
    pub(crate) const fn secret(&self) -> &Secret {
        match self {
            Self::Bearer(key) => key,
            Self::Signing(keys) => &keys.secret_access_key,
        }
    }
}

impl SigningKeys {
    /// Signs a request as of this time. Headers that are added later are not covered, and may be added.
    ///
    /// # Errors
    ///
    /// If the request has no form that can be signed.
    pub fn sign(&self, request: &mut Request<Bytes>, now: SystemTime) -> Result<(), BoxError> {
        let token = self.session_token.as_ref();
        let identity = AwsCredentials::new(
            &self.access_key_id,
            self.secret_access_key.expose(),
            token.map(|token| token.expose().to_owned()),
            None,
            "jackfield",
        );
        let identity = identity.into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(SERVICE)
            .time(now)
            .settings(SigningSettings::default())
            .build()?;
        let uri = request.uri().to_string();
        let headers = request.headers().iter();
        let headers =
            headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        let method = request.method().as_str();
        let body = SignableBody::Bytes(request.body());
        let signable = SignableRequest::new(method, uri, headers, body)?;
        let (signature, _) = sign(signable, &params.into())?.into_parts();
        signature.apply_to_request_http1x(request);
        Ok(())
    }
}

/// The name of the service in signatures.
const SERVICE: &str = "bedrock";
