//! Secrets in the journal, and the keys of people at providers.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::directory::{ChangeAction, EntryKind, EntryName};
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRequest;
use jackfield_domain::setup::Opening;
use jackfield_engine::{
    ChangeQuery, Credential, DirectoryError, Engine, MasterKeys, SecretError, SecretRotation,
    SendMessage, TurnOptions,
};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::delta_sink::DeltaSink;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::secrets::SecretPlace;
use jackfield_store_memory::MemoryJournal;

use crate::fixture::{options, owner};
use crate::toolbox_sources::caller;

/// A model that notes the credential of each call.
#[derive(Clone, Default)]
struct Keyed {
    seen: Arc<Mutex<Vec<Option<String>>>>,
}

impl Keyed {
    fn seen(&self) -> Vec<Option<String>> {
        let seen = self.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl ChatModel for Keyed {
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        owner(model)
    }

    fn takes_credentials(&self) -> bool {
        true
    }

    async fn reply(
        &self,
        _: &ModelRequest,
        _: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let key = sink.credential().map(|key| key.expose().to_owned());
        let note = |key| self.seen.lock().map(|mut seen| seen.push(key)).is_ok();
        assert!(note(key));
        let start = BlockStart::Text;
        sink.push(Delta::BlockStarted { index: 0, start }).await;
        sink.push(Delta::BlockEnded { index: 0 }).await;
        Ok(ReplyEnd::new(FinishReason::Stop))
    }
}

fn keys(text: &str) -> MasterKeys {
    MasterKeys::parse(text).expect("master keys")
}

fn new_key() -> String {
    let key = MasterKeys::generate().expect("random numbers");
    key.expose().to_owned()
}

fn engine(journal: &Arc<MemoryJournal>, keys: Option<MasterKeys>) -> (Keyed, Engine) {
    let model = Keyed::default();
    let engine = Engine::builder(Arc::clone(journal) as Arc<dyn Journal>)
        .model("provider", Arc::new(model.clone()))
        .master_keys(keys)
        .build();
    (model, engine)
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

fn place(entry: &str, secret: &str) -> SecretPlace {
    SecretPlace::new(EntryKind::ProviderKey, &name(entry), secret)
}

async fn add_users(engine: &Engine) {
    let directory = engine.directory().expect("a directory");
    for user in ["ann", "ben"] {
        let added = directory.add_user(&"admin".into(), name(user), None).await;
        added.expect("a user");
    }
}

async fn set(engine: &Engine, user: &str, key: &str) -> Result<(), DirectoryError> {
    let directory = engine.directory().expect("a directory");
    let (by, provider, key) = ("admin".into(), "provider".into(), Credential::new(key));
    let user = name(user);
    let set = directory.set_provider_key(&by, &user, &provider, &key);
    set.await.map(drop)
}

fn session(text: &str) -> SessionId {
    SessionId::parse(text).expect("a session")
}

/// Runs a turn of this principal.
async fn ask(engine: &Engine, of: &str, principal: &str) -> TurnEnd {
    let options = TurnOptions {
        caller: Some(Arc::new(caller(principal))),
        ..options()
    };
    let message = SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user("hello"))),
        options,
        session: session(of),
    };
    let report = engine.send(message, &mut ()).await;
    report.expect("a turn").end
}

#[test]
fn a_secret_opens_at_its_place_alone() {
    let keys = keys(&new_key());
    let secret = Credential::new("sk-secret");
    let sealed = keys.seal(&place("ann", "key"), &secret).expect("sealed");
    assert!(!format!("{sealed:?}{keys:?}{secret:?}").contains("sk-secret"));
    assert!(!sealed.sealed.windows(9).any(|bytes| bytes == b"sk-secret"));
    let opened = keys.open(&place("ann", "key"), &sealed).expect("opened");
    assert_eq!(opened.expose(), "sk-secret");
    for other in [place("ben", "key"), place("ann", "key2"), {
        SecretPlace::new(EntryKind::User, &name("ann"), "key")
    }] {
        let opened = keys.open(&other, &sealed);
        assert!(
            matches!(opened, Err(SecretError::Damaged { .. })),
            "{other:?}"
        );
    }
    for at in 0..sealed.sealed.len() {
        let mut changed = sealed.clone();
        let mut bytes = sealed.sealed.to_vec();
        bytes[at] ^= 1;
        changed.sealed = bytes.as_slice().into();
        assert!(keys.open(&place("ann", "key"), &changed).is_err(), "{at}");
        changed.sealed = sealed.sealed[..at].into();
        assert!(keys.open(&place("ann", "key"), &changed).is_err(), "{at}");
    }
    // Equal secrets have different forms.
    let again = keys.seal(&place("ann", "key"), &secret).expect("sealed");
    assert_ne!(again.sealed, sealed.sealed);
}

#[test]
fn master_keys_are_32_bytes() {
    let (one, other) = (new_key(), new_key());
    assert_eq!(keys(&format!("{one}\n{other}\n")).ids().len(), 2);
    for wrong in [
        "",
        " \n",
        "short",
        &one[1..],
        &format!("{one} x"),
        &format!("{one}AAAA"),
    ] {
        let error = MasterKeys::parse(wrong).expect_err(wrong);
        assert!(error.to_string().contains("secrets new-key"), "{error}");
    }
}

