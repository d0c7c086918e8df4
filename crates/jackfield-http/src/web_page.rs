//! The files of the page for people: at `/`, and below `/ui/`.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use jackfield_web::Asset;

use crate::refusal::no_such_address;

pub(crate) async fn answer(uri: Uri, headers: HeaderMap) -> Response {
    match jackfield_web::find(uri.path()) {
        Some(asset) => file(asset, &headers),
        None => no_such_address(&uri).into_response(),
    }
}

fn file(asset: &'static Asset, asked: &HeaderMap) -> Response {
    let is_listed = |name: HeaderName, word: &str| {
        let values = asked.get_all(name).into_iter();
        let mut values = values.filter_map(|value| value.to_str().ok());
        values.any(|value| value.split(',').any(|one| one.trim() == word))
    };
    let mut response = if is_listed(IF_NONE_MATCH, &asset.etag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if is_listed(ACCEPT_ENCODING, "gzip") {
        let mut response = Response::new(Body::from(asset.compressed.as_slice()));
        let gzip = HeaderValue::from_static("gzip");
        response.headers_mut().insert(CONTENT_ENCODING, gzip);
        response
    } else {
        Response::new(Body::from(asset.bytes))
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, jackfield_web::POLICY),
        (CONTENT_TYPE, asset.content_type),
        (REFERRER_POLICY, "no-referrer"),
        (VARY, "accept-encoding"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(etag) = HeaderValue::from_str(&asset.etag) {
        headers.insert(ETAG, etag);
    }
    response
}
