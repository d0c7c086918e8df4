//! What the contract of `Upstream` has to know of Gemini.

use jackfield_ports::upstream::Upstream as _;
use jackfield_provider_gemini::config::GeminiConfig;
use jackfield_provider_gemini::upstream::upstream;
use jackfield_provider_kit::secret::Secret;
use jackfield_provider_kit::transport::{Transport, TransportSettings};
use jackfield_provider_kit::upstream::HttpUpstream;
use jackfield_testkit::contract::upstream::{AddedHeader, UpstreamHarness};

pub(crate) struct GeminiUpstream;

impl UpstreamHarness for GeminiUpstream {
    type Upstream = HttpUpstream;

    fn connect(&self, base_url: &str, key: &str) -> HttpUpstream {
        let mut config = GeminiConfig::new(base_url).unwrap();
        config.key = Some(Secret::new(key));
        let transport = Transport::new(TransportSettings::default()).unwrap();
        upstream(&config, transport).unwrap()
    }

    fn endpoints(&self) -> &[(&str, &str)] {
        &[
            ("/v1beta/models/*", "/v1beta/models/*"),
            ("/v1/models/*", "/v1/models/*"),
        ]
    }

    fn added_headers(&self, key: &str) -> Vec<AddedHeader> {
        vec![AddedHeader::new("x-goog-api-key", key)]
    }
}

#[test]
fn the_methods_of_models_are_served_and_what_is_configured() {
    let mut config = GeminiConfig::new("https://gemini.example").unwrap();
    config.endpoints = vec!["/v1beta/files".into()];
    let transport = Transport::new(TransportSettings::default()).unwrap();
    let upstream = upstream(&config, transport).unwrap();
    assert_eq!(
        upstream.endpoints(),
        ["/v1beta/models/*", "/v1/models/*", "/v1beta/files"]
    );
    assert!(upstream.serves("/v1beta/models/gemini-3.8-flash:countTokens"));
    assert!(!upstream.serves("/v1beta/models/..%2Fcaches:countTokens"));
}
