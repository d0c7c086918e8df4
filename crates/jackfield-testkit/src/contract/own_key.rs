//! What the clauses about keys of people check, of models and of upstreams.

use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};

use crate::server::{RecordedRequest, TestServer};

/// Checks that a request was made with [`OWN_KEY`], and not with the adapter's.
#[track_caller]
pub(super) fn assert_only_own_key(request: &RecordedRequest, adapters: &str) {
    let has = |key: &str| {
        let mut headers = request.headers.iter();
        headers.any(|(_, value)| value.contains(key))
    };
    assert!(has(OWN_KEY), "the own key was not sent");
    assert!(!has(adapters), "the adapter's key was sent, too");
    for key in [OWN_KEY, adapters] {
        assert!(!request.path.contains(key), "the URL tells a key");
    }
}

/// Checks that an own key was refused before anything was sent.
#[track_caller]
pub(super) fn assert_refused_unsent(failure: &ModelFailure, server: &TestServer) {
    assert_eq!(failure.kind, ModelFailureKind::Unsupported, "{failure:?}");
    assert_eq!(failure.phase, Phase::BeforeSend, "{failure:?}");
    let sent = server.requests();
    assert!(sent.is_empty(), "it was sent all the same: {sent:?}");
}

/// The key of a person.
pub(super) const OWN_KEY: &str = "sk-contract-own-0123456789";
