//! Databases that are slow, full, only readable, or of another form: what a gateway says of them, that it heals by
//! itself, and that nothing runs twice.

use std::time::{Duration, Instant};

use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Gateway, McpServer, kept};
use crate::world::Database;

/// The words of an outage, what brings it about, and what ends it.
type OutageCase<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn());

/// Waits until the gateway is ready, or is not ready for this reason: it tries a write every two seconds.
async fn ready(gateway: &Gateway, unless: Option<&str>) {
    let began = Instant::now();
    loop {
        let answer = gateway.get("/readyz").answered().await;
        let is_so = match unless {
            None => answer.status == 200,
            Some(why) => answer.status == 503 && answer.body.contains(why),
        };
        if is_so {
            return;
        }
        assert!(began.elapsed() < LIMIT, "not {unless:?}: {answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// Lets each insertion into a table fail as the server does that cannot extend a file.
const FILL: &str = "CREATE FUNCTION jackfield.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
     CREATE TRIGGER full_disk BEFORE INSERT ON jackfield.sessions EXECUTE FUNCTION jackfield.full();
     CREATE TRIGGER full_disk BEFORE INSERT ON jackfield.steps EXECUTE FUNCTION jackfield.full()";
const EMPTY: &str = "DROP FUNCTION jackfield.full CASCADE";
/// Locks a table until another connection runs [`UNLOCK`], for a minute at most.
pub(crate) const LOCK: &str = "BEGIN; LOCK TABLE jackfield.sessions;
     DO $$ BEGIN FOR nth IN 1..600 LOOP
         EXIT WHEN EXISTS (SELECT FROM pg_class WHERE relname = 'unlocked');
         PERFORM pg_sleep(0.1);
     END LOOP; END $$;
     COMMIT";
const UNLOCK: &str = "CREATE TABLE public.unlocked ()";

#[tokio::test]
async fn the_gateway_names_the_cause_and_heals() {
    let database = Database::new("causes");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hello.").again()]).await;
    let serve = database.gateway().at(&claude.base_url());
    let gateway = Gateway::listening(serve.start()).await;
    let made = gateway
        .raw("POST", "/api/v1/sessions")
        .answered()
        .await
        .is(201);
    let turns = format!(
        "/api/v1/sessions/{}/turns",
        made["id"].as_str().expect("an id")
    );
    let form = database.inside("SELECT form FROM jackfield.journal");
    let readable = |mode: &str| {
        Database::sql(&format!(
            "ALTER DATABASE causes SET default_transaction_read_only = {mode}"
        ));
        Database::sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'causes'",
        );
    };
    let run = |statements: &str| {
        database.inside(statements);
    };
    let lock = || {
        let database = database.clone();
        std::thread::spawn(move || {
            database.inside(LOCK);
        });
    };
    let unlock = || run(UNLOCK);
    let newer = || run("UPDATE jackfield.journal SET form = form + 1");
    let back = || run(&format!("UPDATE jackfield.journal SET form = {form}"));
    let gone = || run("ALTER TABLE jackfield.sessions RENAME TO gone");
    let there = || run("ALTER TABLE jackfield.gone RENAME TO sessions");
    let (full, empty) = (|| run(FILL), || run(EMPTY));
    let (on, off) = (|| readable("on"), || readable("off"));
    let cases: [OutageCase<'_>; 5] = [
        ("its disk is full", &full, &empty),
        ("it can only be read", &on, &off),
        ("its tables were made by a newer version", &newer, &back),
        ("its tables are missing", &gone, &there),
        ("it gives no answer in time", &lock, &unlock),
    ];
    for (nth, (why, begin, end)) in cases.into_iter().enumerate() {
        ready(&gateway, None).await;
        begin();
        ready(&gateway, Some(why)).await;
        // Liveness is another matter.
        gateway.get("/healthz").answered().await.is(200);
        end();
        ready(&gateway, None).await;
        let body = json!({ "message": "Hello?" });
        let asking = gateway
            .post(&turns, &body)
            .header("idempotency-key", &format!("key-{nth}"));
        asking.answered().await.is(200);
        assert_eq!(claude.requests().len(), nth + 1, "{why}");
    }
    kept(&claude);
    gateway.end().await;
}

/// The outcome of a call cannot be written, so it is unknown, and the call is not made again.
#[tokio::test]
async fn a_turn_whose_database_is_full_goes_on_later_and_makes_no_call_twice() {
    let database = Database::new("filled");
    let folder = tempfile::tempdir().expect("a folder");
    let effects = folder.path().join("effects");
    let pay = json!({
        "name": "pay", "description": "Pays.", "inputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false, "idempotentHint": false },
    });
    let bank = McpServer::new(json!({
        "tools": [pay], "calls": { "pay": [{ "sleep": 1_500 }] }, "effects": effects,
    }));
    let claude = ScriptedClaude::start([
        ScriptTurn::call("bank__pay", &json!({ "nth": 1 })),
        ScriptTurn::text("It may be paid."),
    ])
    .await;
    let more = "[policy.tools]\n\"bank/*\" = \"allow\"\n";
    let serve = database.gateway().at_with(&claude.base_url(), more);
    let gateway = Gateway::listening(serve.servers([("bank", bank.trusted())]).start()).await;
    let made = gateway
        .raw("POST", "/api/v1/sessions")
        .answered()
        .await
        .is(201);
    let session = format!("/api/v1/sessions/{}", made["id"].as_str().expect("an id"));
    let body = json!({ "message": "Pay the bill.", "mode": "background" });
    gateway
        .post(&format!("{session}/turns"), &body)
        .answered()
        .await
        .is(202);
    let paid = || {
        let effects = std::fs::read_to_string(&effects).unwrap_or_default();
        effects.lines().count()
    };
    let began = Instant::now();
    while paid() == 0 {
        assert!(began.elapsed() < LIMIT, "nothing is paid");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    database.inside(FILL);
    ready(&gateway, Some("its disk is full")).await;
    // Longer than the call takes, so that its outcome comes while nothing can be written.
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(4) {
        ready(&gateway, Some("its disk is full")).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    database.inside(EMPTY);
    // No client watches while nothing can be written.
    ready(&gateway, None).await;
    let told = gateway
        .get(&format!("{session}/events?until=rest"))
        .answered()
        .await;
    assert!(told.body.contains("It may be paid."), "{}", told.body);
    assert_eq!(paid(), 1);
    kept(&claude);
    gateway.end().await;
}
