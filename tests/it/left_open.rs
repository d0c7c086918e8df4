//! A turn whose process was killed, as others see it: watched while nobody is at work on it, and shown.

use jackfield_testkit::server::{Gate, Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{jackfield, kept};

#[tokio::test]
async fn who_watches_it_is_told_and_what_was_tried_twice_is_shown() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("kept.db");
    let gate = Gate::new();
    let api = TestServer::start().await;
    api.answer(Response::json(200, "").pause(&gate).send("{}"));
    api.answer(Response::json(200, r#"{"sky":"grey"}"#));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("web__sky", &json!({})),
        ScriptTurn::text("It is grey.").when("grey"),
    ])
    .await;
    let more = format!(
        "[network]\nallow_private = [\"127.0.0.1\"]\n\
         [web.tools.sky]\ndescription = \"The sky\"\nurl = \"{}/sky\"\nread_only = true",
        api.base_url()
    );
    let on = |arguments: &[&str]| jackfield([]).more(arguments).env("JACKFIELD_DB", &file);
    let ask = on(&["ask", "--session", "one", "--json", "The sky?"]);
    let running = ask.at_with(&claude.base_url(), &more).start();
    gate.reached().await;
    running.kill();
    running.end().await;
    gate.open();

    let mut watching = on(&["sessions", "watch", "one", "--until-done"]).start();
    let told = "no process drives the open turn; `jackfield sessions resume one`";
    watching.err.until(told).await;
    let resumed = on(&["sessions", "resume", "one"]);
    let resumed = resumed.at_with(&claude.base_url(), &more).run().await;
    assert_eq!(resumed.code, Some(0), "{}", resumed.err);
    let watched = watching.end().await;
    assert_eq!(watched.code, Some(0), "{}", watched.err);
    assert!(watched.out.contains("It is grey."), "{}", watched.out);

    let shown = on(&["sessions", "show", "one"]).run().await.out;
    let lines: Vec<&str> = shown.lines().collect();
    let place = |wanted: &str| {
        let place = lines.iter().position(|line| line.contains(wanted));
        place.unwrap_or_else(|| panic!("{wanted}: {shown}"))
    };
    let lost = place("! web__sky: ");
    assert!(lines[lost].ends_with("; it was called again"), "{shown}");
    assert!(place("── taken up again · ") < lost, "{shown}");
    assert!(lost < place("It is grey."), "{shown}");
    let shown = on(&["sessions", "show", "one", "--json"]).run().await.out;
    let shown: Value = serde_json::from_str(&shown).expect("a document");
    let turn = &shown["turns"][0];
    assert_eq!(turn["resumed"], 1);
    let call = &turn["calls"][0];
    assert_eq!(
        (&call["name"], &call["attempts"]),
        (&json!("web__sky"), &json!(2))
    );
    let lost = &call["attempt_log"][0]["lost"];
    assert_eq!(lost["then"], "repeat", "{turn:#}");
    kept(&claude);
}
