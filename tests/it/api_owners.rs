//! The gateway's own API: whose a session is, and who may answer its questions.

use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal as _;
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testkit::spending::record;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::api::is_problem;
use crate::harness::{Answer, Gateway, Kept, kept};

const TOKENS: &str = r#"
[serve.tokens.ann]
env = "ANN"
[serve.tokens.ben]
env = "BEN"
[serve.tokens.root]
env = "ROOT"
admin = true
[policy.tools]
calculator = "ask"
"#;

const ANN: &str = "ann-0123456789abcdef";
const BEN: &str = "ben-0123456789abcdef";
const ROOT: &str = "root-0123456789abcdef";

async fn started(files: &Kept, claude: &ScriptedClaude) -> Gateway {
    let run = files.gateway().at_with(&claude.base_url(), TOKENS);
    let run = run.env("ANN", ANN).env("BEN", BEN).env("ROOT", ROOT);
    Gateway::listening(run.start()).await
}

async fn ask(gateway: &Gateway, token: &str, verb: &str, path: &str, body: &Value) -> Answer {
    let asking = gateway.raw(verb, path).body(body.to_string());
    asking
        .header("authorization", &format!("Bearer {token}"))
        .answered()
        .await
}

#[tokio::test]
async fn two_tokens_never_meet_and_an_admin_sees_all() {
    let files = Kept::new();
    let hi = || ScriptTurn::text("Hi.").again();
    let claude = ScriptedClaude::start([hi()]).await;
    let gateway = started(&files, &claude).await;
    let none = json!({});
    let mut sessions = Vec::new();
    for token in [ANN, BEN] {
        let made = ask(&gateway, token, "POST", "/api/v1/sessions", &none)
            .await
            .is(201);
        let session = format!("/api/v1/sessions/{}", made["id"].as_str().expect("an id"));
        let hello = json!({ "message": "hi" });
        let turn = ask(&gateway, token, "POST", &format!("{session}/turns"), &hello)
            .await
            .is(200);
        sessions.push((
            token,
            session,
            turn["id"].as_str().expect("an id").to_owned(),
        ));
    }
    // One in which nothing was said yet, and a fork, are their owner's, too.
    let (_, of_ann, turn) = sessions[0].clone();
    let fork = ask(&gateway, ANN, "POST", &format!("{of_ann}/fork"), &none)
        .await
        .is(201);
    let fork = format!("/api/v1/sessions/{}", fork["id"].as_str().expect("an id"));
    let empty = ask(&gateway, ANN, "POST", "/api/v1/sessions", &none)
        .await
        .is(201);
    let empty = format!("/api/v1/sessions/{}", empty["id"].as_str().expect("an id"));
    let hello = json!({ "message": "hi" });
    for session in [&of_ann, &fork, &empty] {
        let asked = [
            ("GET", session.clone(), &none),
            ("DELETE", session.clone(), &none),
            ("GET", format!("{session}/events?until=rest"), &none),
            ("GET", format!("{session}/export"), &none),
            ("GET", format!("{session}/turns"), &none),
            ("GET", format!("{session}/turns/{turn}"), &none),
            ("POST", format!("{session}/compact"), &none),
            ("POST", format!("{session}/fork"), &none),
            ("POST", format!("{session}/turns"), &hello),
            ("POST", format!("{session}/turns/{turn}/cancel"), &none),
        ];
        for (verb, path, body) in asked {
            let refused = ask(&gateway, BEN, verb, &path, body).await;
            is_problem(&refused, 404, "not_found");
        }
        assert_eq!(ask(&gateway, ANN, "GET", session, &none).await.status, 200);
        assert_eq!(ask(&gateway, ROOT, "GET", session, &none).await.status, 200);
    }
    let count = async |token: &str| {
        let listed = ask(&gateway, token, "GET", "/api/v1/sessions", &none)
            .await
            .is(200);
        listed["sessions"].as_array().expect("sessions").len()
    };
    assert_eq!(
        (count(ANN).await, count(BEN).await, count(ROOT).await),
        (3, 1, 4)
    );
    let usage = async |token: &str| {
        let used = ask(&gateway, token, "GET", "/api/v1/usage", &none)
            .await
            .is(200);
        used["total"]["turns"].as_u64()
    };
    assert_eq!((usage(BEN).await, usage(ROOT).await), (Some(1), Some(2)));
    // Without a token, or with none of these, nobody sees anything.
    for token in ["", "ann", "ann-0123456789abcdeg"] {
        let refused = ask(&gateway, token, "GET", "/api/v1/sessions", &none).await;
        is_problem(&refused, 401, "unauthenticated");
    }
    assert_eq!(gateway.get("/healthz").answered().await.status, 200);
    gateway.end().await;
}

