//! What a server answers, and what a model gets of it.

use http::Method;
use jackfield_domain::media::MediaSource;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_provider_kit::secret::Secret;
use jackfield_testkit::server::{Framing, Response, TestServer};
use jackfield_tools_web::{Header, ToolConfig, header_name};
use serde_json::{Value, json};

use crate::world::{call, none, ran, run, tool, toolbox};

/// What comes of this answer, to a tool changed like this.
async fn outcome(response: Response, change: impl FnOnce(&mut ToolConfig)) -> ToolResult {
    let server = TestServer::start().await;
    server.answer(response);
    let result = call(tool(&server.base_url(), &none(), change), &none()).await;
    let result = result.expect("an outcome");
    // The port is another one each time.
    let host = server.address().to_string();
    let content = result.content.into_iter().map(|part| match part {
        OutcomePart::Text(text) => OutcomePart::Text(text.replace(&host, "HOST").into()),
        other => other,
    });
    ToolResult {
        content: content.collect(),
        ..result
    }
}

fn typed(media_type: &str, body: &[u8]) -> Response {
    Response::new(200)
        .header("content-type", media_type)
        .send(body.to_vec())
}

#[tokio::test]
async fn text_is_told_as_it_is() {
    for (media_type, body, told) in [
        ("text/plain", "солнечно".as_bytes(), "солнечно"),
        ("text/plain; charset=utf-8", "晴".as_bytes(), "晴"),
        ("text/plain; charset=ISO-8859-1", b"15\xb0C", "15°C"),
        (
            "text/html; Charset=\"windows-1251\"",
            b"\xf1\xed\xe5\xe3",
            "снег",
        ),
        ("text/plain;charset=gbk", b"\xc7\xe7", "晴"),
        ("text/plain; charset=Shift_JIS", b"\x90\xb0", "晴"),
        ("text/plain; charset=utf-16le", b"a\0b\0", "ab"),
        ("text/plain", b"\xff\xfea\0", "a"),
        ("text/plain; charset=unheard-of", "晴".as_bytes(), "晴"),
        ("text/plain", b"a\0\x1bb", "a\0\x1bb"),
        ("TEXT/HTML", b"<p>hi</p>", "<p>hi</p>"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/atom+xml", b"<a/>", "<a/>"),
        ("text/csv", b"a,b\n", "a,b\n"),
        ("text/plain", b"\xef\xbb\xbfa", "a"),
        ("text/plain", b"a\xffb", "a\u{fffd}b"),
    ] {
        let result = outcome(typed(media_type, body), |_| {}).await;
        assert_eq!(result, ToolResult::text(told), "{media_type}");
    }
    let unnamed = outcome(Response::new(200).send("hi"), |_| {}).await;
    assert_eq!(unnamed, ToolResult::text("hi"));
    for status in [200, 204] {
        let empty = outcome(Response::new(status), |_| {}).await;
        assert!(empty.to_text().ends_with(", and nothing else"), "{empty:?}");
        assert!(!empty.is_error);
    }
}

#[tokio::test]
async fn json_is_told_as_text_and_as_json() {
    for media_type in ["application/json", "application/problem+json", "text/json"] {
        let result = outcome(typed(media_type, br#"{"t": 15, "c": "Cloudy"}"#), |_| {}).await;
        assert_eq!(result.to_text(), r#"{"t": 15, "c": "Cloudy"}"#);
        assert_eq!(
            result.structured.as_deref(),
            Some(&json!({ "t": 15, "c": "Cloudy" }))
        );
        assert!(!result.is_error);
    }
    for (body, structured) in [("[1]", true), ("15", false), ("{broken", false)] {
        let result = outcome(Response::json(200, body), |_| {}).await;
        assert_eq!(
            (&*result.to_text(), result.structured.is_some()),
            (body, structured)
        );
    }
    // Deeper than anything that is meant.
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let result = outcome(Response::json(200, deep.clone()), |_| {}).await;
    assert_eq!((result.to_text(), result.structured), (deep, None));
}

#[tokio::test]
async fn a_part_of_the_answer_is_the_outcome() {
    let body = r#"{"a/b": {"m~n": [10, {"x": "text"}]}, "": 0}"#;
    let select = |pointer: &'static str| {
        outcome(Response::json(200, body), move |config| {
            config.result = Some(pointer.into());
        })
    };
    for (pointer, told, structured) in [
        ("/a~1b/m~0n/0", "10", None),
        ("/a~1b/m~0n/1/x", "text", None),
        (
            "/a~1b/m~0n/1",
            r#"{"x":"text"}"#,
            Some(json!({ "x": "text" })),
        ),
        ("/", "0", None),
    ] {
        let result = select(pointer).await;
        assert_eq!(result.to_text(), told, "{pointer}");
        assert_eq!(result.structured.as_deref(), structured.as_ref());
    }
    for pointer in [
        "/a~1b/m~0n/01",
        "/a~1b/m~0n/2",
        "/a~1b/m~0n/-",
        "/a~1b/m~0n/0/x",
        "/x",
    ] {
        assert!(select(pointer).await.is_error, "{pointer}");
    }
    let missing = select("/nothing").await;
    assert!(missing.is_error);
    let told = missing.to_text();
    assert!(
        told.starts_with("the answer of HOST has no `/nothing`: {"),
        "{told}"
    );
    let broken = outcome(Response::json(200, "{"), |config| {
        config.result = Some("/a".into());
    })
    .await;
    assert!(
        broken.is_error && broken.to_text().contains("is not JSON"),
        "{broken:?}"
    );
}

#[tokio::test]
async fn a_small_part_of_a_large_answer_is_found() {
    let server = TestServer::start().await;
    let body = json!({ "padding": "x".repeat(100_000), "part": "small" }).to_string();
    server.answer(Response::json(200, body));
    let tool = tool(&server.base_url(), &none(), |config| {
        config.result = Some("/part".into());
    });
    let mut run = run("tool", &none());
    run.max_bytes = 100;
    let result = ran(&toolbox([tool]), &run).await.unwrap();
    assert_eq!(result, ToolResult::text("small"));
}

#[tokio::test]
async fn a_long_answer_is_cut_and_its_rest_not_read() {
    for media_type in ["text/plain", "application/json"] {
        let server = TestServer::start().await;
        let response = typed(media_type, "я".repeat(1_000).as_bytes());
        server.answer(response.framed(Framing::Chunked).stall());
        let mut run = run("tool", &none());
        run.max_bytes = 101;
        let toolbox = toolbox([tool(&server.base_url(), &none(), |_| {})]);
        let result = ran(&toolbox, &run).await.unwrap();
        let texts: Vec<_> = result
            .content
            .iter()
            .filter_map(OutcomePart::as_text)
            .collect();
        let marker = "[cut: more than 101 bytes were returned, at most 101 are shown]";
        assert_eq!(texts, ["я".repeat(50).as_str(), marker]);
        server.closed_by_client(0).await;
    }
}

#[tokio::test]
async fn a_small_picture_is_a_picture_and_a_large_one_a_word() {
    for media_type in ["image/png", "image/jpeg", "image/gif", "image/webp"] {
        let result = outcome(typed(media_type, b"\x89PNG"), |_| {}).await;
        let [OutcomePart::Image(image)] = &*result.content else {
            panic!("{result:?}");
        };
        let expected = MediaSource::Base64 {
            media_type: media_type.into(),
            data: "iVBORw==".into(),
        };
        assert_eq!(image.source, expected);
    }
    let server = TestServer::start().await;
    server.answer(typed("image/png", &[0; 100]));
    let mut run = run("tool", &none());
    run.max_bytes = 100;
    let toolbox = toolbox([tool(&server.base_url(), &none(), |_| {})]);
    let result = ran(&toolbox, &run).await.unwrap();
    assert!(
        result.is_error && result.to_text().contains("too large"),
        "{result:?}"
    );
}

#[tokio::test]
async fn other_media_are_refused_with_a_word() {
    for media_type in [
        "application/pdf",
        "audio/wav",
        "image/svg",
        "application/octet-stream",
    ] {
        // What is not wanted is not waited for either.
        let response = typed(media_type, b"").framed(Framing::Chunked).stall();
        let result = outcome(response, |_| {}).await;
        let told = format!(
            "HOST answered with {media_type}, which is not taken: text, JSON and pictures are"
        );
        assert_eq!(result, ToolResult::error(told));
    }
    let packed = typed("text/plain", b"\x1f\x8b").header("content-encoding", "gzip");
    let result = outcome(packed, |_| {}).await;
    assert!(
        result.is_error && result.to_text().contains("compressed"),
        "{result:?}"
    );
}

#[tokio::test]
async fn what_says_no_is_an_error_with_its_words() {
    for (response, told) in [
        (
            Response::text(404, "no such city\n"),
            "HOST answered 404 Not Found:\nno such city",
        ),
        (
            Response::json(400, r#"{"error":"city"}"#),
            "HOST answered 400 Bad Request:\n{\"error\":\"city\"}",
        ),
        (
            Response::new(500),
            "HOST answered 500 Internal Server Error",
        ),
        (
            Response::new(429).header("retry-after", "7"),
            "HOST answered 429 Too Many Requests (retry-after: 7)",
        ),
        (Response::new(599), "HOST answered 599"),
        (Response::new(304), "HOST answered 304 Not Modified"),
        (typed("application/pdf", b"x"), ""),
    ] {
        let status = response.status;
        let result = outcome(response, |_| {}).await;
        assert!(result.is_error, "{status}");
        if !told.is_empty() {
            assert_eq!(result.to_text(), told);
        }
    }
    let long = outcome(Response::text(500, "x".repeat(10_000)), |_| {}).await;
    let told = long.to_text();
    assert!(
        told.ends_with("x […]") && told.len() < 5_000,
        "{} bytes",
        told.len()
    );
    // A body that breaks off only tells less.
    let broken = outcome(Response::text(500, "some words").cut_at(4), |_| {}).await;
    assert_eq!(broken.to_text(), "HOST answered 500 Internal Server Error");
}

#[tokio::test]
async fn of_head_the_headers_are_told() {
    let response = Response::new(200)
        .header("content-type", "text/plain")
        .header("etag", "\"7\"")
        .header("set-cookie", "a=b");
    let result = outcome(response, |config| config.method = Method::HEAD).await;
    assert_eq!(
        result.to_text(),
        "200 OK\ncontent-length: 0\ncontent-type: text/plain\netag: \"7\""
    );
}

#[tokio::test]
async fn a_redirect_that_is_refused_is_an_outcome() {
    let to = |location: &str| Response::new(302).header("location", location);
    let result = outcome(to("http://169.254.169.254/"), |_| {}).await;
    assert!(result.is_error);
    let told = result.to_text();
    assert!(
        told.starts_with("HOST answered with a redirect: 169.254.169.254 is link-local"),
        "{told}"
    );
    let result = outcome(to("/two"), |config| config.method = Method::POST).await;
    assert!(
        result.is_error && result.to_text().contains("GET and HEAD only"),
        "{result:?}"
    );
}

#[tokio::test]
async fn no_secret_comes_back() {
    let secret = "s\"ecret-1234567";
    let quoted = Value::from(secret).to_string();
    let body = format!("you sent Bearer {secret}, in JSON {quoted}");
    let server = TestServer::start().await;
    let name = header_name("Authorization").unwrap();
    let header = Header::new(name, &format!("Bearer {secret}"), [Secret::new(secret)]);
    let tool = tool(&server.base_url(), &none(), |_| {}).with_headers([header.unwrap()]);
    assert!(!format!("{tool:?}").contains("1234"));
    let toolbox = toolbox([tool]);
    for limit in 1..=body.len() {
        for status in [200, 403] {
            server.answer(Response::text(status, body.clone()).header("retry-after", secret));
            let mut run = run("tool", &none());
            run.max_bytes = limit;
            let result = ran(&toolbox, &run).await.unwrap();
            // Not even a part of it, wherever the answer was cut.
            let told = format!("{result:?}");
            assert!(!told.contains("ecret"), "{limit}: {told}");
        }
    }
    let sent = server.request(0).await;
    assert_eq!(
        sent.header("authorization"),
        Some(&*format!("Bearer {secret}"))
    );
}

#[tokio::test]
async fn a_part_is_told_as_it_was_written() {
    let of = |body: String, pointer: &'static str| {
        outcome(Response::json(200, body), move |config| {
            config.result = Some(pointer.into());
        })
    };
    let body = r#" {"a": 1, "n" : [ 123456789012345678901234567890 , 0.1000, 1e400 ],
        "t": "a \" b\\", "a": {"x y" : "\\\"  }"} } "#;
    let numbers = of(body.to_owned(), "/n").await;
    assert_eq!(
        numbers.to_text(),
        "[123456789012345678901234567890,0.1000,1e400]"
    );
    assert_eq!(of(body.to_owned(), "/t").await.to_text(), "a \" b\\");
    // Of two fields of one name the last one holds.
    let last = of(body.to_owned(), "/a").await;
    assert_eq!(last.to_text(), r#"{"x y":"\\\"  }"}"#);
    // What is deep is passed over, and told where it is meant.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"deep": {deep}, "part": "here"}}"#);
    assert_eq!(of(body.clone(), "/part").await, ToolResult::text("here"));
    assert_eq!(of(body, "/deep").await.to_text(), deep);
    for broken in [r#"{"a": 1} x"#, r#"{"a": 1"#, r#"{"a": [1,}"#, "", "nul"] {
        let told = of(broken.to_owned(), "/a").await;
        assert!(told.is_error || told.to_text().contains("nothing else"));
    }
}

#[tokio::test]
async fn no_part_of_a_secret_is_left_where_an_answer_was_cut() {
    // Each one that is taken out makes the text shorter, and what was behind the end comes before it.
    let secret = "wq-4f81c2d97a60b35e-wq-never-to-be-seen";
    let server = TestServer::start().await;
    let name = header_name("x-key").unwrap();
    let tool = tool(&server.base_url(), &none(), |_| {}).with_headers([Header::new(
        name,
        secret,
        [Secret::new(secret)],
    )
    .unwrap()]);
    let toolbox = toolbox([tool]);
    let body = format!("{}я", secret.repeat(5));
    for limit in 1..=body.len() {
        server.answer(Response::text(200, body.clone()));
        let mut run = run("tool", &none());
        run.max_bytes = limit;
        let told = ran(&toolbox, &run).await.unwrap().to_text();
        assert!(!told.contains("wq-"), "{limit}: {told}");
        assert!(!told.contains('\u{fffd}'), "{limit}: {told}");
    }
}

#[tokio::test]
async fn no_secret_comes_back_however_it_is_written() {
    let (long, short) = ("k/ey+with&more-1234", "k/ey+with");
    let server = TestServer::start().await;
    let url = format!("{}/${{LONG}}?key=${{SHORT}}", server.base_url());
    let tool = |change: fn(&mut ToolConfig)| {
        let tool = tool(&url, &none(), change);
        let tool = tool.with_variable(&"LONG".into(), long).unwrap();
        tool.with_variable(&"SHORT".into(), short).unwrap()
    };
    let spoken = |text: &str| {
        ["1234", "ey+", "ey%2B"]
            .iter()
            .all(|part| !text.contains(part))
    };
    for text in [
        long.to_owned(),
        short.to_owned(),
        "k\\/ey+with&more-1234".to_owned(),
        "k%2Fey%2Bwith%26more-1234".to_owned(),
        "k%2Fey%2Bwith%26more%2D1234".to_owned(),
    ] {
        for response in [
            Response::text(200, text.clone()),
            Response::text(500, text.clone()),
            typed(&text, b""),
        ] {
            server.answer(response);
            let result = call(tool(|_| {}), &none()).await.unwrap();
            assert!(spoken(&result.to_text()), "{text}: {result:?}");
        }
    }
    // In JSON it can be written with escapes that no text has.
    let body =
        r#"{"k\u002fey+with&more-1234": "k\u002fey+with", "a": ["\u006b/ey+with&more-1234"]}"#;
    server.answer(Response::json(200, body));
    let result = call(tool(|_| {}), &none()).await.unwrap();
    let structured = result.structured.unwrap().to_string();
    assert!(spoken(&structured), "{structured}");
    server.answer(Response::json(200, body));
    let result = call(tool(|config| config.result = Some("/a/0".into())), &none()).await;
    assert!(spoken(&result.unwrap().to_text()));
    // A redirect that repeats it.
    server.answer(Response::new(302).header("location", "ftp://k%2Fey+with/"));
    let result = call(tool(|_| {}), &none()).await.unwrap();
    assert!(result.is_error && spoken(&result.to_text()), "{result:?}");
}

#[tokio::test]
async fn what_a_server_says_in_headers_is_short() {
    let long = "x".repeat(50_000);
    for response in [
        typed(&format!("a/{long}"), b""),
        Response::new(429).header("retry-after", &long),
        Response::new(302).header("location", format!("http://{long}/")),
        Response::new(302).header("location", format!("{long}:y")),
    ] {
        let result = outcome(response, |config| config.read_only = true).await;
        let told = result.to_text();
        assert!(
            result.is_error && told.len() < 1_200,
            "{} bytes",
            told.len()
        );
    }
    let head = Response::new(200).header("etag", &long);
    let told = outcome(head, |config| config.method = Method::HEAD).await;
    assert!(told.to_text().len() < 1_000);
}
