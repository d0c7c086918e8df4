//! The contract of [`Directory`], an optional part of a journal: one test per clause.
//!
//! The author of a store with a directory writes `directory_contract!(AcmeHarness)` beside `journal_contract!`.
#![expect(clippy::expect_used, reason = "a clause ends where its journal fails")]

use std::pin::Pin;
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryKind, EntryName, KeySecret,
    ServerOwner, Team, User,
};
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::directory::{ChangeQuery, Changed, Directory, EntryQuery};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tokio::task::JoinSet;

use super::clause;
use super::journal::{JournalHarness, START};
use crate::arb;

/// Checks one clause; this is what the tests of [`directory_contract!`](crate::directory_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause, or the journal has no directory.
pub fn check<H: JournalHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them a revoked key opens the gateway.
pub const VITAL: &[&str] = &["a_key_is_found_by_its_current_secrets_alone"];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! directory_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// What `entry` returns equals what was stored, in every field.
            /// A key is valid longer than it was made for, or for more models.
            a_change_comes_back_equal
            /// A change is stored only if its revision follows the newest one of its entry.
            /// Two administrators change a user, and one of them undoes the other's change unseen.
            a_change_follows_the_revision_before_it
            /// Of different changes of one revision at once, one is stored and the others are conflicts, in every process.
            /// A revocation is lost because a rotation came at the same time.
            of_changes_at_once_one_is_stored
            /// A change that is repeated, equal in all, is stored once, and no conflict.
            /// A retry after a lost answer says that a user exists already, or makes two.
            a_repeated_change_is_stored_once
            /// Users, teams and keys of the same name are different entries.
            /// A team called like a user takes that user's place.
            kinds_have_names_of_their_own
            /// `find_key` finds the newest change of a key by its current secrets, in every process at once, and by no others.
            /// A secret that was replaced still opens the gateway, or a revoked key does on another replica.
            a_key_is_found_by_its_current_secrets_alone
            /// A key with a secret that another key has is a conflict.
            /// A request is counted for another user.
            a_secret_belongs_to_one_key
            /// `has_keys` is true from the first key on, and not before.
            /// A gateway stays open after its first key was made.
            the_first_key_is_noticed
            /// `entries` has the newest change of each entry of the kind, ordered by name, page by page.
            /// A list of keys shows a revoked one as valid, or lacks one.
            entries_are_the_newest_in_the_order_of_names
            /// `changes` has every change once, the newest first, page by page, of one entry or of all.
            /// An administrator's change is missing in the audit.
            every_change_is_listed_the_newest_first
            /// The next process finds every entry and every change.
            /// After a restart no key is valid any more.
            a_restart_keeps_the_directory
        }
    };
}

/// Expands to one test per clause of the contract of `Directory`.
///
/// Takes a type that is a `JournalHarness`, and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! directory_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::directory_clauses! {
            $crate::clause_tests {
                [$crate::contract::directory::check::<$harness>]
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

directory_clauses! { clause::clause_list {} }
directory_clauses! { dispatch {} }

async fn a_change_comes_back_equal<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let mut runner = TestRunner::deterministic();
    for nth in 0..60 {
        let change = arb::directory_change().new_tree(&mut runner);
        let change = renamed(change.expect("a change").current(), nth);
        assert_eq!(
            store(&journal, &change).await,
            Changed::Stored,
            "{change:?}"
        );
        let (kind, name) = (change.entry.kind(), change.entry.name());
        assert_eq!(entry(&journal, kind, &name).await, Some(change));
    }
}

