//! Settings.

use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, InvalidConfig, OpenAiConfig};

#[test]
fn the_defaults_are_the_vendors() {
    let config = OpenAiConfig::new(OpenAiConfig::BASE_URL).unwrap();
    assert_eq!(config.base_url.to_string(), "https://api.openai.com/v1");
    assert_eq!(config.api, Api::Responses);
    assert!(config.tools);
}

#[test]
fn an_address_is_taken_as_people_write_it() {
    for (text, whole) in [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("https://host/openai/v1", "https://host/openai/v1"),
        ("https://host/api/paas/v4", "https://host/api/paas/v4"),
    ] {
        let config = OpenAiConfig::new(text).unwrap();
        assert_eq!(config.base_url.to_string(), whole, "{text}");
    }
    let at_root = OpenAiConfig::with_path("https://host", "").unwrap();
    assert_eq!(
        at_root.base_url.join("/responses"),
        "https://host/responses"
    );
}

#[test]
fn the_address_of_a_resource_is_refused() {
    for path in ["/chat/completions", "/responses"] {
        let error = OpenAiConfig::new(&format!("https://host/v1{path}/")).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("base_url ends in `{path}`: give the address without it")
        );
    }
}

#[test]
fn settings_do_not_show_the_key() {
    let mut config = OpenAiConfig::new(OpenAiConfig::BASE_URL).unwrap();
    config.key = Some(Secret::new("sk-1"));
    assert!(!format!("{config:?}").contains("sk-1"));
}

#[test]
fn what_no_header_can_hold_is_refused_without_repeating_it() {
    let refused = |change: fn(&mut OpenAiConfig)| {
        let mut config = OpenAiConfig::new(OpenAiConfig::BASE_URL).unwrap();
        change(&mut config);
        let transport = Transport::new(TransportSettings::default()).unwrap();
        OpenAi::new(config, transport).unwrap_err()
    };
    let error = refused(|config| config.key = Some(Secret::new("sk-\u{1}s3cret")));
    assert!(matches!(error, InvalidConfig::Key(_)));
    assert!(!format!("{error} {error:?}").contains("s3cret"));
    let error = refused(|config| config.organization = Some("one\ntwo".to_owned()));
    assert_eq!(error.to_string(), "organization cannot be sent in a header");
    let error = refused(|config| config.project = Some("\u{7f}".to_owned()));
    assert_eq!(error.to_string(), "project cannot be sent in a header");
}
