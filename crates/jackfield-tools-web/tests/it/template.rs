//! Addresses: what is one, and that no value leaves its place.

use jackfield_domain::failure::{Disposition, ToolFailureKind};
use jackfield_testkit::server::{Response, TestServer};
use jackfield_tools_web::{InvalidTemplate, Template};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{call, none, tool};

#[test]
fn what_is_no_address_is_refused() {
    for (text, part) in [
        ("", "no address"),
        ("api.example.com/{city}", "no address"),
        ("ftp://a.example/", "no address"),
        ("file:///etc/passwd", "no address"),
        ("https:///x", "no address"),
        ("https://a example/", "no address"),
        ("https://a.example:99999/", "no address"),
        ("https://a.example\\@b.example/", "user or a password"),
        ("https://a.example\\b/", "no address"),
        ("https://{host}/", "fixed"),
        ("https://a.example:{port}/", "fixed"),
        ("https://{a}.example/", "fixed"),
        ("{scheme}://a.example/", "no address"),
        ("https://me:word@a.example/", "user or a password"),
        ("https://a.example/#x", "never sent"),
        ("https://a.example/{x}#x", "never sent"),
        ("https://a.example/../x", "leads elsewhere"),
        ("https://a.example/a/%2E%2e/x", "leads elsewhere"),
        ("https://a.example/./x", "leads elsewhere"),
        ("https://a.example/{", "names no parameter"),
        ("https://a.example/{}", "names no parameter"),
        ("https://a.example/{a b}", "names no parameter"),
        ("https://a.example/a}", "names no parameter"),
        ("https://a.example/{a/b}", "names no parameter"),
        ("https://a.example/{{a}}", "names no parameter"),
        ("https://a.example/?{a}=1", "names of the query"),
        ("https://a.example/?{a}", "names of the query"),
        ("https://a.example/a b", "cannot stand"),
        ("https://a.example/a\tb", "cannot stand"),
        ("https://a.example/a\\b", "cannot stand"),
        ("https://a.example/100%", "cannot stand"),
        ("https://a.example/?a=%zz", "cannot stand"),
        ("https://a.example/?key=${}", "no environment variable"),
        ("https://a.example/?key=${KEY", "no environment variable"),
        (
            "https://a.example/?key=${KEY:-x}",
            "no environment variable",
        ),
        ("https://a.example/?key=${1}", "no environment variable"),
        ("https://a.example/?${KEY}=x", "names of the query"),
        ("https://${HOST}/", "fixed"),
        ("${URL}", "no address"),
        ("https://a.example/..;x/y", "leads elsewhere"),
        ("https://a.example/%252e%252e/y", "leads elsewhere"),
    ] {
        let error = Template::parse(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let long = format!("https://a.example/{}", "a".repeat(3000));
    assert_eq!(Template::parse(&long), Err(InvalidTemplate::Long));
}

#[test]
fn an_address_tells_nothing_but_its_host() {
    let shown = format!(
        "{:?}",
        Template::parse("https://a.example/secret?key=secret").unwrap()
    );
    assert_eq!(shown, "Template(a.example)");
}

/// The path and query that this address is asked with.
async fn asked(path: &str, schemas: &Value, arguments: &Value) -> Result<String, String> {
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let url = format!("{}{path}", server.base_url());
    match call(tool(&url, schemas, |_| {}), arguments).await {
        Ok(result) => {
            assert_eq!(result.to_text(), "here");
            Ok(server.request(0).await.path)
        }
        Err(failure) => {
            assert_eq!(failure.disposition, Disposition::NotSent);
            assert_eq!(failure.kind, ToolFailureKind::InvalidArguments);
            assert!(server.requests().is_empty());
            Err(failure.message)
        }
    }
}

#[tokio::test]
async fn every_value_is_encoded_for_its_place() {
    let one = json!({ "a": { "type": ["string", "number", "boolean", "array"] } });
    for (path, value, expected) in [
        ("/x/{a}", json!("London"), "/x/London"),
        (
            "/x/{a}",
            json!("Санкт-Петербург"),
            "/x/%D0%A1%D0%B0%D0%BD%D0%BA%D1%82-%D0%9F%D0%B5%D1%82%D0%B5%D1%80%D0%B1%D1%83%D1%80%D0%B3",
        ),
        ("/x/{a}", json!("北京"), "/x/%E5%8C%97%E4%BA%AC"),
        ("/x/{a}", json!("a/b"), "/x/a%2Fb"),
        ("/x/{a}", json!("a?b#c&d=e"), "/x/a%3Fb%23c%26d%3De"),
        ("/x/{a}", json!("..."), "/x/..."),
        ("/x/{a}", json!("100%25"), "/x/100%2525"),
        ("/x/{a}", json!("a%2fb;c=d"), "/x/a%252fb%3Bc%3Dd"),
        ("/x/{a}.json", json!("."), "/x/..json"),
        ("/x/v{a}/y", json!(2), "/x/v2/y"),
        ("/x/{a}-{a}", json!(true), "/x/true-true"),
        ("/x/{a}", json!(["a", "b"]), "/x/a%2Cb"),
        ("/x?q={a}", json!("a b&c=d+e"), "/x?q=a%20b%26c%3Dd%2Be"),
        ("/x?q=at:{a}&fix=1", json!(1.5), "/x?q=at:1.5&fix=1"),
        ("/x?q={a}&fix=1", json!(null), "/x?fix=1"),
        ("/x?q={a}", json!(""), "/x?q="),
        ("/x?fix", json!("c#d"), "/x?fix&a=c%23d"),
        ("/x", json!(["1", "2 3"]), "/x?a=1&a=2%203"),
        ("", json!("б"), "/?a=%D0%B1"),
        (
            "/город/?я=%D1%8F&q={a}",
            json!("'"),
            "/%D0%B3%D0%BE%D1%80%D0%BE%D0%B4/?%D1%8F=%D1%8F&q=%27",
        ),
    ] {
        let path = asked(path, &one, &json!({ "a": value })).await;
        assert_eq!(path.as_deref(), Ok(expected), "{value}");
    }
}

#[tokio::test]
async fn a_value_that_would_lead_elsewhere_is_not_sent() {
    let one = json!({ "a": {} });
    for value in [
        "",
        ".",
        "..",
        "../x",
        "x/..",
        "x/../y",
        "..\\x",
        "x\\..\\y",
        "./x",
        "a\0b",
        "a\r\nb",
        "\u{7f}",
        "%2e%2e",
        "%252E%2e",
        "..;",
        "..;a=b",
        "x%2f..",
        "x%5C..",
        "x/%2e%2E/y",
        "x/..;a/y",
        "%2e",
        ";/..",
    ] {
        let error = asked("/x/{a}/y", &one, &json!({ "a": value })).await;
        assert!(error.is_err_and(|error| error.contains("`a`")), "{value:?}");
    }
    for (path, value) in [("/x/.{a}", "."), ("/x/%2e{a}", "."), ("/x/{a}{b}", ".")] {
        let two = json!({ "a": {}, "b": {} });
        let two = if path.contains("{b}") {
            two
        } else {
            one.clone()
        };
        let arguments: serde_json::Map<_, _> = two
            .as_object()
            .unwrap()
            .keys()
            .map(|name| (name.clone(), json!(value)))
            .collect();
        asked(path, &two, &arguments.into()).await.expect_err(path);
    }
    let long = "я".repeat(2_000);
    for path in ["/x?q={a}", "/x/{a}", "/x"] {
        let error = asked(path, &one, &json!({ "a": long })).await;
        assert!(error.unwrap_err().contains("longer than"));
    }
    // However much there is, it is seen at once.
    let endless = format!("%{}", "25".repeat(5_000_000));
    let error = asked("/x/{a}", &one, &json!({ "a": endless })).await;
    assert!(error.unwrap_err().contains("longer than"));
}

#[tokio::test]
async fn a_variable_has_its_place_and_is_sent_there_alone() {
    for (path, value, expected) in [
        ("/x?key=${KEY}", "a&b=c d", "/x?key=a%26b%3Dc%20d"),
        ("/x?key=a-${KEY}-b&c", "k", "/x?key=a-k-b&c"),
        ("/bot${KEY}/send", "123:A-b_c", "/bot123:A-b_c/send"),
        ("/hooks/${KEY}", "T0/B0/x?y#z", "/hooks/T0/B0/x%3Fy%23z"),
        ("/x/${KEY}/?a=${KEY}", " k\n", "/x/k/?a=k"),
    ] {
        let server = TestServer::start_with(|_| Response::text(200, "here")).await;
        let tool = tool(&format!("{}{path}", server.base_url()), &none(), |_| {});
        assert!(tool.variables().all(|name| **name == *"KEY"));
        let tool = tool.with_variable(&"KEY".into(), value).unwrap();
        assert!(!format!("{tool:?}").contains(value));
        call(tool, &none()).await.unwrap();
        assert_eq!(server.request(0).await.path, expected);
    }
    let server = TestServer::start_with(|_| Response::text(200, "here")).await;
    let template = format!("{}/x/${{KEY}}/y", server.base_url());
    for value in [
        "", " ", "..", "a/../b", "a//b", "/a", "a/", "a/%2e%2e", "a\u{1}b",
    ] {
        let tool = tool(&template, &none(), |_| {});
        tool.with_variable(&"KEY".into(), value).expect_err(value);
    }
    // One that nobody gave is not sent as it is written.
    let failure = call(tool(&template, &none(), |_| {}), &none()).await;
    assert!(failure.unwrap_err().message.contains("KEY is missing"));
    assert_eq!(server.connections(), 0);
}

proptest! {
    #[test]
    fn whatever_is_chosen_the_fixed_parts_stay(
        a in any::<String>(),
        b in prop::string::string_regex("[./\\\\%?#&=@:;2eE\r\n \u{ff0e}\u{2024}a{}]{0,8}").unwrap(),
        c in prop_oneof![any::<String>(), Just("..".to_owned()), Just("#".to_owned())],
        d in any::<String>(),
    ) {
        let text = "https://api.example.com:8443/v1/{a}/fixed/x-{b}.json?one={c}&two=2";
        let template = Template::parse(text).unwrap();
        let value = |name: &str| match name {
            "a" => Some(a.as_str()),
            "b" => Some(b.as_str()),
            "c" => Some(c.as_str()),
            _ => None,
        };
        let Ok(url) = template.fill(value, |_| None, &[("d", &d)]) else {
            return Ok(());
        };
        prop_assert_eq!(url.scheme(), "https");
        prop_assert_eq!(url.host_str(), Some("api.example.com"));
        prop_assert_eq!(url.port(), Some(8443));
        prop_assert_eq!((url.username(), url.password(), url.fragment()), ("", None, None));
        let path: Vec<&str> = url.path_segments().unwrap().collect();
        prop_assert_eq!(path.len(), 4);
        prop_assert_eq!((path[0], path[2]), ("v1", "fixed"));
        prop_assert!(path[3].starts_with("x-") && path[3].ends_with(".json"));
        // Whoever decodes finds the values again, whole, and nothing beside them.
        let decoded = percent_encoding::percent_decode_str(path[1]).decode_utf8().unwrap();
        prop_assert_eq!(&*decoded, a.as_str());
        let decoded = percent_encoding::percent_decode_str(path[3]).decode_utf8().unwrap();
        prop_assert_eq!(&*decoded, format!("x-{b}.json"));
        let query: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let expected = [("one", c.as_str()), ("two", "2"), ("d", &d)];
        prop_assert_eq!(query, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
    }
}
