//! Copies between files and databases: everything is the same afterwards, and the same is refused.

use std::path::Path;

use jackfield_domain::fact::{Envelope, Fact, InputKind};
use jackfield_domain::ids::{DeliveryId, SessionId, ToolCallId, TurnId, WaitId};
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::wait::{
    Answer, Approval, CancelCause, DeliveryBody, Wait, WaitEnd, WaitKind,
};
use jackfield_engine::{CopyReport, copy_journal};
use jackfield_ports::journal::sessions::{
    DueSessions, LabelChange, ListedWait, SessionQuery, WaitQuery,
};
use jackfield_ports::journal::{Append, AppendRefusal, Appended, DeliveryOutcome, Journal, Loaded};
use jackfield_store_postgres::{Address, PostgresJournal};
use jackfield_store_sqlite::SqliteJournal;
use jackfield_testkit::arb;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::{jackfield, kept};
use crate::world::Database;

/// Sessions of arbitrary steps, and some with answers and cancels.
async fn fill(journal: &dyn Journal) {
    for (nth, steps) in arbitrary_steps().into_iter().enumerate() {
        let id = session(&format!("arbitrary-{nth}"));
        let epoch = journal.own(&id).await.expect("a lease").epoch;
        append(journal, &id, epoch, 0, steps).await;
        if nth % 4 == 0 {
            let title = format!("title \0 {nth}");
            let change = LabelChange {
                archived: Some(nth % 8 == 0),
                pinned: Some(true),
                title: Some(title.into()),
            };
            journal.label(&id, &change).await.expect("labels");
        }
        journal.release(&id, epoch).await.expect("released");
    }
    for (name, end) in [
        ("open", None),
        ("answered", None),
        ("taken", Some("d")),
        ("expired", Some("")),
    ] {
        let id = session(name);
        let epoch = journal.own(&id).await.expect("a lease").epoch;
        append(journal, &id, epoch, 0, vec![step(0, opened())]).await;
        if name != "open" && name != "expired" {
            deliver(journal, &id, "d", granted()).await;
        }
        if let Some(delivery) = end {
            append(journal, &id, epoch, 1, vec![step(1, closed(delivery))]).await;
            deliver(journal, &id, "c", cancel(&id)).await;
        }
        journal.release(&id, epoch).await.expect("released");
    }
    let spending = journal.spending().expect("a log");
    for nth in 0..450_u32 {
        let at = WallTime::from_millis(1_800_000_000_000 + i64::from(nth / 3));
        let record = jackfield_testkit::spending::record(&format!("record-{nth}"), at);
        spending.record(&record).await.expect("recorded");
    }
}

fn arbitrary_steps() -> Vec<Vec<Envelope>> {
    let mut runner = TestRunner::deterministic();
    let mut steps = || arb::envelopes(0, 9).new_tree(&mut runner).expect("steps");
    (0..12).map(|_| steps().current()).collect()
}

/// What a journal says of everything in it.
async fn told(journal: &dyn Journal) -> (Vec<(SessionId, Loaded)>, Vec<ListedWait>, DueSessions) {
    let query = SessionQuery {
        limit: 99,
        ..SessionQuery::default()
    };
    let mut sessions = Vec::new();
    for row in journal.sessions(&query).await.expect("a list") {
        let loaded = journal.load(&row.session).await.expect("loaded");
        sessions.push((row.session, loaded));
    }
    let waits = WaitQuery {
        limit: 99,
        ..WaitQuery::default()
    };
    let listed = journal.waits(&waits).await.expect("a list").into_iter();
    let of_any_number = |listed| ListedWait {
        number: 0,
        ..listed
    };
    let mut waits: Vec<ListedWait> = listed.map(of_any_number).collect();
    waits.sort_by(|one, other| one.session.cmp(&other.session));
    let mut due = journal
        .due(WallTime::from_millis(i64::MAX), 99)
        .await
        .expect("a list");
    due.sessions.sort();
    (sessions, waits, due)
}

async fn sound(journal: &dyn Journal) {
    let admin = journal.admin().expect("an admin");
    let limit = std::time::Duration::from_secs(60);
    let report = admin.check(limit, Box::new(|_| {})).await.expect("checked");
    assert!(report.is_complete && report.damage.is_empty(), "{report:?}");
}

