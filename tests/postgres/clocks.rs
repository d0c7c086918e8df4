//! Gateways whose machines do not agree about the time: they go by that of their database.

use std::path::PathBuf;

use jackfield_domain::usage::Usage;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::json;

use crate::harness::{Gateway, Jackfield, early_in_a_day};
use crate::world::Database;

/// The program on a machine whose clock is this much ahead or behind, as `faketime` says it.
fn shifted(run: Jackfield, shift: &str) -> Jackfield {
    run.env("LD_PRELOAD", library().to_str().expect("a path"))
        .env("FAKETIME", shift)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
}

async fn gateway(database: &Database, claude: &ScriptedClaude, shift: &str) -> Gateway {
    let more = "[journal]\nkeep_days = 1\n[policy.tools]\n\"*\" = \"ask\"\n";
    let serve = database.gateway().at_with(&claude.base_url(), more);
    Gateway::listening(shifted(serve, shift).start()).await
}

fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("Linux").flatten();
    let files = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    let mut files = files.filter(|file| file.is_file());
    files.next().expect("the package `faketime` is installed")
}

async fn ask(gateway: &Gateway, secret: &str) -> u16 {
    let body = json!({ "model": "claude/claude-opus-4-8", "max_tokens": 100,
        "messages": [{ "role": "user", "content": "hi" }] });
    let asking = gateway.post("/v1/chat/completions", &body);
    asking.header("x-api-key", secret).answered().await.status
}

#[tokio::test]
async fn gateways_whose_clocks_differ_share_a_rate() {
    let database = Database::new("clocks");
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").again()]).await;
    let run = async |arguments: &[&str]| {
        let ran = database.run(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran.out
    };
    run(&["users", "add", "ann"]).await;
    let limited = ["keys", "create", "ann", "--requests-per-minute", "6"];
    let secret = run(&limited).await.trim().to_owned();
    let gateways = [
        gateway(&database, &claude, "+5m").await,
        gateway(&database, &claude, "-5m").await,
        gateway(&database, &claude, "+400d").await,
    ];
    let mut answered = 0;
    // They take turns, so that each sees what the others have written.
    for nth in 0..24 {
        let status = ask(&gateways[nth % 3], &secret).await;
        assert!([200, 429].contains(&status), "{status}");
        answered += u32::from(status == 200);
    }
    // One more may be due while the test runs, each ten seconds.
    assert!((6..=8).contains(&answered), "{answered} of 24");
    for gateway in gateways {
        gateway.end().await;
    }
}

#[tokio::test]
async fn gateways_whose_clocks_differ_spend_a_budget_once() {
    early_in_a_day().await;
    let database = Database::new("clocks_budget");
    let used = Usage {
        input: 1,
        output: 100,
        ..Usage::default()
    };
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").using(used).again()]).await;
    let run = async |arguments: &[&str]| {
        let ran = database.run(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran.out
    };
    run(&["users", "add", "ann"]).await;
    run(&["users", "limit", "ann", "--tokens-per-day", "1000"]).await;
    let secret = run(&["keys", "create", "ann"]).await.trim().to_owned();
    let gateways = [
        gateway(&database, &claude, "+5m").await,
        gateway(&database, &claude, "-5m").await,
        gateway(&database, &claude, "+400d").await,
    ];
    // They take turns. The round that begins at 909 of 1000 tokens is the last one, and ends at 1010.
    for nth in 0..13 {
        let status = ask(&gateways[nth % 3], &secret).await;
        assert_eq!(status, if nth < 10 { 200 } else { 429 }, "{nth}");
    }
    for gateway in gateways {
        gateway.end().await;
    }
}

#[tokio::test]
async fn a_gateway_whose_clock_is_days_ahead_deletes_no_session_and_ends_no_question() {
    let database = Database::new("ahead");
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("Hi.").again(),
    ])
    .await;
    let right = gateway(&database, &claude, "+0").await;
    let begin = async || {
        let made = right
            .raw("POST", "/api/v1/sessions")
            .answered()
            .await
            .is(201);
        format!("/api/v1/sessions/{}", made["id"].as_str().expect("an id"))
    };
    let (asked, finished) = (begin().await, begin().await);
    let message = json!({ "message": "What is 6*7?", "mode": "background" });
    let asking = right.post(&format!("{asked}/turns"), &message);
    asking.answered().await.is(202);
    let questions = async |gateway: &Gateway| {
        let open = gateway.get("/api/v1/approvals").answered().await.is(200);
        open["approvals"].as_array().expect("a list").clone()
    };
    while questions(&right).await.is_empty() {
        tokio::task::yield_now().await;
    }
    let hello = json!({ "message": "Hello?" });
    let answering = right.post(&format!("{finished}/turns"), &hello);
    answering.answered().await.is(200);
    let ahead = gateway(&database, &claude, "+400d").await;
    let pruned = database.run(&["sessions", "prune", "--older-than", "1d", "--json"]);
    let pruned = shifted(pruned, "+400d").run().await;
    assert_eq!(pruned.code, Some(0), "{}", pruned.err);
    // Whoever would have been deleted or asked in vain by now is there.
    let answering = ahead.post(&format!("{finished}/turns"), &hello);
    answering.answered().await.is(200);
    let open = questions(&ahead).await;
    let id = open.first().and_then(|asked| asked["id"].as_str());
    let id = id.expect("a question");
    let allow = format!("/api/v1/approvals/{id}/allow");
    let allowed = ahead.post(&allow, &json!({})).answered().await.is(200);
    assert_eq!(allowed["ended"]["how"], "answered");
    let ended = right.get(&format!("{asked}/events?until=rest"));
    assert!(ended.answered().await.body.contains("Hi."));
    // All times are those of the database.
    let session = ahead.get(&asked).answered().await.is(200);
    let year = Database::sql("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY')");
    let changed = session["changed"].as_str().expect("a time");
    assert!(changed.starts_with(year.trim()), "{changed}");
    right.end().await;
    ahead.end().await;
}
