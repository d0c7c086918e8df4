//! The configuration of Bedrock.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use jackfield_domain::settings::CacheMode;
use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl};
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_kit::secret::InvalidSecret;
use thiserror::Error;

use crate::credentials::Credentials;
use crate::profile::ModelProfile;

/// Settings of Bedrock in one region.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BedrockConfig {
    /// The base URL of the runtime's API.
    pub base_url: BaseUrl,
    /// Which cache points requests have where the turn's settings do not say so.
    pub cache: CacheMode,
    /// The key, or the keys that sign requests.
    pub credentials: Option<Credentials>,
    /// The reason why required credentials are missing, in a sentence; requests fail with it.
    pub missing_key: Option<String>,
    /// The capabilities of the models.
    pub profile: ByModel<ModelProfile>,
    /// Whether the models support tools.
    pub tools: bool,
}

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    #[error(transparent)]
    BaseUrl(#[from] InvalidBaseUrl),
    #[error(transparent)]
    Key(#[from] InvalidSecret),
    /// The region is not the name of one.
    #[error("region is the name of one, such as `us-east-1`")]
    Region,
}

impl BedrockConfig {
    /// Settings for a server, with defaults for the rest.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig::BaseUrl`] if the URL is invalid.
    pub fn new(base_url: &str) -> Result<Self, InvalidConfig> {
        Ok(Self {
            base_url: BaseUrl::parse(base_url)?,
            cache: CacheMode::default(),
            credentials: None,
            missing_key: None,
            profile: ByModel::new(ModelProfile::of),
            tools: true,
        })
    }

    /// Settings for the vendor's own server in a region, with defaults for the rest.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig::Region`] if it is not the name of a region.
    pub fn in_region(region: &str) -> Result<Self, InvalidConfig> {
        Self::new(&format!(
            "https://bedrock-runtime.{}.{}",
            checked_region(region)?,
            domain(region)
        ))
    }

    /// The headers of every request; signatures are added later.
    pub(crate) fn headers(&self) -> Result<HeaderMap, InvalidConfig> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(Credentials::Bearer(key)) = &self.credentials {
            headers.insert(AUTHORIZATION, key.header_value("Bearer ")?);
        }
        Ok(headers)
    }
}

/// The name of a region, if it has the form of one: it becomes a part of a host.
///
/// # Errors
///
/// [`InvalidConfig::Region`] if it has not.
pub fn checked_region(region: &str) -> Result<&str, InvalidConfig> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_region = (1..=MAX_REGION).contains(&region.len()) && region.chars().all(is_part);
    is_region.then_some(region).ok_or(InvalidConfig::Region)
}

/// The region in the host of a base URL of the vendor, such as `https://bedrock-runtime.us-east-1.amazonaws.com`.
#[must_use]
pub fn region_of(base_url: &str) -> Option<&str> {
    let (_, host) = base_url.split_once("://")?;
    let (service, rest) = host.split_once('.')?;
    let (region, domain) = rest.split_once('.')?;
    let is_runtime = matches!(service, "bedrock-runtime" | "bedrock-runtime-fips");
    let domain = domain.split(['/', ':']).next();
    let is_vendors = matches!(domain, Some("amazonaws.com" | "amazonaws.com.cn"));
    (is_runtime && is_vendors).then_some(region)
}

/// The domain of a region (the endpoint rules of `botocore` 1.44.8).
fn domain(region: &str) -> &'static str {
    if region.starts_with("cn-") {
        "amazonaws.com.cn"
    } else {
        "amazonaws.com"
    }
}

/// The longest name of a region.
const MAX_REGION: usize = 32;
