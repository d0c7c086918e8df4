//! The key of a provider, where its configuration or its kind says that it is.

use jackfield_provider_kit::secret::Secret;

use crate::config::ProviderConfig;
use crate::factory::ProviderFactory;
use crate::key_source::KeySource;
use crate::key_source::read_source;
use crate::provider_state::{KeyState, MissingKey};
use crate::surroundings::Environment;

/// Looks up the key, and returns its state.
pub(super) fn find_key(
    factory: &dyn ProviderFactory,
    name: &str,
    provider: &ProviderConfig,
    environment: &Environment,
) -> (Option<Secret>, KeyState) {
    let source = match (&provider.key, factory.key_variable()) {
        (Some(source), _) => source.clone(),
        (None, Some(variable)) => {
            let is_set = |name: &str| {
                let value = environment.get(name);
                value.is_some_and(|value| value.map_or(true, |text| !text.trim().is_empty()))
            };
            let all = [variable].into_iter();
            let mut all = all.chain(factory.further_key_variables().iter().copied());
            KeySource::Variable(all.find(|name| is_set(name)).unwrap_or(variable).into())
        }
        (None, None) => KeySource::None,
    };
    let found = match &source {
        KeySource::None => String::new(),
        KeySource::File(path) => format!("the file `{}`", path.display()),
        KeySource::Keyring => "the keyring".to_owned(),
        KeySource::Variable(name) => name.to_string(),
    };
    let read = read_source(
        &source,
        (name, &format!("jackfield keys set {name}")),
        environment,
    );
    let variable = match source {
        KeySource::None => return (None, KeyState::NotNeeded),
        KeySource::File(_) | KeySource::Keyring => None,
        KeySource::Variable(name) => Some(name),
    };
    let (text, none) = match read {
        Ok(text) => (text, format!("{found} is empty")),
        Err(why) => (String::new(), why),
    };
    let key = Secret::new(&text);
    // An invalid key counts as missing, which is only reported on a request.
    let why = match (key.header_value(""), &variable) {
        _ if text.trim().is_empty() => Some(none),
        (Ok(_), _) => None,
        (Err(error), Some(name)) => Some(format!("{name} is set, but {error}")),
        (Err(error), None) => Some(format!("{found} has a key, but {error}")),
    };
    if let Some(why) = why {
        let page = factory.key_page().map(str::to_owned);
        let missing = MissingKey {
            page,
            variable,
            reason: why,
        };
        return (None, KeyState::Missing(missing));
    }
    (Some(key), KeyState::Found(found))
}
