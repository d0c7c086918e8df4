//! Files with users, keys, budgets and secrets that released versions wrote: nothing of it is lost.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use jackfield_ports::journal::Journal;
use jackfield_store_sqlite::{Options, SqliteJournal};

use super::accounts::{self, AccountsJournal};
use crate::harness::Kept;

/// `JACKFIELD_FIXTURE` names the folder that it is left in.
#[tokio::test]
async fn the_users_of_this_version_are_in_a_file_and_every_user_can_go_on() {
    let files = Kept::new();
    let journal = on(&files);
    let text = journal.made().await;
    accounts::leave(END, &fs::read(files.file()).expect("a file"), &text);
    accounts::people_are_who_they_were(&journal, &text).await;
    accounts::turns_go_on(&journal, &text).await;
}

#[tokio::test]
async fn users_of_released_versions_are_read_from_a_file_as_they_were_written() {
    for fixture in accounts::fixtures(END) {
        let (files, text) = copied(&fixture);
        let read = on(&files).text(&accounts::secrets(&text)).await;
        accounts::is_as_written(&read, &fixture);
    }
}

#[tokio::test]
async fn users_of_released_versions_are_who_they_were_on_a_file() {
    for fixture in accounts::fixtures(END) {
        let (files, text) = copied(&fixture);
        accounts::people_are_who_they_were(&on(&files), &text).await;
    }
}

#[tokio::test]
async fn users_of_released_versions_go_on_with_their_turns_of_a_file() {
    for fixture in accounts::fixtures(END) {
        let (files, text) = copied(&fixture);
        accounts::turns_go_on(&on(&files), &text).await;
    }
}

/// A copy of a fixture, as a test may change it, and what is in it.
fn copied(fixture: &Path) -> (Kept, String) {
    let files = Kept::new();
    let bytes = accounts::unpacked(fixture);
    fs::write(files.file(), bytes).expect("the folder can be written");
    (files, accounts::text_beside(fixture))
}

fn on(files: &Kept) -> AccountsJournal {
    AccountsJournal {
        open: opened,
        place: files.file().into(),
    }
}

fn opened(file: &OsString) -> Box<dyn Journal> {
    let opened = SqliteJournal::open(Path::new(file), Options::default());
    Box::new(opened.expect("the journal opens"))
}

const END: &str = ".db.gz";
