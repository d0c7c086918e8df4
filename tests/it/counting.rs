//! What was used, put together by session, turn and day, and since when.

use std::path::Path;

use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_ports::journal::Journal as _;
use jackfield_store_sqlite::{Options, SqliteJournal};
use jackfield_testkit::spending::record;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::harness::{Jackfield, jackfield, kept};

fn on(run: Jackfield, home: &Path) -> Jackfield {
    run.env("JACKFIELD_DB", home.join("sessions.db"))
}

/// Sessions of these names, each with a turn that used so much for every time that it is named.
async fn used(turns: &[(&str, u64, u64)]) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let script = turns.iter().map(|(_, input, output)| {
        ScriptTurn::text("So it is.").using(Usage {
            input: *input,
            output: *output,
            ..Usage::default()
        })
    });
    let claude = ScriptedClaude::start(script.collect::<Vec<ScriptTurn>>()).await;
    for (session, _, _) in turns {
        let ask = jackfield(["ask", "--session", session, "Is it so?"]);
        let ran = on(ask.at(&claude.base_url()), home.path()).run().await;
        ran.answers("So it is.\n");
    }
    kept(&claude);
    home
}

async fn usage<const N: usize>(home: &Path, zone: &str, arguments: [&str; N]) -> Value {
    let run = on(jackfield(["usage", "--json"]).more(&arguments), home);
    let ran = run.env("TZ", zone).run().await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

/// What each line is about, and what it has.
fn lines(told: &Value, about: &str) -> Vec<(String, u64, u64, u64)> {
    let lines = told["lines"].as_array().expect("lines").iter();
    let number = |line: &Value, key: &str| line[key].as_u64().expect("a number");
    let line = |line: &Value| {
        (
            line[about].as_str().expect("a text").to_owned(),
            number(line, "turns"),
            number(line, "input_tokens"),
            number(line, "output_tokens"),
        )
    };
    lines.map(line).collect()
}

#[tokio::test]
async fn what_was_used_is_told_by_session_by_turn_and_of_one_session_alone() {
    let home = used(&[("a", 1000, 10), ("b", 4000, 40), ("a", 2000, 20)]).await;
    let told = usage(home.path(), "UTC0", ["--by", "session"]).await;
    let (a, b) = (("a".into(), 2, 3000, 30), ("b".into(), 1, 4000, 40));
    assert_eq!(lines(&told, "session"), [a.clone(), b]);
    assert_eq!(told["total"]["input_tokens"], 7000);
    let told = usage(home.path(), "UTC0", ["--by", "turn"]).await;
    let turns = [
        ("a 1".into(), 1, 1000, 10),
        ("b 1".into(), 1, 4000, 40),
        ("a 2".into(), 1, 2000, 20),
    ];
    assert_eq!(lines(&told, "turn"), turns);
    let told = usage(home.path(), "UTC0", ["a", "--by", "session"]).await;
    assert_eq!(lines(&told, "session"), [a]);
    assert_eq!(told["total"]["turns"], 2);
}

#[tokio::test]
async fn requests_that_were_passed_through_count_beside_the_turns() {
    let home = used(&[("a", 4000, 40)]).await;
    let journal = SqliteJournal::open(home.path().join("sessions.db"), Options::default());
    let journal = journal.expect("a journal");
    let log = journal.spending().expect("a log");
    for (id, millis) in [("one", 0), ("two", 86_400_000)] {
        let recorded = log.record(&record(id, WallTime::from_millis(millis))).await;
        recorded.expect("recorded");
    }
    journal.close().await;
    let told = usage(home.path(), "UTC0", ["--by", "session"]).await;
    let a = ("a".to_owned(), 1, 4000, 40);
    let passed = |input, output| ("without a session".to_owned(), 0, input, output);
    assert_eq!(lines(&told, "session"), [a.clone(), passed(2000, 40)]);
    assert_eq!(told["total"]["input_tokens"], 6000);
    assert_eq!(told["total"]["replies"], 3);
    let told = usage(home.path(), "UTC0", ["--by", "day"]).await;
    let days = lines(&told, "day");
    assert_eq!(
        days[..2],
        [
            ("1970-01-01".to_owned(), 0, 1000, 20),
            ("1970-01-02".to_owned(), 0, 1000, 20),
        ]
    );
    assert_eq!(days.len(), 3, "{told:#}");
    let since = ["--by", "turn", "--since", "1970-01-02"];
    let told = usage(home.path(), "UTC0", since).await;
    let turn = ("a 1".to_owned(), 1, 4000, 40);
    assert_eq!(lines(&told, "turn"), [turn, passed(1000, 20)]);
    let told = usage(home.path(), "UTC0", ["a", "--by", "session"]).await;
    assert_eq!(lines(&told, "session"), [a]);
}

#[tokio::test]
async fn a_spending_record_of_a_newer_version_is_left_out_with_a_warning() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("sessions.db");
    let journal = SqliteJournal::open(&file, Options::default()).expect("a journal");
    let log = journal.spending().expect("a log");
    for id in ["one", "two"] {
        let recorded = log.record(&record(id, WallTime::from_millis(0))).await;
        recorded.expect("recorded");
    }
    journal.close().await;
    drop(journal);
    // The form that one of them has becomes a newer one.
    let mut bytes = std::fs::read(&file).expect("a file");
    let form = b"{\"v\":1,\"spending\":";
    let place = bytes.windows(form.len()).position(|part| part == form);
    bytes[place.expect("a record") + 5] = b'2';
    std::fs::write(&file, bytes).expect("written");
    let ran = on(jackfield(["usage", "--json"]), home.path()).run().await;
    ran.says("warning: 1 spending record cannot be read");
    let told: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(told["total"]["replies"], 1, "{told:#}");
    let doctor = jackfield(["doctor", "--offline", "--json"]);
    let ran = on(doctor, home.path()).run().await;
    let told: Value = serde_json::from_str(&ran.out).expect("JSON");
    let mut checks = told["checks"].as_array().expect("checks").iter();
    let says = "a newer version wrote 1 spending record";
    let found = checks.find(|check| check["says"].to_string().contains(says));
    assert_eq!(found.expect("a check")["verdict"], "warning", "{told:#}");
}

#[tokio::test]
async fn a_day_is_one_of_the_time_zone_and_since_is_since_its_midnight() {
    let home = used(&[("a", 1000, 10)]).await;
    // They are never at the same day.
    let (east, west) = ("<+14>-14", "<-11>11");
    let day = async |zone: &str| {
        let told = usage(home.path(), zone, ["--by", "day"]).await;
        let [(day, 1, 1000, 10)] = &lines(&told, "day")[..] else {
            panic!("{told:#}");
        };
        day.clone()
    };
    let (later, earlier) = (day(east).await, day(west).await);
    assert!(earlier < later, "{earlier} {later}");
    let turns = async |zone: &str, since: &str| {
        let told = usage(home.path(), zone, ["a", "--since", since]).await;
        let turns = told["total"]["turns"].clone();
        assert_eq!(told["total"]["replies"], turns, "{told:#}");
        turns
    };
    assert_eq!(turns(east, &later).await, json!(1));
    assert_eq!(turns(west, &earlier).await, json!(1));
    // That day has not come there.
    assert_eq!(turns(west, &later).await, json!(0));
}
