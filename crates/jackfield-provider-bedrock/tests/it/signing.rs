//! Signatures, against those that `botocore` 1.44.8 made of the same requests on 2026-11-26.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Request;
use jackfield_provider_bedrock::credentials::SigningKeys;
use jackfield_provider_kit::secret::Secret;

/// 2026-11-26T12:34:56Z.
const NOW: u64 = 1_795_696_496;

fn keys(token: Option<&str>) -> SigningKeys {
    SigningKeys {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        region: "us-east-1".to_owned(),
        secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        session_token: token.map(Secret::new),
    }
}

fn signed(keys: &SigningKeys, model: &str) -> Request<Bytes> {
    let url =
        format!("https://bedrock-runtime.us-east-1.amazonaws.com/model/{model}/converse-stream");
    let request = Request::post(url).header("content-type", "application/json");
    let mut request = request.body(Bytes::from("{\"messages\":[]}")).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
    keys.sign(&mut request, now).unwrap();
    request
}

#[test]
fn the_signature_is_that_of_the_vendors_sdk() {
    let request = signed(
        &keys(None),
        "us.anthropic.claude-sonnet-4-5-20250929-v1%3A0",
    );
    assert_eq!(request.headers()["x-amz-date"], "20261126T123456Z");
    assert_eq!(
        request.headers()["authorization"],
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261126/us-east-1/bedrock/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date, \
         Signature=d3f9aa36f37e091550caa18a203aada8767f472795355be74e9611440e99e2e3"
    );
    assert_eq!(request.headers().get("x-amz-security-token"), None);
}

#[test]
fn an_arn_and_the_token_of_temporary_keys_are_signed() {
    let arn = "arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-pro-v1%3A0";
    let request = signed(&keys(Some("session-token")), arn);
    assert_eq!(request.headers()["x-amz-security-token"], "session-token");
    assert_eq!(
        request.headers()["authorization"],
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261126/us-east-1/bedrock/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
         Signature=26bf8912293639c9b9ec124f8b6ac3e08e0adc3e96a77a80e79099689f1ef628"
    );
}

#[test]
fn keys_show_no_secret() {
    let shown = format!("{:?}", keys(Some("session-token")));
    assert!(
        !shown.contains("wJalr") && !shown.contains("session-token"),
        "{shown}"
    );
}
