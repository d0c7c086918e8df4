//! Who decided what: of one session, by one name, and since when.

use std::path::Path;

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Jackfield, jackfield, kept};

fn on(run: Jackfield, home: &Path) -> Jackfield {
    run.env("JACKFIELD_DB", home.join("sessions.db"))
}

/// The sessions of the calls that are told, in the order in which they are.
async fn audited<const N: usize>(home: &Path, arguments: [&str; N]) -> Vec<String> {
    let run = jackfield(["audit", "--json"]).more(&arguments);
    let ran = on(run, home).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told: Vec<Value> = serde_json::from_str(&ran.out).expect("JSON");
    let session = |one: &Value| one["session"].as_str().map(str::to_owned);
    told.iter().filter_map(session).collect()
}

#[tokio::test]
async fn an_audit_is_of_a_session_of_a_name_and_of_a_time_and_the_newest_is_last() {
    let home = tempfile::tempdir().expect("a folder");
    let by_rule = "[policy.tools]\n\"*\" = \"allow\"\n";
    let by_program = "[policy.tools]\n\"*\" = \"ask\"\n\
                      [approvals]\ncommand = [\"echo\", '{\"decision\": \"allow\"}']";
    let asked = [("rules", by_rule), ("asks", by_program), ("more", by_rule)];
    for (session, policy) in asked {
        let claude = ScriptedClaude::start([
            ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
            ScriptTurn::text("It is 42."),
        ])
        .await;
        let ask = jackfield(["ask", "--session", session, "How much is it?"]);
        let ran = on(ask.at_with(&claude.base_url(), policy), home.path());
        ran.run().await.answers("It is 42.\n");
        kept(&claude);
    }
    let home = home.path();
    assert_eq!(audited(home, []).await, ["rules", "asks", "more"]);
    assert_eq!(audited(home, ["--most", "2"]).await, ["asks", "more"]);
    assert_eq!(audited(home, ["rules"]).await, ["rules"]);
    assert_eq!(audited(home, ["--who", "The approver"]).await, ["asks"]);
    assert_eq!(audited(home, ["--who", "policy"]).await, ["rules", "more"]);
    assert_eq!(audited(home, ["--since", "1h", "asks"]).await, ["asks"]);
    let never = [""; 0];
    assert_eq!(audited(home, ["--who", "maria"]).await, never);
    assert_eq!(audited(home, ["--since", "9000-01-01"]).await, never);
    // A session that is named is not passed over by its last change.
    assert_eq!(
        audited(home, ["asks", "--since", "9000-01-01"]).await,
        never
    );
}
