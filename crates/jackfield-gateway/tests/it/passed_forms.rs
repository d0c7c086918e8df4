//! Forms that are passed through (`multipart/form-data`): where their model stands.

use http::HeaderValue;
use http::header::CONTENT_TYPE;
use jackfield_gateway::ReceivedRequest;

use crate::upstream::{PassingWorld, request};

/// A request to an endpoint that is open, with a body of this type.
fn form(content_type: &str, body: &str) -> ReceivedRequest {
    let mut request = request("/v1/audio/transcriptions", body.to_owned());
    let content_type = HeaderValue::from_str(content_type).expect("a value");
    request.headers.insert(CONTENT_TYPE, content_type);
    request
}

/// What the provider is sent of a form; the error if it is not.
async fn sent_form(content_type: &str, body: &str) -> Result<String, String> {
    let world = PassingWorld::with(|config| {
        config.passthrough.endpoints = vec!["/v1/audio/transcriptions".into()];
    });
    let request = form(content_type, body);
    let prepared = world.gateway.passthrough_only(&world.client, &request);
    let prepared = prepared.map_err(|error| error.message.clone())?;
    prepared.send().await.expect("a reply");
    Ok(world.last_sent().expect("it was sent").1)
}

#[tokio::test]
async fn a_field_is_found_among_files() {
    for body in [
        format!("{FILE}{MODEL}--x-1--\r\n"),
        format!("{MODEL}{FILE}--x-1--"),
        format!("a preamble\r\n{MODEL}--x-1--\r\nan epilogue"),
        format!("{}--x-1--", MODEL.replace("--x-1\r\n", "--x-1 \t\r\n")),
        format!("{}--x-1--", MODEL.replace("\"model\"", "model")),
    ] {
        let quoted = "Multipart/Form-Data; charset=utf-8; Boundary=\"x-1\"; a=b";
        for content_type in [FORM, quoted] {
            let expected = body.replace("a/whisper-1", "whisper-1");
            assert_eq!(sent_form(content_type, &body).await, Ok(expected));
        }
    }
    let empty = MODEL.replace("a/whisper-1", "");
    let refused = sent_form(FORM, &format!("{empty}--x-1--")).await;
    let refused = refused.expect_err("no model has an empty name");
    assert!(refused.starts_with("there is no model ``"), "{refused}");
}

#[tokio::test]
async fn a_broken_form_has_no_fields() {
    let check = async |content_type: &str, body: &str| {
        let refused = sent_form(content_type, body).await;
        let refused = refused.expect_err("it has no model");
        assert!(refused.starts_with("the body has to name one `model`"));
    };
    let whole = format!("{FILE}{MODEL}--x-1--");
    for cut in 0..whole.len() {
        check(FORM, &whole[..cut]).await;
    }
    for (content_type, body) in [
        (FORM, format!("{MODEL}{MODEL}--x-1--")),
        (FORM, format!("{FILE}--x-1--")),
        (
            FORM,
            format!(
                "{}--x-1--",
                MODEL.replace("\"model\"", "\"model\"; filename=\"m\"")
            ),
        ),
        (FORM, whole.replace("\r\n", "\n")),
        (FORM, format!("{}{MODEL}--x-1--", FILE.repeat(1000))),
        ("multipart/mixed; boundary=x-1", whole.clone()),
        ("multipart/form-data", whole.clone()),
        ("multipart/form-data; boundary=", whole.clone()),
        ("multipart/form-data; boundary=\"x-1", whole.clone()),
        ("application/json", whole.clone()),
        ("", whole),
    ] {
        check(content_type, &body).await;
    }
}

const FORM: &str = "multipart/form-data; boundary=x-1";
const FILE: &str = "--x-1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n\0\r\n--x-\r\n\r\nRIFF\r\n";
const MODEL: &str =
    "--x-1\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\na/whisper-1\r\n";
