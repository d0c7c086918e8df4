//! `jackfield chat --web`: the page in a browser.

use std::os::unix::fs::PermissionsExt as _;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::api::{post, session};
use crate::harness::{Asking, Gateway, Kept, PAGE_TOKEN, kept};

#[tokio::test]
async fn the_page_is_opened_at_the_session_and_served_until_it_is_ended() {
    let files = Kept::new();
    let claude = ScriptedClaude::start([ScriptTurn::text("Good day").again()]).await;
    let gateway = Gateway::listening(files.gateway().at(&claude.base_url()).start()).await;
    let session = session(&gateway).await;
    post(&gateway, &session, &json!({ "message": "Hello" }))
        .await
        .is(200);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (browser, seen) = (folder.path().join("browser"), folder.path().join("seen"));
    let script = format!(
        "#!/bin/sh\nprintf %s \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n",
        seen.display()
    );
    std::fs::write(&browser, script).expect("a program can be written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&browser, mode).expect("it can be run");
    // The port of the gateway is taken, so another one is.
    let bind = format!("[serve]\nbind = \"{}\"\n", gateway.address());
    let chat = files
        .run(&["chat", "--web", "-c"])
        .at_with(&claude.base_url(), &bind);
    let mut running = chat.env("BROWSER", &browser).start();
    running.err.until("the page is at ").await;
    running.err.until("\n").await;
    let said = running.err.so_far();
    let (_, address) = said.split_once("the page is at ").expect("it was said");
    let address = address.split(';').next().expect("an address");
    let (at, place) = address
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .expect("an address");
    assert_eq!(place, session.replace("/api/v1/", "#/"));
    assert_ne!(at, gateway.address());
    let page = Asking::at(at, "GET", "/").answered().await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    while !seen.exists() {
        tokio::task::yield_now().await;
    }
    // The browser gets the link; what is printed to no terminal has no token.
    let link = std::fs::read_to_string(&seen).expect("an address");
    let expected = format!("http://{at}/#token={PAGE_TOKEN}/");
    assert_eq!(link, format!("{expected}{}", &place["#/".len()..]));
    running.terminate();
    let ran = running.end().await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    kept(&claude);
    gateway.end().await;
}