async fn a_change_follows_the_revision_before_it<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    for (revision, expected) in [
        (0, Changed::Conflict),
        (2, Changed::Conflict),
        (1, Changed::Stored),
        (3, Changed::Conflict),
        (2, Changed::Stored),
        (3, Changed::Stored),
        (2, Changed::Conflict),
        (u64::MAX, Changed::Conflict),
    ] {
        let by = format!("{revision} {expected:?}");
        let change = DirectoryChange {
            by: by.as_str().into(),
            ..user("ann", revision)
        };
        assert_eq!(store(&journal, &change).await, expected, "{by}");
    }
    let newest = entry(&journal, EntryKind::User, &name("ann")).await;
    assert_eq!(newest.map(|change| change.revision), Some(3));
    assert_eq!(all_changes(&journal).await.len(), 3);
}

async fn of_changes_at_once_one_is_stored<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let another = harness.another_process().await;
    let another = another.unwrap_or_else(|| Arc::clone(&journal));
    for revision in 1..=3 {
        let mut tasks = JoinSet::new();
        for nth in 0..8 {
            let journal = Arc::clone(if nth % 2 == 0 { &journal } else { &another });
            let change = DirectoryChange {
                by: format!("administrator {nth}").into(),
                ..user("ann", revision)
            };
            tasks.spawn(async move { (store(&journal, &change).await, change) });
        }
        let done = tasks.join_all().await;
        let stored = done
            .into_iter()
            .filter(|(changed, _)| *changed == Changed::Stored);
        let stored: Vec<DirectoryChange> = stored.map(|(_, change)| change).collect();
        let [stored] = &*stored else {
            panic!(
                "of 8 changes of revision {revision} {} are stored",
                stored.len()
            );
        };
        let newest = entry(&journal, EntryKind::User, &name("ann")).await;
        assert_eq!(newest.as_ref(), Some(stored));
    }
    assert_eq!(all_changes(&another).await.len(), 3);
}

async fn a_repeated_change_is_stored_once<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let changes = [user("ann", 1), user("ann", 2), key("k1", 1, &["a"])];
    for change in &changes {
        for _ in 0..2 {
            assert_eq!(store(&journal, change).await, Changed::Stored);
        }
    }
    // After later changes, too.
    assert_eq!(store(&journal, &changes[0]).await, Changed::Stored);
    assert_eq!(all_changes(&journal).await.len(), 3);
}

async fn kinds_have_names_of_their_own<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let changes = [user("ann", 1), team("ann", 1), key("ann", 1, &["a"])];
    for change in &changes {
        assert_eq!(store(&journal, change).await, Changed::Stored);
    }
    for change in changes {
        let (kind, name) = (change.entry.kind(), change.entry.name());
        assert_eq!(entry(&journal, kind, &name).await, Some(change));
    }
}

async fn a_key_is_found_by_its_current_secrets_alone<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let another = harness.another_process().await;
    let journals: Vec<Arc<dyn Journal>> = [Some(Arc::clone(&journal)), another]
        .into_iter()
        .flatten()
        .collect();
    let other = key("other", 1, &["other"]);
    assert_eq!(store(&journal, &other).await, Changed::Stored);
    for (revision, secrets, gone) in [
        (1, &["a"][..], &["b", "c"][..]),
        (2, &["b", "a"], &["c"]),
        (3, &["c", "b"], &["a"]),
        (4, &[], &["a", "b", "c"]),
        (5, &["a"], &["b", "c"]),
    ] {
        let change = key("k1", revision, secrets);
        assert_eq!(store(&journal, &change).await, Changed::Stored);
        for journal in &journals {
            for secret in secrets {
                assert_eq!(
                    find(journal, secret).await.as_ref(),
                    Some(&change),
                    "{secret}"
                );
            }
            for secret in gone {
                assert_eq!(find(journal, secret).await, None, "{secret} of {revision}");
            }
            assert_eq!(find(journal, "other").await.as_ref(), Some(&other));
        }
    }
}

