//! The directory: who is let in, and who changed what.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{ChangeAction, EntryKind, EntryName, KeyRefusal, User};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use jackfield_engine::{
    ChangeQuery, ClientDirectory, Clock, DirectoryError, Engine, KEY_PREFIX, KeyOptions, NewSecret,
    UserUpdate,
};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest};
use tokio::task::JoinSet;

/// A clock that a test sets.
#[derive(Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Now {
        Now {
            mono: MonoTime::from_start(Duration::ZERO),
            wall: WallTime::from_millis(self.0.load(Ordering::Relaxed)),
        }
    }
}

struct Scene {
    clock: Arc<SetClock>,
    engine: Engine,
    journal: FaultyJournal,
}

impl Scene {
    /// A journal with the user Ann.
    async fn new() -> Self {
        let clock = Arc::new(SetClock::default());
        let journal = FaultyJournal::new(Arc::new(MemoryJournal::new()));
        let engine = Engine::builder(Arc::new(journal.clone()))
            .clock(Arc::clone(&clock) as Arc<dyn Clock>)
            .build();
        let scene = Self {
            clock,
            engine,
            journal,
        };
        let added = scene
            .directory()
            .add_user(&admin(), name("ann"), None)
            .await;
        added.expect("added");
        scene
    }

    fn directory(&self) -> ClientDirectory<'_> {
        self.engine.directory().expect("a directory")
    }

    fn set_clock(&self, seconds: i64) {
        self.clock.0.store(seconds * 1000, Ordering::Relaxed);
    }

    async fn key(&self, options: KeyOptions) -> (EntryName, NewSecret) {
        let (directory, by, ann) = (self.directory(), admin(), name("ann"));
        let made = directory.create_key(&by, &ann, options).await;
        let (key, secret) = made.expect("a key");
        (key.id, secret)
    }

    /// The user that a secret lets in, or why it does not.
    async fn accept(&self, secret: &str) -> Result<User, KeyRefusal> {
        let digest = Digest::of(secret.as_bytes());
        match self.directory().accept(&digest).await {
            Ok(accepted) => Ok(accepted.user),
            Err(DirectoryError::Refused(refusal)) => Err(refusal),
            Err(error) => panic!("{error}"),
        }
    }
}

fn admin() -> Arc<str> {
    "admin".into()
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a valid name")
}

fn ann() -> User {
    User {
        is_disabled: false,
        name: name("ann"),
        quota: None,
        team: None,
    }
}

#[tokio::test]
async fn a_key_lets_its_user_in_until_it_is_revoked() {
    let scene = Scene::new().await;
    let (id, secret) = scene.key(KeyOptions::default()).await;
    let (_, other) = scene.key(KeyOptions::default()).await;
    assert!(secret.reveal().starts_with(KEY_PREFIX));
    assert_eq!(secret.reveal().len(), KEY_PREFIX.len() + 64);
    assert_ne!(secret.reveal(), other.reveal());
    assert_eq!(format!("{secret:?}"), "NewSecret(..)");
    assert_eq!(scene.accept(secret.reveal()).await, Ok(ann()));
    for wrong in [
        "",
        "jk_",
        &secret.reveal()[1..],
        &secret.reveal().to_uppercase(),
    ] {
        assert_eq!(
            scene.accept(wrong).await,
            Err(KeyRefusal::Unknown),
            "{wrong}"
        );
    }
    scene.set_clock(7);
    let directory = scene.directory();
    let revoked = directory.revoke_key(&admin(), &id).await.expect("revoked");
    assert_eq!(revoked.revoked, Some(WallTime::from_millis(7000)));
    assert_eq!(
        scene.accept(secret.reveal()).await,
        Err(KeyRefusal::Revoked)
    );
    assert_eq!(scene.accept(other.reveal()).await, Ok(ann()));
    // For good, and its time stays.
    scene.set_clock(8);
    let again = directory.revoke_key(&admin(), &id).await.expect("revoked");
    assert_eq!(again, revoked);
    let rotated = directory.rotate_key(&admin(), &id, Duration::ZERO).await;
    let refused = matches!(rotated, Err(DirectoryError::Refused(KeyRefusal::Revoked)));
    assert!(refused, "{rotated:?}");
}

