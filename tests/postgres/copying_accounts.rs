//! Users, teams, keys and what is spent of their budgets move between files and databases with the conversations.

use std::path::Path;
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryName, KeySecret, Team, User,
};
use jackfield_domain::quota::{Amount, Meter, MeterOperation, MeterOutcome, PeriodTotal, Quota};
use jackfield_domain::target::Reservation;
use jackfield_domain::time::WallTime;
use jackfield_engine::{CopyReport, copy_journal};
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::directory::{ChangeQuery, Changed};
use jackfield_ports::journal::spending::SpendingQuery;
use jackfield_store_postgres::{Address, PostgresJournal};
use jackfield_store_sqlite::SqliteJournal;

use crate::world::Database;

const AT: WallTime = WallTime::from_millis(1_800_000_000_000);

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

fn change(revision: u64, action: ChangeAction, entry: DirectoryEntry) -> DirectoryChange {
    DirectoryChange {
        action,
        at: AT,
        by: "root".into(),
        entry,
        revision,
    }
}

fn team(has_quota: bool) -> DirectoryEntry {
    DirectoryEntry::Team(Team {
        name: name("research"),
        quota: has_quota.then(|| Quota {
            tokens_per_day: Some(9),
            ..Quota::default()
        }),
    })
}

fn user() -> DirectoryEntry {
    DirectoryEntry::User(User {
        is_disabled: false,
        name: name("ann"),
        quota: None,
        team: Some(name("research")),
    })
}

fn key(secrets: &[&str]) -> DirectoryEntry {
    let secrets = secrets.iter().map(|secret| KeySecret {
        digest: Digest::of(secret.as_bytes()),
        until: None,
    });
    DirectoryEntry::Key(ClientKey {
        expires: None,
        has_no_approvals: false,
        id: name("k1"),
        is_admin: false,
        label: "ci".into(),
        models: None,
        quota: None,
        revoked: None,
        secrets: secrets.collect(),
        tools: None,
        user: name("ann"),
    })
}

async fn store(journal: &dyn Journal, change: &DirectoryChange) {
    let directory = journal.directory().expect("a directory");
    let stored = directory.change(change).await.expect("an answer");
    assert_eq!(stored, Changed::Stored, "{change:?}");
}

async fn perform(journal: &dyn Journal, operation: &MeterOperation) -> MeterOutcome {
    let meters = journal.meters().expect("meters");
    meters.perform(operation).await.expect("performed")
}

async fn totals(journal: &dyn Journal) -> Vec<[Option<PeriodTotal>; 2]> {
    let meters = ["key:k1", "user:ann", "team:research"]
        .map(Arc::from)
        .to_vec();
    let MeterOutcome::Seen(seen) = perform(journal, &MeterOperation::Look { meters }).await else {
        panic!("nothing is seen");
    };
    seen.iter()
        .map(|Meter { day, month, .. }| [*day, *month])
        .collect()
}

/// A team, a user and a key that was rotated; the key has used something, of which the record is kept, and the user
/// more, of which it is not.
async fn fill(journal: &dyn Journal) {
    for change in [
        change(1, ChangeAction::Created, team(false)),
        change(1, ChangeAction::Created, user()),
        change(1, ChangeAction::Created, key(&["old"])),
        change(2, ChangeAction::Rotated, key(&["new"])),
    ] {
        store(journal, &change).await;
    }
    let mut record = jackfield_testkit::spending::record("one", AT);
    record.settled = ["key:k1", "user:ann"]
        .map(|budget| Reservation {
            budget: budget.into(),
            cost: None,
            tokens: Some(1020),
        })
        .to_vec();
    let log = journal.spending().expect("a log");
    log.record(&record).await.expect("recorded");
    let [_, seen, _] = totals(journal).await[..] else {
        panic!("three meters");
    };
    let spent = Amount {
        tokens: 5000,
        ..Amount::default()
    };
    let correction = MeterOperation::Correct {
        meter: "user:ann".into(),
        seen,
        totals: seen.map(|total| total.map(|total| PeriodTotal { spent, ..total })),
    };
    perform(journal, &correction).await;
}

/// Its changes, the newest first, and what is spent.
async fn told(journal: &dyn Journal) -> (Vec<DirectoryChange>, Vec<[Option<PeriodTotal>; 2]>) {
    let query = ChangeQuery {
        limit: 99,
        ..ChangeQuery::default()
    };
    let changes = journal
        .directory()
        .expect("a directory")
        .changes(&query)
        .await;
    let changes = changes
        .expect("a list")
        .into_iter()
        .map(|(_, change)| change);
    (changes.collect(), totals(journal).await)
}

