//! Databases with users, keys, budgets and secrets that released versions wrote: nothing of it is lost.

use std::ffi::OsString;
use std::path::Path;

use jackfield_ports::journal::Journal;
use jackfield_store_postgres::{Address, Options, PostgresJournal};

use crate::shared::released::accounts::{self, AccountsJournal};
use crate::world::Database;

/// `JACKFIELD_FIXTURE` names the folder that it is left in.
#[tokio::test]
async fn the_users_of_this_version_are_in_a_database_and_every_user_can_go_on() {
    let database = Database::new("released_made");
    let text = on(&database).made().await;
    let dump = database.dumped();
    accounts::leave(END, dump.as_bytes(), &text);
    let copy = Database::new("released_copied");
    copy.restore(&dump);
    let read = on(&copy).text(&accounts::secrets(&text)).await;
    assert_eq!(read, text);
    accounts::people_are_who_they_were(&on(&copy), &text).await;
    accounts::turns_go_on(&on(&copy), &text).await;
}

#[tokio::test]
async fn users_of_released_versions_are_read_from_a_database_as_they_were_written() {
    for (nth, fixture) in accounts::fixtures(END).iter().enumerate() {
        let (database, text) = restored(fixture, &format!("released_read_{nth}"));
        let read = on(&database).text(&accounts::secrets(&text)).await;
        accounts::is_as_written(&read, fixture);
    }
}

#[tokio::test]
async fn users_of_released_versions_are_who_they_were_on_a_database() {
    for (nth, fixture) in accounts::fixtures(END).iter().enumerate() {
        let (database, text) = restored(fixture, &format!("released_people_{nth}"));
        accounts::people_are_who_they_were(&on(&database), &text).await;
    }
}

#[tokio::test]
async fn users_of_released_versions_go_on_with_their_turns_of_a_database() {
    for (nth, fixture) in accounts::fixtures(END).iter().enumerate() {
        let (database, text) = restored(fixture, &format!("released_turns_{nth}"));
        accounts::turns_go_on(&on(&database), &text).await;
    }
}

/// A new database of this name with what is in a fixture, and that as text.
fn restored(fixture: &Path, name: &str) -> (Database, String) {
    let database = Database::new(name);
    let dump = String::from_utf8(accounts::unpacked(fixture)).expect("a dump is text");
    database.restore(&dump);
    (database, accounts::text_beside(fixture))
}

fn on(database: &Database) -> AccountsJournal {
    AccountsJournal {
        open: opened,
        place: database.url("postgres").into(),
    }
}

fn opened(address: &OsString) -> Box<dyn Journal> {
    let address = Address::parse(&address.to_string_lossy()).expect("an address");
    let opened = PostgresJournal::open(address, Options::default());
    Box::new(opened.expect("the journal opens"))
}

const END: &str = ".sql.gz";
