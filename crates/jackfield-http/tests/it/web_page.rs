//! The files of the page, and the headers that they have.

use axum::body::Body;
use axum::response::Response;
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jackfield_domain::text::hidden::RANGES;
use jackfield_http::router;
use tower::ServiceExt as _;

use super::harness::gateway;

async fn get(path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::empty()).expect("a request");
    let router = router(&gateway([], |_| {}));
    router.oneshot(request).await.expect("an answer")
}

async fn bytes(response: Response) -> Vec<u8> {
    let body = response.into_body().collect().await.expect("a body");
    body.to_bytes().to_vec()
}

#[tokio::test]
async fn every_file_has_its_type_and_the_headers_that_guard_the_page() {
    for asset in jackfield_web::assets() {
        let response = get(asset.path, &[]).await;
        assert_eq!(response.status(), StatusCode::OK, "{}", asset.path);
        for (name, value) in [
            ("content-type", asset.content_type),
            ("content-security-policy", jackfield_web::POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(response.headers()[name], value, "{}", asset.path);
        }
        assert_eq!(bytes(response).await, asset.bytes, "{}", asset.path);
    }
    for word in [
        "frame-ancestors 'none'",
        "script-src 'self'",
        "default-src 'none'",
    ] {
        assert!(jackfield_web::POLICY.contains(word), "{word}");
    }
    let missing = get("/ui/nothing.js", &[]).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_browser_gets_a_file_compressed_and_only_once() {
    let response = get("/", &[("accept-encoding", "br, gzip")]).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(response.headers()["vary"], "accept-encoding");
    let etag = response.headers()["etag"]
        .to_str()
        .expect("text")
        .to_owned();
    let body = bytes(response).await;
    let mut page = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&body[..]), &mut page)
        .expect("gzip");
    assert!(page.starts_with("<!doctype html>"), "{page}");
    let again = get("/", &[("if-none-match", &etag)]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(bytes(again).await.is_empty());
}

/// The page cannot ask the program, so it has a copy of the list.
#[test]
fn the_page_and_the_program_have_the_same_list_of_hidden_letters() {
    let file = jackfield_web::find("/ui/hidden.js").expect("a file");
    let text = std::str::from_utf8(file.bytes).expect("text");
    let listed = text.lines().filter(|line| line.starts_with("  [0x"));
    let ranges = RANGES.iter().map(|(first, last, name)| {
        let (first, last) = (u32::from(*first), u32::from(*last));
        format!("  [0x{first:x}, 0x{last:x}, '{name}'],")
    });
    assert_eq!(listed.collect::<Vec<_>>(), ranges.collect::<Vec<_>>());
}
