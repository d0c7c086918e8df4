//! Entries of the directory, and the changes to them.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryName, KeySecret, OwnEndpoint,
    OwnServer, ProviderKey, ServerOwner, SignIn, Team, User,
};
use jackfield_domain::price::Money;
use jackfield_domain::quota::{Amount, MeterOperation, Quota};
use jackfield_domain::time::WallTime;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::fact::wall_time;
use super::text::text;

/// The name of an entry.
pub fn entry_name() -> impl Strategy<Value = EntryName> + Clone {
    "[a-z0-9][a-z0-9._@+-]{0,20}"
        .prop_filter_map("a valid name", |text| EntryName::parse(&text).ok())
}

/// A quota.
pub fn quota() -> impl Strategy<Value = Quota> + Clone {
    let budget = || option::weighted(0.3, 1..1_000_u64);
    (
        (option::of(1..9_u32), option::of(1..100_u32)),
        (budget(), budget(), budget(), budget(), budget()),
        any::<bool>(),
    )
        .prop_map(|((parallel, requests_per_minute), budgets, unpriced)| {
            let (cost_per_day, cost_per_month, tokens_per_day, tokens_per_minute, tokens_per_month) =
                budgets;
            Quota {
                cost_per_day: cost_per_day.map(Money::from_picos),
                cost_per_month: cost_per_month.map(Money::from_picos),
                parallel,
                requests_per_minute,
                tokens_per_day,
                tokens_per_minute,
                tokens_per_month,
                unpriced,
            }
        })
}

/// A user.
pub fn directory_user() -> impl Strategy<Value = User> + Clone {
    let parts = (
        any::<bool>(),
        entry_name(),
        option::of(quota()),
        option::of(entry_name()),
    );
    parts.prop_map(|(is_disabled, name, quota, team)| User {
        is_disabled,
        name,
        quota,
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
    let flags = (any::<bool>(), any::<bool>());
    (times, names, lists, flags, option::of(quota()))
        .prop_map(
            |((expires, revoked), (id, label, user), lists, flags, quota)| {
                let (models, tools, secrets) = lists;
                let (has_no_approvals, is_admin) = flags;
                ClientKey {
                    expires,
                    has_no_approvals,
                    id,
                    is_admin,
                    label,
                    models,
                    quota,
                    revoked,
                    secrets,
                    tools,
                    user,
                }
            },
        )
        .boxed()
}

/// An MCP server of a user or a team.
fn own_server() -> impl Strategy<Value = OwnServer> + Clone {
    let endpoint = prop_oneof![
        text().prop_map(OwnEndpoint::Http),
        text().prop_map(OwnEndpoint::Program),
    ];
    let owner = prop_oneof![
        entry_name().prop_map(ServerOwner::Team),
        entry_name().prop_map(ServerOwner::User),
    ];
    let flags = (any::<bool>(), any::<bool>());
    let name = "[a-z0-9][a-z0-9_-]{0,20}";
    (endpoint, owner, flags, name, vec(text(), 0..3)).prop_map(
        |(endpoint, owner, (is_disabled, is_removed), name, secrets)| OwnServer {
            endpoint,
            is_disabled,
            is_removed,
            name: name.into(),
            owner,
            secrets,
        },
    )
}

/// A change to the directory.
pub fn directory_change() -> impl Strategy<Value = DirectoryChange> + Clone {
    let entry = prop_oneof![
        client_key().prop_map(DirectoryEntry::Key),
        (any::<bool>(), text(), entry_name(), entry_name()).prop_map(
            |(is_removed, hint, provider, user)| DirectoryEntry::ProviderKey(ProviderKey {
                hint,
                is_removed,
                provider: provider.as_str().into(),
                user,
            })
        ),
        own_server().prop_map(DirectoryEntry::Server),
        (own_server(), entry_name(), any::<bool>(), any::<bool>()).prop_map(
            |(server, user, is_pending, is_removed)| DirectoryEntry::SignIn(SignIn {
                identity: server.identity(),
                is_pending,
                is_removed,
                owner: server.owner,
                server: server.name,
                user,
            })
        ),
        (entry_name(), option::of(quota()))
            .prop_map(|(name, quota)| DirectoryEntry::Team(Team { name, quota })),
        directory_user().prop_map(DirectoryEntry::User),
    ];
    let action = select(
        &[
            ChangeAction::Changed,
            ChangeAction::Created,
            ChangeAction::Disabled,
            ChangeAction::Enabled,
            ChangeAction::Removed,
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

/// An operation on a few meters, so many seconds after a fixed time.
pub fn meter_operation(seconds: i64) -> impl Strategy<Value = MeterOperation> + Clone {
    let id = (0..6_u8).prop_map(|id| Arc::from(format!("request {id}")));
    let now = WallTime::from_millis(1_800_000_000_000 + seconds * 1000);
    let until = now.after(Duration::from_secs(60));
    let names = || subsequence(vec!["key:a", "key:b", "team:t", "user:u"], 1..4);
    let quotas = (names(), vec(quota(), 4)).prop_map(|(names, quotas)| {
        let names = names.into_iter().map(Arc::from);
        names.zip(quotas).collect::<Vec<_>>()
    });
    let amounts = vec((0..200_u64, 0..200_u64), 4);
    let settled = (names(), amounts).prop_map(|(names, amounts)| {
        let names = names.into_iter().map(Arc::from);
        let amounts = amounts
            .into_iter()
            .map(|(cost, tokens)| amount(cost, tokens));
        names.zip(amounts).collect::<Vec<_>>()
    });
    let meters = || names().prop_map(|names| names.into_iter().map(Arc::from).collect());
    prop_oneof![
        4 => (id.clone(), quotas.clone()).prop_map(move |(id, quotas)| MeterOperation::Admit {
            id,
            now,
            quotas,
            until,
        }),
        3 => (id.clone(), quotas.clone(), (0..300_u64, 0..300_u64)).prop_map(
            move |(id, quotas, (cost, tokens))| MeterOperation::Reserve {
                amount: amount(cost, tokens),
                at: now,
                id,
                quotas,
            }
        ),
        2 => (id.clone(), settled.clone(), settled, 0..90_i64).prop_map(move |(id, replaced, settled, days)| {
            MeterOperation::Settle {
                at: WallTime::from_millis(now.as_millis() - days * 86_400_000),
                id,
                replaced,
                settled,
            }
        }),
        1 => meters().prop_map(|meters| MeterOperation::Look { meters }),
        1 => select(&["key:a", "key:b"][..]).prop_map(|name| MeterOperation::Correct {
            meter: name.into(),
            seen: [None, None],
            totals: [None, None],
        }),
        1 => (id.clone(), meters()).prop_map(|(id, meters)| MeterOperation::Release { id, meters }),
        1 => (id, meters()).prop_map(move |(id, meters)| MeterOperation::Renew { id, meters, until }),
    ]
    .boxed()
}

fn amount(cost: u64, tokens: u64) -> Amount {
    Amount {
        cost: Money::from_picos(cost),
        tokens,
    }
}
