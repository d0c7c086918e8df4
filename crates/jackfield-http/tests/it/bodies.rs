//! Bodies of requests: compressed, too large, and left unread.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tokio::io::AsyncWriteExt as _;

use super::connections::{Server, answer};

/// The answer to a chat request with this body.
async fn answered(server: &Server, encoding: Option<&str>, body: &[u8]) -> String {
    let encoding = encoding.map(|name| format!("content-encoding: {name}\r\n"));
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n{}content-length: {}\r\n\r\n",
        encoding.unwrap_or_default(),
        body.len()
    );
    let mut stream = server.connect().await;
    stream.write_all(head.as_bytes()).await.expect("a head");
    stream.write_all(body).await.expect("a body");
    answer(&mut stream).await
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(body: &[u8]) -> Vec<u8> {
    compress_to_vec(body, CompressionLevel::Fastest)
}

/// A request that was read, as the answer says: it names a model that there is not.
const BODY: &[u8] =
    br#"{"model": "nowhere/model", "messages": [{"role": "user", "content": "Hello"}]}"#;

#[tokio::test]
async fn a_compressed_body_is_read_as_what_it_holds() {
    let server = Server::start(|_| {}).await;
    let cases = [
        (None, BODY.to_vec()),
        (Some("identity"), BODY.to_vec()),
        (Some("gzip"), gzip(BODY)),
        (Some("x-gzip"), gzip(BODY)),
        (Some("deflate"), deflate(BODY)),
        (Some("zstd"), zstd(BODY)),
        (Some("ZSTD"), zstd(BODY)),
    ];
    for (encoding, body) in cases {
        let answer = answered(&server, encoding, &body).await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{encoding:?}: {answer}");
        assert!(answer.contains("nowhere/model"), "{encoding:?}: {answer}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_that_cannot_be_decompressed_is_refused_with_the_reason() {
    let server = Server::start(|config| config.limits.body = 100_000).await;
    let long = vec![b' '; 200_000];
    let cut = |mut body: Vec<u8>| {
        body.truncate(body.len() / 2);
        body
    };
    let cases = [
        ("br", BODY.to_vec(), "415", "`gzip`"),
        ("gzip, zstd", BODY.to_vec(), "415", "`gzip, zstd`"),
        ("gzip", BODY.to_vec(), "400", "decompressed"),
        ("deflate", BODY.to_vec(), "400", "decompressed"),
        ("zstd", BODY.to_vec(), "400", "decompressed"),
        ("gzip", cut(gzip(BODY)), "400", "decompressed"),
        ("zstd", cut(zstd(BODY)), "400", "decompressed"),
        // The limit holds for what is inside, too.
        ("gzip", gzip(&long), "413", "larger than 100000"),
        ("deflate", deflate(&long), "413", "larger than 100000"),
        ("zstd", zstd(&long), "413", "larger than 100000"),
    ];
    for (encoding, body, status, says) in cases {
        let answer = answered(&server, Some(encoding), &body).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{encoding}: {answer}"
        );
        assert!(answer.contains(says), "{encoding}: {answer}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_of_too_many_values_is_refused_before_they_are_built() {
    let server = Server::start(|_| {}).await;
    let text = "\"[{,\\\"\",".repeat(100_000);
    let few = format!(
        "{{\"model\": \"nowhere/model\", \"messages\": [{{\"role\": \"user\", \"content\": \"{}\"}}]}}",
        ",[{".repeat(300_000)
    );
    let answer = answered(&server, None, few.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let many = format!("[{}{}0]", text, "0,".repeat(200_000));
    let answer = answered(&server, None, many.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(answer.contains("JSON values"), "{answer}");
    server.end().await;
}

#[tokio::test]
async fn an_early_answer_reaches_a_client_that_still_sends() {
    let server = Server::start(|config| config.limits.body = 1000).await;
    let body = vec![b' '; 16 << 20];
    for (path, status) in [("/nothing", "404"), ("/v1/responses", "413")] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let mut stream = server.connect().await;
        stream.write_all(head.as_bytes()).await.expect("a head");
        // A client such as Node's reads nothing before all of it is sent.
        stream.write_all(&body).await.expect("the whole body");
        let answer = answer(&mut stream).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    server.end().await;
}

#[tokio::test]
async fn the_path_decides_in_which_form_an_error_comes() {
    let server = Server::start(|_| {}).await;
    for (path, is_claude) in [
        ("/v1/chat/completions", false),
        ("/v1/responses", false),
        ("/v1/messages", true),
        ("/v1/models/nowhere%2Fmodel", true),
    ] {
        let method = if path.contains("models") {
            "GET"
        } else {
            "POST"
        };
        let mut stream = server.connect().await;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nanthropic-version: 2023-06-01\r\ncontent-length: 0\r\n\r\n"
        );
        stream
            .write_all(request.as_bytes())
            .await
            .expect("a request");
        let answer = answer(&mut stream).await;
        assert_eq!(answer.contains(r#""type":"error""#), is_claude, "{answer}");
    }
    server.end().await;
}
