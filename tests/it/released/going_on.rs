//! What a released version left is gone on with: finished, waiting, open and parked turns.

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use super::{copied, fixtures, maker};
use crate::harness::{Gateway, Kept, Ran, kept};

/// The configuration under which the sessions are gone on with.
const POLICY: &str = "[policy.tools]\ncalculator = \"ask\"\n\"bank/*\" = \"allow\"\n\
    [policy.unknown_of]\n\"bank/*\" = \"ask\"\n";

/// Runs this on the file, in front of this model.
async fn run(files: &Kept, claude: &ScriptedClaude, arguments: &[&str]) -> Ran {
    let (bank, slow) = (maker::bank(), maker::slow());
    let run = files.run(arguments).at_with(&claude.base_url(), POLICY);
    let ran = run.servers(maker::servers(&bank, &slow)).run().await;
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    ran
}

/// A document that a command prints.
async fn json_of(files: &Kept, arguments: &[&str]) -> Value {
    let ran = files.run(arguments).more(&["--json"]).run().await;
    assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
    serde_json::from_str(&ran.out).expect("a document")
}

/// The session with this title.
async fn titled(files: &Kept, title: &str) -> Value {
    let list = json_of(files, &["sessions", "list", "--most", "1000"]).await;
    let mut rows = list.as_array().expect("a list").iter();
    let row = rows.find(|row| row["title"] == title);
    row.unwrap_or_else(|| panic!("no {title:?}: {list:#}"))
        .clone()
}

/// The only open question of the session with this title, and the session.
async fn question(files: &Kept, title: &str) -> (String, String) {
    let row = titled(files, title).await;
    assert_eq!(row["state"], "waits", "{row}");
    let session = row["id"].as_str().expect("an id");
    let open = json_of(files, &["approvals", "list"]).await;
    let mut open = open.as_array().expect("a list").iter();
    let asked = open.find(|asked| asked["session"] == session);
    let asked = asked.unwrap_or_else(|| panic!("{title} has no question"));
    (
        asked["id"].as_str().expect("an id").to_owned(),
        session.to_owned(),
    )
}

#[tokio::test]
async fn a_finished_session_is_continued_with_all_that_was_said() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let claude = ScriptedClaude::start([ScriptTurn::text("Still 42.")]).await;
        let ran = run(
            &files,
            &claude,
            &["ask", "--session", "finished", "And now?"],
        )
        .await;
        ran.answers("Still 42.\n");
        let sent = claude.requests()[0]["messages"].to_string();
        for text in [
            "What is 6 * 7?",
            "First the sum.",
            "It is 42.",
            "My statement?",
        ] {
            assert!(sent.contains(text), "{text}: {sent}");
        }
        let statement = sent.matches("xxxx").count();
        assert!(
            statement > 1_000,
            "the long outcome is not sent: {statement}"
        );
        kept(&claude);
    }
}

#[tokio::test]
async fn a_waiting_call_is_allowed_and_runs_once() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let claude = ScriptedClaude::start([ScriptTurn::text("It is 42.").when("42")]).await;
        let (asked, session) = question(&files, "What is 2 * 21?").await;
        run(&files, &claude, &["approvals", "allow", &asked]).await;
        let ran = run(&files, &claude, &["sessions", "resume", &session]).await;
        assert!(ran.out.contains("It is 42."), "{ran:?}");
        kept(&claude);
    }
}

#[tokio::test]
async fn a_call_of_unknown_outcome_is_answered_and_the_model_is_told() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let claude = ScriptedClaude::start([ScriptTurn::text("Who knows.").when("nknown")]).await;
        let (asked, session) = question(&files, "Crash, please.").await;
        run(&files, &claude, &["approvals", "deny", &asked]).await;
        let ran = run(&files, &claude, &["sessions", "resume", &session]).await;
        assert!(ran.out.contains("Who knows."), "{ran:?}");
        kept(&claude);
    }
}

#[tokio::test]
async fn a_turn_that_was_left_at_work_is_resumed_to_its_end() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let claude = ScriptedClaude::start([ScriptTurn::text("It is 42, again.").when("42")]).await;
        let ran = run(&files, &claude, &["sessions", "resume", "open"]).await;
        assert!(ran.out.contains("It is 42, again."), "{ran:?}");
        let shown = json_of(&files, &["sessions", "show", "open"]).await;
        let calls = shown.to_string().matches("\"role\":\"tool\"").count();
        assert_eq!(calls, 1, "the call was made again: {shown:#}");
        kept(&claude);
    }
}

#[tokio::test]
async fn a_parked_turn_goes_on_once_a_person_wants_it() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        let claude =
            ScriptedClaude::start([ScriptTurn::text("It is 42, at last.").when("42")]).await;
        let resume = files.run(&["sessions", "resume", "parked"]);
        let refused = resume.at(&claude.base_url()).run().await;
        assert!(
            refused.err.contains("without coming any further"),
            "{refused:?}"
        );
        assert_eq!(claude.requests().len(), 0);
        let again = ["sessions", "resume", "--again", "parked"];
        let ran = run(&files, &claude, &again).await;
        assert!(ran.out.contains("It is 42, at last."), "{ran:?}");
        kept(&claude);
    }
}

#[tokio::test]
async fn results_of_a_client_go_on_with_the_turn_that_waits_for_them() {
    for fixture in fixtures() {
        let files = copied(&fixture);
        // The gateway takes up the turn that was left at work, too.
        let claude = ScriptedClaude::start([
            ScriptTurn::text("Thanks to you.").when("my result"),
            ScriptTurn::text("It is 42.").again(),
        ])
        .await;
        let session = titled(&files, "Ask my side, too.").await;
        let (bank, slow) = (maker::bank(), maker::slow());
        let serve = files.gateway().at_with(&claude.base_url(), POLICY);
        let serve = serve.servers(maker::servers(&bank, &slow));
        let gateway = Gateway::listening(serve.start()).await;
        let path = format!(
            "/api/v1/sessions/{}",
            session["id"].as_str().expect("an id")
        );
        let turns = gateway.get(&format!("{path}/turns")).answered().await;
        let turn = turns.is(200)["turns"][0].clone();
        assert_eq!(turn["status"], "waiting", "{turn}");
        let results = format!(
            "{path}/turns/{}/results",
            turn["id"].as_str().expect("an id")
        );
        let call = turn["waits"][0]["call"].clone();
        let given = json!({ "results": [{ "call": call, "text": "my result" }] });
        let ended = gateway.post(&results, &given).answered().await.is(200);
        assert_eq!(ended["answer"], "Thanks to you.", "{ended}");
        gateway.end().await;
        kept(&claude);
    }
}
