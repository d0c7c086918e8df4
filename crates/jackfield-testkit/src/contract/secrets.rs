//! The contract of [`Secrets`], an optional part of a journal with a directory: one test per clause.
//!
//! The author of a store with secrets writes `secrets_contract!(AcmeHarness)` beside `directory_contract!`.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::pin::Pin;
use std::sync::Arc;

use jackfield_domain::directory::{
    ChangeAction, DirectoryChange, DirectoryEntry, EntryKind, EntryName, ProviderKey, Team,
};
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::directory::Changed;
use jackfield_ports::journal::secrets::{SealedSecret, SecretPlace, Secrets};

use super::clause;
use super::journal::{JournalHarness, START};

/// Checks one clause; this is what the tests of [`secrets_contract!`](crate::secrets_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause, or the journal has no secrets.
pub fn check<H: JournalHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them a secret outlives its removal.
pub const VITAL: &[&str] = &["a_change_replaces_the_secrets_of_its_entry"];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! secrets_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// The secrets of a change are those of its entry from then on, and earlier ones are found nowhere.
            /// A key that was taken away is still used, or is still in the database.
            a_change_replaces_the_secrets_of_its_entry
            /// A change that is refused changes no secret.
            /// Of two people who change an entry at once, the loser's secret is used.
            a_conflict_changes_no_secret
            /// A change that is repeated leaves the secrets as they are.
            /// A retry after a lost answer brings a secret back that was encrypted anew meanwhile.
            a_repeated_change_changes_no_secret
            /// Secrets of entries of another kind or name are not found.
            /// A person's request is sent with the key of another one.
            each_entry_has_its_own_secrets
            /// `page` has every secret once, in the order of places, page by page.
            /// A change of the master key leaves a secret behind, and it can never be read again.
            every_secret_is_listed_once
            /// `reseal` replaces the form that was seen, and no other.
            /// A change of the master key undoes a new secret that came at the same time.
            only_what_was_seen_is_resealed
            /// `master_keys` counts the secrets of each master key.
            /// A gateway starts without the key of some secrets, and notices it at a person's request.
            master_keys_are_counted
            /// The next process finds every secret.
            /// After a restart everyone has to bring their keys again.
            a_restart_keeps_the_secrets
        }
    };
}

/// Expands to one test per clause of the contract of `Secrets`.
///
/// Takes a type that is a `JournalHarness`, and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! secrets_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::secrets_clauses! {
            $crate::clause_tests {
                [$crate::contract::secrets::check::<$harness>]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        fn perform<H: JournalHarness>(clause: &str) -> Pin<Box<dyn Future<Output = ()>>> {
            match clause {
                $(stringify!($name) => Box::pin($name::<H>()),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

secrets_clauses! { clause::clause_list {} }
secrets_clauses! { dispatch {} }

async fn a_change_replaces_the_secrets_of_its_entry<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    for (revision, secrets) in [
        (1, vec![sealed("a", 1), sealed("b", 2)]),
        (2, vec![sealed("b", 3)]),
        (3, vec![sealed("a", 4)]),
        (4, vec![]),
    ] {
        let changed = store(&journal, &provider_key("ann", revision), &secrets).await;
        assert_eq!(changed, Changed::Stored);
        assert_eq!(of(&journal, "ann").await, secrets);
        assert_eq!(all(&journal, 10).await.len(), secrets.len());
    }
    let directory = journal.directory().expect("a directory");
    let name = provider_key("ann", 1).entry.name();
    let newest = directory.entry(EntryKind::ProviderKey, &name).await;
    let newest = newest.expect("an answer").map(|change| change.revision);
    assert_eq!(newest, Some(4));
}

async fn a_conflict_changes_no_secret<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let first = [sealed("a", 1)];
    let changed = store(&journal, &provider_key("ann", 1), &first).await;
    assert_eq!(changed, Changed::Stored);
    let mut other = provider_key("ann", 1);
    other.by = "another".into();
    for change in [other, provider_key("ann", 3)] {
        let changed = store(&journal, &change, &[sealed("a", 2)]).await;
        assert_eq!(changed, Changed::Conflict);
        assert_eq!(of(&journal, "ann").await, first);
    }
}

async fn a_repeated_change_changes_no_secret<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let change = provider_key("ann", 1);
    let (old, new) = (sealed("a", 1), sealed("a", 2));
    let given = [old.clone()];
    assert_eq!(store(&journal, &change, &given).await, Changed::Stored);
    let place = place("ann", "a");
    assert!(reseal(&journal, &place, &old, &new).await);
    assert_eq!(store(&journal, &change, &given).await, Changed::Stored);
    assert_eq!(of(&journal, "ann").await, [new]);
}

async fn each_entry_has_its_own_secrets<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let (anns, bens, teams) = ([sealed("a", 1)], [sealed("a", 2)], [sealed("a", 3)]);
    store(&journal, &provider_key("ann", 1), &anns).await;
    store(&journal, &provider_key("ben", 1), &bens).await;
    store(&journal, &team("ann"), &teams).await;
    assert_eq!(of(&journal, "ann").await, anns);
    assert_eq!(of(&journal, "ben").await, bens);
    assert_eq!(of(&journal, "cid").await, []);
    let of_team = secrets(&journal)
        .secrets_of(EntryKind::Team, &name("ann"))
        .await;
    assert_eq!(of_team.expect("an answer"), teams);
    store(&journal, &provider_key("ann", 2), &[]).await;
    assert_eq!(of(&journal, "ann").await, []);
    assert_eq!(of(&journal, "ben").await, bens);
    assert_eq!(all(&journal, 10).await.len(), 2);
}

