//! Addresses of providers.

use jackfield_provider_kit::base_url::{BaseUrl, InvalidBaseUrl, encode_part};

#[test]
fn a_slash_at_the_end_makes_no_difference() {
    for text in [
        "https://host/api",
        "https://host/api/",
        " https://host/api\n",
    ] {
        let url = BaseUrl::parse(text).unwrap();
        assert_eq!(url.to_string(), "https://host/api");
        assert_eq!(url.join("/v1/messages"), "https://host/api/v1/messages");
    }
}

#[test]
fn the_endpoint_is_the_server_alone() {
    let endpoint = |text| BaseUrl::parse(text).unwrap().endpoint().to_string();
    assert_eq!(endpoint("https://Host:443/api"), "https://host");
    assert_eq!(endpoint("http://127.0.0.1:8080/"), "http://127.0.0.1:8080");
    assert_eq!(endpoint("http://[::1]:8080"), "http://[::1]:8080");
}

#[test]
fn whatever_may_hold_a_secret_is_refused_without_repeating_it() {
    let cases = [
        ("https://me:s3cret@host", InvalidBaseUrl::UserInfo),
        ("https://s3cret@host", InvalidBaseUrl::UserInfo),
        ("https://host/?key=s3cret", InvalidBaseUrl::Extra),
        ("https://host/#s3cret", InvalidBaseUrl::Extra),
        ("s3cret", InvalidBaseUrl::NotAUrl),
        ("file:///s3cret", InvalidBaseUrl::Scheme),
    ];
    for (text, expected) in cases {
        let error = BaseUrl::parse(text).unwrap_err();
        assert_eq!(error, expected, "{text}");
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }
}

#[test]
fn plain_http_is_exposed_unless_it_stays_on_the_machine() {
    let cases = [
        ("http://10.0.0.1", true),
        ("http://host:8080", true),
        ("http://127.0.0.2:1", false),
        ("http://[::1]:1", false),
        ("http://localhost:1", false),
        ("https://host", false),
    ];
    for (text, exposed) in cases {
        assert_eq!(
            BaseUrl::parse(text).unwrap().is_exposed(),
            exposed,
            "{text}"
        );
    }
}

#[test]
fn a_path_is_given_to_an_address_that_has_none() {
    let cases = [
        ("http://host:8000", "http://host:8000/v1"),
        ("http://host:8000/", "http://host:8000/v1"),
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("http://host:8000/v1/", "http://host:8000/v1"),
        ("https://host/openai/v1", "https://host/openai/v1"),
        ("https://host/api", "https://host/api"),
    ];
    for (text, whole) in cases {
        let url = BaseUrl::parse(text).unwrap().or_path("/v1");
        assert_eq!(url.to_string(), whole, "{text}");
        assert_eq!(url.join("/models"), format!("{whole}/models"), "{text}");
    }
    assert_eq!(BaseUrl::parse("http://host/").unwrap().path(), "");
    assert_eq!(BaseUrl::parse("http://host/a/b/").unwrap().path(), "/a/b");
}

#[test]
fn a_part_of_an_address_keeps_its_unreserved_characters_alone() {
    for (text, encoded) in [
        ("", ""),
        ("AZaz09-._~", "AZaz09-._~"),
        ("a/b?c=d&e#f", "a%2Fb%3Fc%3Dd%26e%23f"),
        ("100% +ö中", "100%25%20%2B%C3%B6%E4%B8%AD"),
    ] {
        assert_eq!(encode_part(text), encoded, "{text}");
    }
}