async fn a_secret_belongs_to_one_key<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let first = key("k1", 1, &["a", "b"]);
    assert_eq!(store(&journal, &first).await, Changed::Stored);
    assert_eq!(
        store(&journal, &key("k2", 1, &["b"])).await,
        Changed::Conflict
    );
    assert_eq!(entry(&journal, EntryKind::Key, &name("k2")).await, None);
    assert_eq!(find(&journal, "b").await, Some(first));
    assert_eq!(
        store(&journal, &key("k2", 1, &["c"])).await,
        Changed::Stored
    );
    assert_eq!(
        store(&journal, &key("k2", 2, &["a"])).await,
        Changed::Conflict
    );
    assert_eq!(find(&journal, "c").await, Some(key("k2", 1, &["c"])));
}

async fn the_first_key_is_noticed<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let has_keys = async || directory(&journal).has_keys().await.expect("an answer");
    assert!(!has_keys().await);
    for change in [user("ann", 1), team("ann", 1)] {
        assert_eq!(store(&journal, &change).await, Changed::Stored);
    }
    assert!(!has_keys().await, "a user and a team are no keys");
    // One that is revoked and has no secret any more.
    assert_eq!(store(&journal, &key("k1", 1, &[])).await, Changed::Stored);
    assert!(has_keys().await);
    if let Some(another) = harness.another_process().await {
        assert!(directory(&another).has_keys().await.expect("an answer"));
    }
}

async fn entries_are_the_newest_in_the_order_of_names<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let names = ["b", "a", "a-b", "a.b", "a1", "0"];
    for each in names {
        assert_eq!(store(&journal, &user(each, 1)).await, Changed::Stored);
        assert_eq!(store(&journal, &team(each, 1)).await, Changed::Stored);
    }
    for each in ["a", "0"] {
        assert_eq!(store(&journal, &user(each, 2)).await, Changed::Stored);
    }
    let expected = [
        user("0", 2),
        user("a", 2),
        user("a-b", 1),
        user("a.b", 1),
        user("a1", 1),
        user("b", 1),
    ];
    for limit in [1, 2, 5, 6, 100] {
        let mut read = Vec::new();
        loop {
            let query = EntryQuery {
                after: read
                    .last()
                    .map(|change: &DirectoryChange| change.entry.name()),
                kind: EntryKind::User,
                limit,
            };
            let page = directory(&journal).entries(&query).await.expect("a page");
            assert!(page.len() <= limit, "{page:?}");
            if page.is_empty() {
                break;
            }
            read.extend(page);
            assert!(read.len() <= expected.len(), "{read:?}");
        }
        assert_eq!(read, expected, "in pages of {limit}");
    }
    let (after, kind, limit) = (None, EntryKind::Key, 9);
    let none = EntryQuery { after, kind, limit };
    assert_eq!(
        directory(&journal).entries(&none).await.expect("a page"),
        []
    );
}

async fn every_change_is_listed_the_newest_first<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let changes = [
        user("ann", 1),
        key("k1", 1, &["a"]),
        team("ann", 1),
        user("ben", 1),
        user("ann", 2),
        key("k1", 2, &["b"]),
    ];
    for change in &changes {
        assert_eq!(store(&journal, change).await, Changed::Stored);
    }
    assert_eq!(store(&journal, &user("ann", 2)).await, Changed::Stored);
    let anns = [user("ann", 2), user("ann", 1)];
    let mut newest_first = changes.to_vec();
    newest_first.reverse();
    let ann = Some((EntryKind::User, name("ann")));
    for (of, expected) in [(None, &newest_first[..]), (ann, &anns)] {
        for limit in [1, 4, 100] {
            let (mut read, mut before) = (Vec::new(), None);
            loop {
                let query = ChangeQuery {
                    before,
                    entry: of.clone(),
                    limit,
                };
                let page = directory(&journal).changes(&query).await.expect("a page");
                assert!(page.len() <= limit, "{page:?}");
                let Some((last, _)) = page.last() else {
                    break;
                };
                before = Some(*last);
                read.extend(page.into_iter().map(|(_, change)| change));
                assert!(read.len() <= expected.len(), "{read:?}");
            }
            assert_eq!(read, expected, "of {of:?} in pages of {limit}");
        }
    }
}