async fn every_secret_is_listed_once<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let mut expected = Vec::new();
    for who in ["b", "a", "a-b", "a.b"] {
        let given = [sealed("Z", 1), sealed("a", 2)];
        store(&journal, &provider_key(who, 1), &given).await;
        let places = given.into_iter();
        expected.extend(places.map(|secret| (place(who, &secret.name), secret)));
    }
    let given = [sealed("t", 3)];
    store(&journal, &team("a"), &given).await;
    let [secret] = given;
    let at = SecretPlace::new(EntryKind::Team, &name("a"), "t");
    expected.push((at, secret));
    expected.sort_by(|(one, _), (other, _)| one.cmp(other));
    for limit in [1, 2, 3, 9, 100] {
        assert_eq!(all(&journal, limit).await, expected, "in pages of {limit}");
    }
}

async fn only_what_was_seen_is_resealed<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let another = harness.another_process().await;
    let another = another.unwrap_or_else(|| Arc::clone(&journal));
    let (old, new, newer) = (sealed("a", 1), sealed("a", 2), sealed("a", 3));
    let stored = [old.clone(), sealed("b", 1)];
    store(&journal, &provider_key("ann", 1), &stored).await;
    let place = place("ann", "a");
    assert!(reseal(&journal, &place, &old, &new).await);
    assert!(!reseal(&another, &place, &old, &newer).await);
    assert_eq!(of(&another, "ann").await, [new.clone(), sealed("b", 1)]);
    // The same bytes under another master key are another form.
    let renamed = SealedSecret {
        master_key: "other".into(),
        ..new.clone()
    };
    assert!(!reseal(&another, &place, &renamed, &newer).await);
    assert!(reseal(&another, &place, &new, &newer).await);
    assert_eq!(of(&journal, "ann").await, [newer.clone(), sealed("b", 1)]);
    let missing = self::place("ann", "c");
    assert!(!reseal(&journal, &missing, &newer, &old).await);
}

async fn master_keys_are_counted<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let counted = async || {
        let keys = secrets(&journal).master_keys().await.expect("an answer");
        let keys = keys.into_iter().map(|(id, count)| (id.to_string(), count));
        keys.collect::<Vec<_>>()
    };
    assert_eq!(counted().await, []);
    let of_other = SealedSecret {
        master_key: "other".into(),
        ..sealed("c", 1)
    };
    let given = [sealed("a", 1), sealed("b", 1), of_other];
    store(&journal, &provider_key("ann", 1), &given).await;
    let key = sealed("a", 1).master_key.to_string();
    assert_eq!(counted().await, [(key, 2), ("other".to_owned(), 1)]);
    store(&journal, &provider_key("ann", 2), &[]).await;
    assert_eq!(counted().await, []);
}

async fn a_restart_keeps_the_secrets<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let given = [sealed("a", 1), sealed("b", 2)];
    store(&journal, &provider_key("ann", 1), &given).await;
    let reopened = harness.reopened().await;
    assert_eq!(of(&reopened, "ann").await, given);
}

fn secrets(journal: &Arc<dyn Journal>) -> &dyn Secrets {
    journal.secrets().expect("secrets")
}

async fn store(
    journal: &Arc<dyn Journal>,
    change: &DirectoryChange,
    given: &[SealedSecret],
) -> Changed {
    let changed = secrets(journal).change_with_secrets(change, given).await;
    changed.expect("an answer")
}

async fn of(journal: &Arc<dyn Journal>, user: &str) -> Vec<SealedSecret> {
    let name = provider_key(user, 1).entry.name();
    let found = secrets(journal).secrets_of(EntryKind::ProviderKey, &name);
    found.await.expect("an answer")
}

async fn reseal(
    journal: &Arc<dyn Journal>,
    place: &SecretPlace,
    seen: &SealedSecret,
    anew: &SealedSecret,
) -> bool {
    let resealed = secrets(journal).reseal(place, seen, anew).await;
    resealed.expect("an answer")
}

/// All secrets, in pages of this size.
async fn all(journal: &Arc<dyn Journal>, limit: usize) -> Vec<(SecretPlace, SealedSecret)> {
    let mut read: Vec<(SecretPlace, SealedSecret)> = Vec::new();
    loop {
        let after = read.last().map(|(place, _)| place.clone());
        let page = secrets(journal).page(after.as_ref(), limit).await;
        let page = page.expect("a page");
        assert!(page.len() <= limit, "{page:?}");
        if page.is_empty() {
            return read;
        }
        read.extend(page);
        assert!(read.len() <= 100, "the pages do not end: {read:?}");
    }
}

fn sealed(name: &str, byte: u8) -> SealedSecret {
    SealedSecret {
        master_key: "0123456789abcdef".into(),
        name: name.into(),
        sealed: [0, byte, 255].as_slice().into(),
    }
}

fn place(user: &str, secret: &str) -> SecretPlace {
    let name = provider_key(user, 1).entry.name();
    SecretPlace::new(EntryKind::ProviderKey, &name, secret)
}

fn provider_key(user: &str, revision: u64) -> DirectoryChange {
    let key = ProviderKey {
        hint: "7f3a".into(),
        is_removed: false,
        provider: "openai".into(),
        user: name(user),
    };
    change(DirectoryEntry::ProviderKey(key), revision)
}

fn team(of: &str) -> DirectoryChange {
    let team = Team {
        name: name(of),
        quota: None,
    };
    change(DirectoryEntry::Team(team), 1)
}

fn change(entry: DirectoryEntry, revision: u64) -> DirectoryChange {
    DirectoryChange {
        action: ChangeAction::Changed,
        at: START,
        by: "admin".into(),
        entry,
        revision,
    }
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a valid name")
}