#[tokio::test]
async fn everything_is_the_same_in_a_database_and_in_a_file_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| {
        let path = folder.path().join(name);
        SqliteJournal::open(path, jackfield_store_sqlite::Options::default()).expect("a journal")
    };
    let (first, last) = (file("first.db"), file("last.db"));
    fill(&first).await;
    let database = Database::new("copying");
    let address = Address::parse(&database.url("postgres")).expect("an address");
    let opening = tokio::task::spawn_blocking(move || {
        PostgresJournal::open(address, jackfield_store_postgres::Options::default())
    });
    let between = opening.await.expect("opened").expect("a journal");
    let before = told(&first).await;
    assert_eq!(before.0.len(), 16);
    let steps = before.0.iter().map(|(_, loaded)| loaded.steps.len() as u64);
    let whole = CopyReport {
        copied: 16,
        spending_records: 450,
        steps: steps.sum(),
        ..CopyReport::default()
    };
    for (from, to) in [
        (&first as &dyn Journal, &between as &dyn Journal),
        (&between, &last),
    ] {
        assert_eq!(copy_journal(from, to, |_| {}).await.expect("copied"), whole);
        assert_eq!(told(to).await, before);
        sound(to).await;
        let again = copy_journal(from, to, |_| {}).await.expect("copied");
        let nothing = CopyReport {
            already_there: 16,
            copied: 0,
            steps: 0,
            ..whole.clone()
        };
        assert_eq!(again, nothing);
        // An answer that no owner has seen is one: the next is late, and the wait is not closed otherwise.
        let id = session("answered");
        let late = to.deliver(&id, delivery("e"), "another".into(), granted());
        let late = late.await.expect("an answer");
        let by =
            matches!(&late, DeliveryOutcome::Closed { by: Some(by), .. } if &**by == "a person");
        assert!(by, "{late:?}");
        let epoch = to.own(&id).await.expect("a lease").epoch;
        let refused = to
            .append(&Append {
                epoch,
                position: 1,
                seen: 0,
                session: id.clone(),
                steps: vec![step(1, closed(""))],
            })
            .await;
        let is_refused = matches!(refused, Appended::Refused(AppendRefusal::Answered));
        assert!(is_refused, "{refused:?}");
        to.release(&id, epoch).await.expect("released");
    }
    // A session that went on is named, and left alone.
    let id = session("open");
    let epoch = last.own(&id).await.expect("a lease").epoch;
    append(&last, &id, epoch, 1, vec![step(1, closed(""))]).await;
    let differing = copy_journal(&between, &last, |_| {}).await.expect("copied");
    assert_eq!(differing.already_there, 15);
    assert_eq!(
        differing.problems,
        [
            "session open was there before, with other contents (its steps differ), and was left alone"
        ]
    );
    // One that is in use is not copied.
    let busy = copy_journal(&last, &between, |_| {})
        .await
        .expect("looked at");
    assert_eq!(
        busy.problems,
        ["session open is in use: end what is at work on it"]
    );
    for journal in [&first as &dyn Journal, &between, &last] {
        journal.close().await;
    }
}

#[tokio::test]
async fn a_conversation_moves_to_a_database_by_a_command_and_goes_on_there() {
    let claude = ScriptedClaude::start([
        ScriptTurn::call("calculator", &json!({ "expression": "6*7" })),
        ScriptTurn::text("It is 42."),
        ScriptTurn::text("As I said."),
    ])
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("chats.db");
    let ask = async |journal: &Path, question: &str| {
        let ask = jackfield(["ask", "--session", "sums", question]);
        let ask = ask.env("JACKFIELD_DB", journal);
        ask.at(&claude.base_url()).run().await
    };
    ask(&file, "How much is 6*7?").await.answers("It is 42.\n");
    let database = Database::new("moving");
    let url = database.url("postgres");
    let copy = async || {
        let file = file.to_str().expect("UTF-8");
        let copy = jackfield(["journal", "copy", file, "env:CHATS", "--json"]);
        let ran = copy.env("CHATS", &url).run().await;
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        serde_json::from_str::<Value>(&ran.out).expect("JSON")
    };
    let copied = copy().await;
    assert_eq!(copied["copied"], 1, "{copied}");
    assert_eq!(copied["problems"], json!([]), "{copied}");
    assert_eq!(copy().await["already_there"], 1);
    ask(Path::new(&url), "Are you sure?")
        .await
        .answers("As I said.\n");
    kept(&claude);
}

async fn append(
    journal: &dyn Journal,
    session: &SessionId,
    epoch: jackfield_ports::journal::Epoch,
    position: u64,
    steps: Vec<Envelope>,
) {
    let append = Append {
        epoch,
        position,
        seen: position,
        session: session.clone(),
        steps,
    };
    let appended = journal.append(&append).await;
    assert!(matches!(appended, Appended::Committed), "{appended:?}");
}

async fn deliver(journal: &dyn Journal, session: &SessionId, id: &str, body: DeliveryBody) {
    let delivered = journal.deliver(session, delivery(id), "a person".into(), body);
    assert_eq!(
        delivered.await.expect("an answer"),
        DeliveryOutcome::Accepted
    );
}

fn session(id: &str) -> SessionId {
    SessionId::parse(id).expect("a valid id")
}

fn delivery(id: &str) -> DeliveryId {
    DeliveryId::parse(id).expect("a valid id")
}

fn step(number: u64, fact: Fact) -> Envelope {
    Envelope {
        facts: vec![fact],
        input: InputKind::Recovered,
        now: Now::default(),
        step: number,
        version: 1,
    }
}

fn wait_id() -> WaitId {
    WaitId::parse("asked").expect("a valid id")
}

fn opened() -> Fact {
    Fact::WaitOpened {
        wait: Wait {
            call: ToolCallId::parse("call").expect("a valid id"),
            deadline: WallTime::from_millis(4_000_000_000_000),
            id: wait_id(),
            kind: WaitKind::Approval { subject: None },
        },
    }
}

/// Closed by the delivery of this id, or expired.
fn closed(by: &str) -> Fact {
    let end = if by.is_empty() {
        WaitEnd::Expired
    } else {
        WaitEnd::Answered {
            answer: grant(),
            by: "a person".into(),
            delivery: delivery(by),
        }
    };
    Fact::WaitClosed {
        end,
        subject: None,
        wait: wait_id(),
    }
}

fn grant() -> Answer {
    Answer::Approval(Approval::Granted {
        edited: None,
        for_session: false,
    })
}

fn granted() -> DeliveryBody {
    DeliveryBody::Answer {
        answer: grant(),
        wait: wait_id(),
    }
}

fn cancel(session: &SessionId) -> DeliveryBody {
    DeliveryBody::Cancel {
        cause: CancelCause::Asked,
        turn: TurnId::derive(session, 1),
    }
}
