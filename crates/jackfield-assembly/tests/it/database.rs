//! The address of a PostgreSQL journal: where it may stand, and that its password is never shown.

use std::path::PathBuf;

use jackfield_assembly::{Flags, JournalKind};

use super::world::World;

const WITH_PASSWORD: &str = "postgres://me:hush@db.example/chats";

#[test]
fn an_address_selects_the_journal() {
    for line in [
        "journal.url = \"postgres://me@db.example/chats\"",
        "journal.url_env = \"CHATS\"",
        "journal.kind = \"postgres\"",
    ] {
        let config = World::new().with_user(line).load().unwrap();
        assert_eq!(config.journal.kind, JournalKind::Postgres, "{line}");
        assert_eq!(config.journal_file(), None);
    }
}

#[test]
fn a_password_in_a_file_is_an_error_that_does_not_show_it() {
    let world = World::new().with_user(format!("journal.url = \"{WITH_PASSWORD}\""));
    let problems = world.problems().join("\n");
    assert!(
        problems.contains("a password does not belong in a file"),
        "{problems}"
    );
    assert!(!problems.contains("hush"), "{problems}");
}

#[test]
fn the_variable_that_names_a_file_may_name_a_database() {
    let mut world = World::new().with_user("journal.path = \"chats.db\"");
    world.variables = vec![("JACKFIELD_DB", WITH_PASSWORD)];
    let config = world.load().unwrap();
    assert_eq!(config.journal.kind, JournalKind::Postgres);
    let shown = format!("{config:?}{:?}", config.explain());
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn the_flag_that_names_a_file_may_name_a_database_without_a_password() {
    let flags = |url: &str| Flags {
        db: Some(PathBuf::from(url)),
        ..Flags::default()
    };
    let world = World::new();
    let config = world.load_with(&flags("postgres://me@db.example/chats"));
    assert_eq!(config.unwrap().journal.kind, JournalKind::Postgres);
    let refused = world.load_with(&flags(WITH_PASSWORD)).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("--db"), "{refused}");
    assert!(!refused.contains("hush"), "{refused}");
}

#[test]
fn the_name_of_a_variable_with_a_password_is_shown_and_its_value_is_not() {
    let lines = "journal.url = \"postgres://me@db.example/chats\"\njournal.password_env = \"CHATS_PASSWORD\"\n";
    let mut world = World::new().with_user(lines);
    world.variables = vec![("CHATS_PASSWORD", "hush")];
    let config = world.load().unwrap();
    let shown = format!("{config:?}{:?}", config.explain());
    assert!(shown.contains("CHATS_PASSWORD"), "{shown}");
    assert!(!shown.contains("hush"), "{shown}");
}
