//! Settings.

use jackfield_provider_claude::client::Claude;
use jackfield_provider_claude::config::{ClaudeConfig, InvalidConfig};
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};

#[test]
fn the_default_address_is_the_vendors() {
    let config = ClaudeConfig::new(ClaudeConfig::BASE_URL).unwrap();
    assert_eq!(config.base_url.to_string(), "https://api.anthropic.com");
}

#[test]
fn settings_do_not_show_the_key() {
    let mut config = ClaudeConfig::new(ClaudeConfig::BASE_URL).unwrap();
    config.key = Some(Secret::new("sk-1"));
    assert!(!format!("{config:?}").contains("sk-1"));
}

#[test]
fn what_no_header_can_hold_is_refused_without_repeating_it() {
    let refused = |change: fn(&mut ClaudeConfig)| {
        let mut config = ClaudeConfig::new(ClaudeConfig::BASE_URL).unwrap();
        change(&mut config);
        let transport = Transport::new(TransportSettings::default()).unwrap();
        Claude::new(config, transport).unwrap_err()
    };
    let error = refused(|config| config.key = Some(Secret::new("sk-\u{1}s3cret")));
    assert!(matches!(error, InvalidConfig::Key(_)));
    assert!(!format!("{error} {error:?}").contains("s3cret"));
    let error = refused(|config| config.betas = vec!["one\ntwo".to_owned()]);
    assert_eq!(error.to_string(), "betas cannot be sent in a header");
    let error = refused(|config| config.version = Some("\u{7f}".to_owned()));
    assert_eq!(error.to_string(), "version cannot be sent in a header");
}