async fn a_restart_keeps_the_directory<H: JournalHarness>() {
    let harness = H::fresh().await;
    let journal = harness.journal();
    let changes = [user("ann", 1), key("k1", 1, &["a"]), user("ann", 2)];
    for change in &changes {
        assert_eq!(store(&journal, change).await, Changed::Stored);
    }
    let before = all_changes(&journal).await;
    let reopened = harness.reopened().await;
    assert_eq!(all_changes(&reopened).await, before);
    assert_eq!(find(&reopened, "a").await.as_ref(), Some(&changes[1]));
    assert_eq!(store(&reopened, &user("ann", 2)).await, Changed::Stored);
    assert_eq!(store(&reopened, &user("ann", 3)).await, Changed::Stored);
    let numbers = all_changes(&reopened).await.into_iter();
    let numbers: Vec<u64> = numbers.map(|(number, _)| number).collect();
    assert!(numbers.is_sorted_by(|one, next| one > next), "{numbers:?}");
}

fn directory(journal: &Arc<dyn Journal>) -> &dyn Directory {
    journal.directory().expect("a directory")
}

async fn store(journal: &Arc<dyn Journal>, change: &DirectoryChange) -> Changed {
    let changed = directory(journal).change(change).await;
    changed.expect("an answer")
}

async fn entry(
    journal: &Arc<dyn Journal>,
    kind: EntryKind,
    name: &EntryName,
) -> Option<DirectoryChange> {
    let entry = directory(journal).entry(kind, name).await;
    entry.expect("an answer")
}

async fn find(journal: &Arc<dyn Journal>, secret: &str) -> Option<DirectoryChange> {
    let secret = Digest::of(secret.as_bytes());
    let found = directory(journal).find_key(&secret).await;
    found.expect("an answer")
}

async fn all_changes(journal: &Arc<dyn Journal>) -> Vec<(u64, DirectoryChange)> {
    let query = ChangeQuery {
        limit: 1000,
        ..ChangeQuery::default()
    };
    directory(journal).changes(&query).await.expect("a page")
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

fn user(of: &str, revision: u64) -> DirectoryChange {
    let user = User {
        is_disabled: revision.is_multiple_of(2),
        name: name(of),
        quota: None,
        team: None,
    };
    change(DirectoryEntry::User(user), revision)
}

fn team(of: &str, revision: u64) -> DirectoryChange {
    change(
        DirectoryEntry::Team(Team {
            name: name(of),
            quota: None,
        }),
        revision,
    )
}

fn key(id: &str, revision: u64, secrets: &[&str]) -> DirectoryChange {
    let secret = |secret: &&str| KeySecret {
        digest: Digest::of(secret.as_bytes()),
        until: None,
    };
    let key = ClientKey {
        expires: None,
        has_no_approvals: false,
        id: name(id),
        is_admin: false,
        label: "".into(),
        models: None,
        quota: None,
        revoked: None,
        secrets: secrets.iter().map(secret).collect(),
        tools: None,
        user: name("ann"),
    };
    change(DirectoryEntry::Key(key), revision)
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a valid name")
}

/// The change as the first of an entry of its own, with secrets of its own.
fn renamed(mut change: DirectoryChange, nth: u32) -> DirectoryChange {
    let name = name(&format!("n{nth}"));
    change.revision = 1;
    match &mut change.entry {
        DirectoryEntry::Key(key) => {
            key.id = name;
            for (place, secret) in key.secrets.iter_mut().enumerate() {
                secret.digest = Digest::of(format!("{nth} {place}").as_bytes());
            }
        }
        DirectoryEntry::ProviderKey(key) => key.user = name,
        DirectoryEntry::Server(server) => server.owner = ServerOwner::User(name),
        DirectoryEntry::SignIn(sign_in) => sign_in.user = name,
        DirectoryEntry::Team(team) => team.name = name,
        DirectoryEntry::User(user) => user.name = name,
    }
    change
}
