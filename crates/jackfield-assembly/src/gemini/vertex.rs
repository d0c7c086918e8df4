//! The factory of providers of the kind `gemini-vertex`: Gemini at Vertex AI, with credentials of Google.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_ports::chat_model::{BoxError, ChatModel};
use jackfield_provider_gemini::client::Gemini;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_provider_gemini::google::{Credentials, GoogleTokens};
use jackfield_provider_kit::tokens::Tokens;

use crate::factory::{ProviderFactory, ProviderSettings};
use crate::surroundings::read_small;

/// Builds Gemini models at Vertex AI.
pub(crate) struct VertexFactory;

impl ProviderFactory for VertexFactory {
    fn variables(&self) -> &[&str] {
        &[
            "CLOUDSDK_CONFIG",
            CREDENTIALS,
            "GCE_METADATA_HOST",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "HOME",
        ]
    }

    fn options(&self) -> &[&str] {
        &["location", "project", "quirks", "tools"]
    }

    fn build(&self, settings: ProviderSettings) -> Result<Arc<dyn ChatModel>, BoxError> {
        let config = configure(&settings)?;
        Ok(Arc::new(Gemini::new(config, settings.transport)?))
    }
}

/// The configuration with these settings.
fn configure(settings: &ProviderSettings) -> Result<GeminiConfig, BoxError> {
    // A source of a key that has none is no reason to look for other credentials.
    let has_key = settings.key.is_some() || settings.missing_key.is_some();
    let credentials = if has_key {
        None
    } else {
        Some(credentials(settings))
    };
    let found = credentials.as_ref().and_then(|found| found.as_ref().ok());
    let project = text(settings, "project")?;
    let of_environment = |name: &str| settings.variables.get(name).map(|value| value.expose());
    let project = if has_key {
        // A key names its project.
        project
    } else {
        let project = project.or_else(|| of_environment("GOOGLE_CLOUD_PROJECT"));
        let project = project.or_else(|| found.and_then(Credentials::project));
        Some(project.ok_or(
            "project is not set: write `project = \"my-project\"`, or set GOOGLE_CLOUD_PROJECT",
        )?)
    };
    let location = text(settings, "location")?;
    let location = location.or_else(|| of_environment("GOOGLE_CLOUD_LOCATION"));
    let place = project.map(|project| (project, location.unwrap_or("global")));
    let mut config = GeminiConfig::at_vertex(place, settings.base_url.as_deref())?;
    super::common(&mut config, settings)?;
    match credentials {
        None => {}
        Some(Err(why)) => config.missing_key = Some(why),
        Some(Ok(credentials)) => {
            if let Some(vertex) = &mut config.vertex {
                vertex.quota_project = credentials.quota_project().map(str::to_owned);
            }
            let tokens = GoogleTokens::new(credentials, settings.transport.clone())?;
            config.tokens = Some(Arc::new(Tokens::new(tokens)));
        }
    }
    Ok(config)
}

/// The credentials of the environment, in the order of "Application Default Credentials". The error is why a file has
/// none, in a sentence.
fn credentials(settings: &ProviderSettings) -> Result<Credentials, String> {
    let variable = |name: &str| settings.variables.get(name).map(|value| value.expose());
    if let Some(path) = variable(CREDENTIALS) {
        return read(Path::new(path), &format!("{CREDENTIALS} names a file, but"));
    }
    let of_gcloud = match (variable("CLOUDSDK_CONFIG"), variable("HOME")) {
        (Some(folder), _) => Some(PathBuf::from(folder)),
        (None, Some(home)) => Some(Path::new(home).join(".config/gcloud")),
        (None, None) => None,
    };
    let file = of_gcloud.map(|folder| folder.join("application_default_credentials.json"));
    if let Some(file) = file.filter(|file| file.exists()) {
        return read(&file, "`gcloud` has left a file, but");
    }
    let host = variable("GCE_METADATA_HOST").unwrap_or(METADATA);
    Ok(Credentials::Metadata {
        host: host.to_owned(),
    })
}

fn read(file: &Path, what: &str) -> Result<Credentials, String> {
    let bytes = read_small(file).map_err(|error| format!("{what} it cannot be read: {error}"))?;
    Credentials::parse(&bytes).map_err(|error| format!("{what} {error}"))
}

/// An option that is a text.
fn text<'s>(settings: &'s ProviderSettings, name: &str) -> Result<Option<&'s str>, BoxError> {
    let Some(value) = settings.options.get(name) else {
        return Ok(None);
    };
    let text = value.as_str().filter(|text| !text.is_empty());
    Ok(Some(text.ok_or_else(|| format!("{name} is a text"))?))
}

/// The name of the kind.
pub(crate) const VERTEX: &str = "gemini-vertex";
const CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";
/// The address of every metadata server: a name would be looked up everywhere else, too.
const METADATA: &str = "169.254.169.254";