#[tokio::test]
async fn a_key_ends_at_its_time() {
    let scene = Scene::new().await;
    let expires = Some(WallTime::from_millis(5000));
    let options = KeyOptions {
        expires,
        ..KeyOptions::default()
    };
    let (id, secret) = scene.key(options).await;
    scene.set_clock(4);
    assert_eq!(scene.accept(secret.reveal()).await, Ok(ann()));
    scene.set_clock(5);
    assert_eq!(
        scene.accept(secret.reveal()).await,
        Err(KeyRefusal::Expired)
    );
    let (directory, by) = (scene.directory(), admin());
    let rotated = directory.rotate_key(&by, &id, Duration::ZERO).await;
    let refused = matches!(rotated, Err(DirectoryError::Refused(KeyRefusal::Expired)));
    assert!(refused, "{rotated:?}");
}

#[tokio::test]
async fn after_a_rotation_the_old_secret_is_accepted_for_a_while() {
    let scene = Scene::new().await;
    let (id, first) = scene.key(KeyOptions::default()).await;
    let rotate = async |overlap| {
        let rotated = scene.directory().rotate_key(&admin(), &id, overlap).await;
        rotated.expect("rotated").1
    };
    let second = rotate(Duration::from_secs(10)).await;
    scene.set_clock(9);
    for secret in [&first, &second] {
        assert_eq!(scene.accept(secret.reveal()).await, Ok(ann()));
    }
    scene.set_clock(10);
    assert_eq!(
        scene.accept(first.reveal()).await,
        Err(KeyRefusal::Replaced)
    );
    assert_eq!(scene.accept(second.reveal()).await, Ok(ann()));
    // Of three, the oldest is gone at once.
    let third = rotate(Duration::from_secs(10)).await;
    assert_eq!(scene.accept(first.reveal()).await, Err(KeyRefusal::Unknown));
    assert_eq!(scene.accept(second.reveal()).await, Ok(ann()));
    let fourth = rotate(Duration::ZERO).await;
    assert_eq!(
        scene.accept(second.reveal()).await,
        Err(KeyRefusal::Unknown)
    );
    assert_eq!(
        scene.accept(third.reveal()).await,
        Err(KeyRefusal::Replaced)
    );
    assert_eq!(scene.accept(fourth.reveal()).await, Ok(ann()));
}

#[tokio::test]
async fn no_key_of_a_disabled_user_lets_in() {
    let scene = Scene::new().await;
    let (_, secret) = scene.key(KeyOptions::default()).await;
    let set = async |is_disabled| {
        let update = UserUpdate {
            is_disabled: Some(is_disabled),
            ..UserUpdate::default()
        };
        let (directory, by, ann) = (scene.directory(), admin(), name("ann"));
        let updated = directory.update_user(&by, &ann, &update).await;
        updated.expect("updated");
    };
    set(true).await;
    assert_eq!(
        scene.accept(secret.reveal()).await,
        Err(KeyRefusal::UserDisabled)
    );
    set(false).await;
    assert_eq!(scene.accept(secret.reveal()).await, Ok(ann()));
}

#[tokio::test]
async fn an_entry_needs_what_it_belongs_to_and_a_name_of_its_own() {
    let scene = Scene::new().await;
    // At the same time it would be a repetition.
    scene.set_clock(1);
    let directory = scene.directory();
    let said = |result: Result<(), DirectoryError>| result.expect_err("refused").to_string();
    let added = directory.add_user(&admin(), name("ann"), None).await;
    assert_eq!(said(added.map(drop)), "there is a user `ann` already");
    let added = directory
        .add_user(&admin(), name("ben"), Some(name("nowhere")))
        .await;
    assert_eq!(said(added.map(drop)), "there is no team `nowhere`");
    let made = directory
        .create_key(&admin(), &name("ben"), KeyOptions::default())
        .await;
    assert_eq!(said(made.map(drop)), "there is no user `ben`");
    let revoked = directory.revoke_key(&admin(), &name("k0")).await;
    assert_eq!(said(revoked.map(drop)), "there is no key `k0`");
    directory
        .add_team(&admin(), name("ann"))
        .await
        .expect("a team");
    scene.set_clock(2);
    let team = directory.add_team(&admin(), name("ann")).await;
    assert_eq!(said(team.map(drop)), "there is a team `ann` already");
}