fn file(folder: &Path, name: &str) -> SqliteJournal {
    SqliteJournal::open(
        folder.join(name),
        jackfield_store_sqlite::Options::default(),
    )
    .expect("a journal")
}

#[tokio::test]
async fn they_are_the_same_in_a_database_and_in_a_file_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, last) = (
        file(folder.path(), "first.db"),
        file(folder.path(), "last.db"),
    );
    fill(&first).await;
    let database = Database::new("accounts");
    let address = Address::parse(&database.url("postgres")).expect("an address");
    let opening = tokio::task::spawn_blocking(move || {
        PostgresJournal::open(address, jackfield_store_postgres::Options::default())
    });
    let between = opening.await.expect("opened").expect("a journal");
    let before = told(&first).await;
    let whole = CopyReport {
        directory_changes: 4,
        meters: 2,
        spending_records: 1,
        ..CopyReport::default()
    };
    for (from, to) in [
        (&first as &dyn Journal, &between as &dyn Journal),
        (&between, &last),
    ] {
        // A repetition finds everything there, and counts nothing twice.
        for _ in 0..2 {
            assert_eq!(copy_journal(from, to, |_| {}).await.expect("copied"), whole);
            assert_eq!(told(to).await, before);
        }
        let directory = to.directory().expect("a directory");
        for (secret, is_known) in [("new", true), ("old", false)] {
            let found = directory.find_key(&Digest::of(secret.as_bytes())).await;
            assert_eq!(found.expect("an answer").is_some(), is_known, "{secret}");
        }
    }
    for journal in [&first as &dyn Journal, &between, &last] {
        journal.close().await;
    }
}

#[tokio::test]
async fn a_copy_that_was_cut_off_is_finished_and_a_later_one_follows() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (file(folder.path(), "from.db"), file(folder.path(), "to.db"));
    fill(&from).await;
    // A copy that ended between the spending records and the budgets.
    let records = from.spending().expect("a log");
    let page = records
        .records(&SpendingQuery {
            limit: 99,
            ..SpendingQuery::default()
        })
        .await
        .expect("a page");
    let log = to.spending().expect("a log");
    for record in &page.records {
        log.record(record).await.expect("recorded");
    }
    assert_eq!(page.records.len(), 1);
    assert_ne!(totals(&to).await, totals(&from).await);
    let report = copy_journal(&from, &to, |_| {}).await.expect("copied");
    assert_eq!((report.problems.len(), report.meters), (0, 2));
    assert_eq!(told(&to).await, told(&from).await);
    // The first journal is used again.
    let mut record = jackfield_testkit::spending::record("two", AT);
    record.settled = vec![Reservation {
        budget: "user:ann".into(),
        cost: None,
        tokens: Some(30),
    }];
    records.record(&record).await.expect("recorded");
    let report = copy_journal(&from, &to, |_| {}).await.expect("copied");
    assert_eq!((report.problems.len(), report.meters), (0, 2));
    assert_eq!(told(&to).await, told(&from).await);
    from.close().await;
    to.close().await;
}

#[tokio::test]
async fn what_the_other_journal_has_stays_and_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (file(folder.path(), "from.db"), file(folder.path(), "to.db"));
    fill(&from).await;
    store(&from, &change(2, ChangeAction::Changed, team(false))).await;
    // Another team of that name, and a key that has spent something there.
    let theirs = change(1, ChangeAction::Created, team(true));
    store(&to, &theirs).await;
    let mut record = jackfield_testkit::spending::record("theirs", AT);
    record.settled = vec![Reservation {
        budget: "key:k1".into(),
        cost: None,
        tokens: Some(7),
    }];
    to.spending()
        .expect("a log")
        .record(&record)
        .await
        .expect("recorded");
    let report = copy_journal(&from, &to, |_| {}).await.expect("copied");
    assert_eq!(
        report.problems,
        [
            "team research was there before, with other contents, and was left alone",
            "the budgets of key:k1 have counted something else there",
        ]
    );
    assert_eq!((report.directory_changes, report.meters), (3, 1));
    let (changes, spent) = told(&to).await;
    assert!(changes.contains(&theirs), "{changes:?}");
    assert_eq!(changes.len(), 4, "{changes:?}");
    // Both have used it.
    let tokens = spent[0][0].map(|day| day.spent.tokens);
    assert_eq!(tokens, Some(1027));
    from.close().await;
    to.close().await;
}