#[tokio::test]
async fn requests_that_were_passed_through_are_seen_by_their_principal_and_an_admin() {
    let files = Kept::new();
    let claude = ScriptedClaude::start(Vec::<ScriptTurn>::new()).await;
    let gateway = started(&files, &claude).await;
    // As another process of the gateway, beside this one.
    let journal = SqliteJournal::open(files.file(), Options::default()).expect("a journal");
    let log = journal.spending().expect("a log");
    for principal in ["ann", "ann/user", "anna", "ben"] {
        let record = SpendingRecord {
            principal: principal.into(),
            ..record(principal, WallTime::from_millis(0))
        };
        log.record(&record).await.expect("recorded");
    }
    let replies = async |token: &str| {
        let used = ask(&gateway, token, "GET", "/api/v1/usage", &json!({})).await;
        used.is(200)["total"]["replies"].clone()
    };
    let all = [replies(ANN).await, replies(BEN).await, replies(ROOT).await];
    assert_eq!(all, [2, 1, 4]);
    journal.close().await;
    gateway.end().await;
}

#[tokio::test]
async fn questions_are_answered_by_their_owner_with_other_arguments_for_the_session_or_with_no() {
    let files = Kept::new();
    let calls =
        |expression: &str| ScriptTurn::call("calculator", &json!({ "expression": expression }));
    let claude = ScriptedClaude::start([
        calls("1+1"),
        ScriptTurn::text("Not allowed."),
        calls("2+2"),
        ScriptTurn::text("It is 5."),
        calls("3+3"),
        ScriptTurn::text("It is 6."),
    ])
    .await;
    let gateway = started(&files, &claude).await;
    let none = json!({});
    let made = ask(&gateway, ANN, "POST", "/api/v1/sessions", &none)
        .await
        .is(201);
    let session = format!("/api/v1/sessions/{}", made["id"].as_str().expect("an id"));
    let send = async |message: &str| {
        let body = json!({ "message": message });
        ask(&gateway, ANN, "POST", &format!("{session}/turns"), &body)
            .await
            .is(200)
    };
    let question = async || {
        let open = ask(&gateway, ANN, "GET", "/api/v1/approvals", &none)
            .await
            .is(200);
        let open = open["approvals"].as_array().expect("a list").clone();
        assert_eq!(open.len(), 1, "{open:?}");
        format!(
            "/api/v1/approvals/{}",
            open[0]["id"].as_str().expect("an id")
        )
    };
    // It is over when its answer was taken up.
    let over = async || {
        let path = format!("{session}/events?until=rest");
        let events = ask(&gateway, ANN, "GET", &path, &none).await.json_events();
        events.last().expect("an event")["turn"].clone()
    };
    let turn = send("one").await;
    assert_eq!(
        (&turn["status"], &turn["waits"][0]["kind"]),
        (&json!("waiting"), &json!("approval"))
    );
    let asked = question().await;
    for (verb, path) in [
        ("GET", asked.clone()),
        ("POST", format!("{asked}/allow")),
        ("POST", format!("{asked}/deny")),
    ] {
        is_problem(
            &ask(&gateway, BEN, verb, &path, &none).await,
            404,
            "not_found",
        );
    }
    let others = ask(&gateway, BEN, "GET", "/api/v1/approvals", &none)
        .await
        .is(200);
    assert_eq!(others["approvals"], json!([]));
    let no = json!({ "reason": "too simple" });
    let denied = ask(&gateway, ANN, "POST", &format!("{asked}/deny"), &no)
        .await
        .is(200);
    assert_eq!(denied["ended"]["how"], "answered", "{denied}");
    let turn = over().await;
    assert_eq!(turn["calls"][0]["status"], "denied", "{turn}");
    let asked_again = claude.requests()[1].to_string();
    assert!(asked_again.contains("too simple"), "{asked_again}");
    let late = ask(&gateway, ANN, "POST", &format!("{asked}/allow"), &none).await;
    assert_eq!(is_problem(&late, 409, "closed")["how"], "answered");
    // Yes, with other arguments, and to all later calls of the session.
    send("two").await;
    let yes = json!({ "arguments": { "expression": "2+3" }, "for_session": true });
    let asked = question().await;
    ask(&gateway, ANN, "POST", &format!("{asked}/allow"), &yes)
        .await
        .is(200);
    let turn = over().await;
    let call = &turn["calls"][0];
    assert_eq!(call["arguments"], json!({ "expression": "2+2" }), "{turn}");
    assert_eq!(
        call["edited_arguments"],
        json!({ "expression": "2+3" }),
        "{turn}"
    );
    // The model is told that the arguments were changed.
    let text = call["result"]["text"].as_str().expect("a text");
    assert!(text.ends_with("\n5"), "{turn}");
    let turn = send("three").await;
    assert_eq!(
        (&turn["status"], &turn["answer"]),
        (&json!("ended"), &json!("It is 6."))
    );
    kept(&claude);
    gateway.end().await;
}