#[tokio::test]
async fn every_change_names_its_author_and_none_has_a_secret() {
    let scene = Scene::new().await;
    let directory = scene.directory();
    let by: Arc<str> = "ben, by the API".into();
    directory
        .add_team(&by, name("research"))
        .await
        .expect("a team");
    let (id, secret) = scene.key(KeyOptions::default()).await;
    let update = UserUpdate {
        is_disabled: Some(true),
        team: Some(Some(name("research"))),
        ..UserUpdate::default()
    };
    // What changes nothing is no change.
    for _ in 0..2 {
        let updated = directory.update_user(&by, &name("ann"), &update).await;
        updated.expect("updated");
    }
    let (_, second) = directory
        .rotate_key(&by, &id, Duration::ZERO)
        .await
        .expect("rotated");
    directory.revoke_key(&by, &id).await.expect("revoked");
    let query = ChangeQuery {
        limit: 100,
        ..ChangeQuery::default()
    };
    let changes = directory.changes(&query).await.expect("the changes");
    let seen: Vec<_> = changes
        .iter()
        .map(|(_, change)| {
            (
                &*change.by,
                change.action,
                change.entry.kind(),
                change.revision,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (&*by, ChangeAction::Revoked, EntryKind::Key, 3),
            (&*by, ChangeAction::Rotated, EntryKind::Key, 2),
            (&*by, ChangeAction::Disabled, EntryKind::User, 2),
            ("admin", ChangeAction::Created, EntryKind::Key, 1),
            (&*by, ChangeAction::Created, EntryKind::Team, 1),
            ("admin", ChangeAction::Created, EntryKind::User, 1),
        ]
    );
    let shown = format!("{changes:?}");
    for secret in [secret, second] {
        assert!(!shown.contains(&secret.reveal()[KEY_PREFIX.len()..]));
    }
}

#[tokio::test]
async fn changes_at_once_are_all_made() {
    let scene = Scene::new().await;
    let (id, _) = scene.key(KeyOptions::default()).await;
    let mut rotations = JoinSet::new();
    for _ in 0..8 {
        let (engine, id) = (scene.engine.clone(), id.clone());
        rotations.spawn(async move {
            let directory = engine.directory().expect("a directory");
            let hour = Duration::from_secs(3600);
            directory.rotate_key(&admin(), &id, hour).await.map(drop)
        });
    }
    for rotation in rotations.join_all().await {
        rotation.expect("rotated");
    }
    let query = ChangeQuery {
        entry: Some((EntryKind::Key, id)),
        limit: 100,
        ..ChangeQuery::default()
    };
    let changes = scene
        .directory()
        .changes(&query)
        .await
        .expect("the changes");
    assert_eq!(changes.len(), 9);
}

#[tokio::test]
async fn a_journal_that_fails_lets_nobody_in() {
    let scene = Scene::new().await;
    let (_, secret) = scene.key(KeyOptions::default()).await;
    for lookups in 1..=2 {
        scene.journal.fail_next(JournalRequest::Directory, lookups);
        let digest = secret.digest();
        for _ in 0..lookups {
            let accepted = scene.directory().accept(&digest).await;
            let failed = matches!(accepted, Err(DirectoryError::Journal(_)));
            assert!(failed, "{accepted:?}");
        }
        assert_eq!(scene.accept(secret.reveal()).await, Ok(ann()));
    }
}
