//! Redirects: each step is a request of its own, and nothing follows that is not for it.

use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, Method};
use jackfield_provider_kit::guarded::{
    FetchErrorKind as Kind, GuardedClient, GuardedRequest, MAX_REDIRECTS,
};
use jackfield_testkit::server::{Response, TestServer};

use super::{Names, client, get, named, refused, settings, text};

fn to(status: u16, location: &str) -> Response {
    Response::new(status).header("location", location)
}

#[tokio::test]
async fn a_get_is_followed_wherever_it_may_go() {
    for status in [301, 302, 303, 307, 308] {
        let server = TestServer::start().await;
        server.answer(to(status, "/two?x=1"));
        server.answer(Response::text(200, "there"));
        let answer = client(&["127.0.0.1"]).send(get(&server.base_url())).await;
        assert_eq!(text(answer.unwrap()).await, "there");
        assert_eq!(server.request(1).await.path, "/two?x=1");
    }
}

#[tokio::test]
async fn a_step_to_a_private_address_is_refused() {
    let server =
        TestServer::start_with(|_| to(302, "http://169.254.169.254/latest/meta-data/")).await;
    let error = refused(&client(&["127.0.0.1"]), &server.base_url()).await;
    assert_eq!((error.kind, error.sent), (Kind::Refused, true));
    // And nobody is told how to let it through because a server wants to go there.
    assert_eq!(
        error.to_string(),
        "169.254.169.254 is link-local (RFC 3927), and only public addresses are reached"
    );
    // By a name that is found in the second step only.
    let server = TestServer::start_with(|_| to(302, "http://inside.example/")).await;
    let names = Names::new(&[&["10.0.0.7"]]);
    let error = refused(&named(&names, &["127.0.0.1"]), &server.base_url()).await;
    assert_eq!((error.kind, error.sent), (Kind::Refused, true));
}

#[tokio::test]
async fn a_client_of_one_origin_stays_there() {
    let (one, two) = (TestServer::start().await, TestServer::start().await);
    one.answer(to(302, "/again"));
    one.answer(to(302, &two.base_url()));
    let mut settings = settings(&["127.0.0.1"]);
    settings.same_origin = true;
    let client = GuardedClient::new(settings).unwrap();
    let error = refused(&client, &one.base_url()).await;
    assert_eq!((error.kind, error.sent), (Kind::Redirect, true));
    assert!(
        error
            .to_string()
            .ends_with("which is another origin and not followed"),
        "{error}"
    );
    assert_eq!((one.requests().len(), two.requests().len()), (2, 0));
}

#[tokio::test]
async fn headers_stay_at_their_origin() {
    let (one, two) = (TestServer::start().await, TestServer::start().await);
    one.answer(to(302, "/again"));
    one.answer(to(307, &two.base_url()));
    two.answer(to(307, &one.base_url()));
    one.answer(Response::text(200, "there"));
    let mut request = get(&one.base_url());
    for (name, value) in [("x-key", "secret"), ("cookie", "secret")] {
        request
            .headers
            .insert(name, HeaderValue::from_static(value));
    }
    request
        .headers
        .insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
    request
        .headers
        .insert(ACCEPT, HeaderValue::from_static("text/plain"));
    client(&["127.0.0.1"]).send(request).await.unwrap();
    for (server, nth, knows) in [
        (&one, 0, true),
        (&one, 1, true),
        (&two, 0, false),
        (&one, 2, false),
    ] {
        let seen = server.request(nth).await;
        for name in ["x-key", "cookie", "authorization"] {
            assert_eq!(seen.header(name).is_some(), knows, "{name} {nth}");
        }
        assert_eq!(seen.header("accept"), Some("text/plain"));
        assert_eq!(seen.header("referer"), None);
    }
}

#[tokio::test]
async fn what_acts_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            let server = TestServer::start().await;
            server.answer(to(status, "/two"));
            let request = GuardedRequest {
                method,
                ..get(&server.base_url())
            };
            let error = client(&["127.0.0.1"]).send(request).await.unwrap_err();
            assert_eq!((error.kind, error.sent), (Kind::Redirect, true));
            assert!(
                error.to_string().contains("for GET and HEAD only"),
                "{error}"
            );
            assert_eq!(server.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_circle_ends() {
    let server = TestServer::start_with(|_| to(302, "/")).await;
    let error = refused(&client(&["127.0.0.1"]), &server.base_url()).await;
    assert_eq!((error.kind, error.sent), (Kind::Redirect, true));
    assert_eq!(server.requests().len(), MAX_REDIRECTS + 1);
}

#[tokio::test]
async fn a_step_to_what_is_no_web_address_is_refused() {
    for location in [
        "file:///etc/passwd",
        "ftp://a.example/",
        "data:,x",
        "javascript:1",
        "http://me:word@127.0.0.1/",
        "http://[",
    ] {
        let server = TestServer::start_with(move |_| to(302, location)).await;
        let error = refused(&client(&["127.0.0.1"]), &server.base_url()).await;
        assert_eq!(
            (error.kind, error.sent),
            (Kind::Redirect, true),
            "{location}"
        );
        assert!(!error.to_string().contains("word"), "{error}");
    }
}

#[tokio::test]
async fn what_is_no_redirect_is_an_answer() {
    for response in [
        to(300, "/two"),
        to(304, "/two"),
        to(201, "/two"),
        Response::new(302),
    ] {
        let server = TestServer::start().await;
        let status = response.status;
        server.answer(response);
        let answer = client(&["127.0.0.1"]).send(get(&server.base_url())).await;
        assert_eq!(answer.unwrap().status().as_u16(), status);
        assert_eq!(server.requests().len(), 1);
    }
}