#[tokio::test]
async fn a_change_of_the_master_key_leaves_no_secret_behind() {
    let journal = Arc::new(MemoryJournal::new());
    let (old, new) = (new_key(), new_key());
    let (_, before) = engine(&journal, Some(keys(&old)));
    add_users(&before).await;
    set(&before, "ann", "sk-ann").await.expect("set");
    set(&before, "ben", "sk-ben").await.expect("set");
    for missing in [None, Some(keys(&new))] {
        let (_, wrong) = engine(&journal, missing);
        let error = wrong.check_secrets().await.expect_err("no such key");
        assert!(matches!(error, SecretError::UnknownKey { .. }), "{error:?}");
        assert!(error.to_string().contains("[secrets]"), "{error}");
    }
    let (_, both) = engine(&journal, Some(keys(&format!("{new} {old}"))));
    both.check_secrets().await.expect("both are there");
    let rotated = both.rotate_secrets().await.expect("rotated");
    let expected = |changed, unchanged| SecretRotation { changed, unchanged };
    assert_eq!(rotated, expected(2, 0));
    assert_eq!(both.rotate_secrets().await.expect("again"), expected(0, 2));
    let (_, after) = engine(&journal, Some(keys(&new)));
    after.check_secrets().await.expect("the new one is enough");
    for (user, key) in [("ann", "sk-ann"), ("ben", "sk-ben")] {
        let found = after
            .own_credential(&format!("user:{user}"), "provider")
            .await;
        let found = found.expect("opened").map(|key| key.expose().to_owned());
        assert_eq!(found.as_deref(), Some(key));
    }
    let (_, before) = engine(&journal, Some(keys(&old)));
    let refused = before.own_credential("user:ann", "provider").await;
    let refused = refused.expect_err("the old one opens nothing");
    assert!(!refused.message.contains("sk-ann"), "{refused:?}");
}

#[tokio::test]
async fn each_persons_turns_use_that_persons_key() {
    let journal = Arc::new(MemoryJournal::new());
    let (model, engine) = engine(&journal, Some(keys(&new_key())));
    add_users(&engine).await;
    set(&engine, "ann", "sk-ann-0123456789abcdef")
        .await
        .expect("set");
    for (of, principal) in [
        ("a", "user:ann"),
        ("b", "user:ben"),
        ("c", "local"),
        ("d", "user:ann/x"),
    ] {
        assert_eq!(
            ask(&engine, of, principal).await,
            TurnEnd::Answered(FinishReason::Stop)
        );
    }
    let anns = Some("sk-ann-0123456789abcdef".to_owned());
    assert_eq!(model.seen(), [anns.clone(), None, None, anns]);
    // Whose key it was is recorded, and not the key.
    for (of, expected) in [("a", &["provider"][..]), ("b", &[])] {
        let loaded = journal.load(&session(of)).await.expect("a session");
        assert!(!format!("{loaded:?}").contains("sk-ann"), "{of}");
        let mut facts = loaded.steps.iter().flat_map(|step| &step.facts);
        let Some(Fact::TurnOpened { setup, .. }) = facts.next() else {
            panic!("no turn in {of}");
        };
        let own: Vec<&str> = setup.own_keys.iter().map(|name| &**name).collect();
        assert_eq!(own, expected, "{of}");
    }
    set(&engine, "ann", "sk-new-0123456789abcdef")
        .await
        .expect("set");
    let directory = engine.directory().expect("a directory");
    ask(&engine, "e", "user:ann").await;
    let removed = directory
        .remove_provider_key(&"ann".into(), &name("ann"), "provider")
        .await;
    removed.expect("removed");
    ask(&engine, "f", "user:ann").await;
    let news = Some("sk-new-0123456789abcdef".to_owned());
    assert_eq!(model.seen()[4..], [news, None]);
    assert_eq!(engine.secret_counts().await.expect("counted").len(), 0);
    let query = ChangeQuery {
        limit: 3,
        ..ChangeQuery::default()
    };
    let changes = directory.changes(&query).await.expect("changes");
    let actions = changes
        .iter()
        .map(|(_, change)| (change.action, &*change.by));
    let expected = [
        (ChangeAction::Removed, "ann"),
        (ChangeAction::Changed, "admin"),
        (ChangeAction::Created, "admin"),
    ];
    assert!(actions.eq(expected), "{changes:?}");
    assert!(!format!("{changes:?}").contains("sk-"), "{changes:?}");
}

#[tokio::test]
async fn without_a_master_key_no_secret_is_taken() {
    let journal = Arc::new(MemoryJournal::new());
    let (_, engine) = engine(&journal, None);
    add_users(&engine).await;
    let refused = set(&engine, "ann", "sk-ann").await.expect_err("no key");
    assert!(
        refused.to_string().contains("jackfield secrets new-key"),
        "{refused}"
    );
    engine.check_secrets().await.expect("there are none");
}

#[tokio::test]
async fn a_person_sees_no_keys_of_others() {
    let journal = Arc::new(MemoryJournal::new());
    let (_, engine) = engine(&journal, Some(keys(&new_key())));
    let directory = engine.directory().expect("a directory");
    // Names of which one begins like another.
    for user in ["ann", "ann-b", "ann.c", "an"] {
        let added = directory.add_user(&"admin".into(), name(user), None).await;
        added.expect("a user");
        set(&engine, user, &format!("sk-of-{user}-0123456789"))
            .await
            .expect("set");
    }
    for user in ["ann", "ann-b", "ann.c", "an"] {
        let keys = directory.provider_keys(&name(user)).await.expect("keys");
        let users = keys.iter().map(|(key, _)| key.user.as_str());
        assert!(users.eq([user]), "{keys:?}");
    }
    for wrong in ["", "a b", "a\n", &"k".repeat(5000)] {
        let refused = set(&engine, "ann", wrong).await;
        assert!(matches!(refused, Err(DirectoryError::NoKey)), "{wrong:?}");
    }
    let missing = set(&engine, "cid", "sk-x").await;
    assert!(matches!(missing, Err(DirectoryError::Missing { .. })));
}
