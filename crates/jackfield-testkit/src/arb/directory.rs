//! Entries of the directory, and the changes to them.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryName, KeySecret, Team, User,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::fact::wall_time;
use super::text::text;

/// The name of an entry.
pub fn entry_name() -> impl Strategy<Value = EntryName> + Clone {
    "[a-z0-9][a-z0-9._@+-]{0,20}"
        .prop_filter_map("a valid name", |text| EntryName::parse(&text).ok())
}

/// A user.
pub fn directory_user() -> impl Strategy<Value = User> + Clone {
    let parts = (any::<bool>(), entry_name(), option::of(entry_name()));
    parts.prop_map(|(is_disabled, name, team)| User {
        is_disabled,
        name,
        team,
    })
}

/// A key.
pub fn client_key() -> impl Strategy<Value = ClientKey> + Clone {
    let secret =
        (any::<[u8; 32]>(), option::of(wall_time())).prop_map(|(bytes, until)| KeySecret {
            digest: Digest::from_bytes(bytes),
            until,
        });
    let patterns = || option::of(vec(text(), 0..3));
    let times = (option::of(wall_time()), option::of(wall_time()));
    let names = (entry_name(), text(), entry_name());
    let lists = (patterns(), patterns(), vec(secret, 0..3));
    (times, names, lists, any::<bool>())
        .prop_map(|((expires, revoked), (id, label, user), lists, is_admin)| {
            let (models, tools, secrets) = lists;
            ClientKey {
                expires,
                id,
                is_admin,
                label,
                models,
                revoked,
                secrets,
                tools,
                user,
            }
        })
        .boxed()
}

/// A change to the directory.
pub fn directory_change() -> impl Strategy<Value = DirectoryChange> + Clone {
    let entry = prop_oneof![
        client_key().prop_map(DirectoryEntry::Key),
        entry_name().prop_map(|name| DirectoryEntry::Team(Team { name })),
        directory_user().prop_map(DirectoryEntry::User),
    ];
    let action = select(
        &[
            ChangeAction::Changed,
            ChangeAction::Created,
            ChangeAction::Disabled,
            ChangeAction::Enabled,
            ChangeAction::Revoked,
            ChangeAction::Rotated,
        ][..],
    );
    let by: BoxedStrategy<Arc<str>> = text().boxed();
    (action, wall_time(), by, entry, 1..u64::from(u32::MAX))
        .prop_map(|(action, at, by, entry, revision)| DirectoryChange {
            action,
            at,
            by,
            entry,
            revision,
        })
        .boxed()
}
