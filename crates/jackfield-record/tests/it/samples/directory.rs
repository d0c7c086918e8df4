//! Changes to the directory.

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ChangeAction, ClientKey, DirectoryChange, DirectoryEntry, EntryName, KeySecret, OwnEndpoint,
    OwnServer, ProviderKey, ServerOwner, SignIn, Team, User,
};
use jackfield_domain::price::Money;
use jackfield_domain::quota::Quota;
use jackfield_domain::time::WallTime;

/// A change of each kind of entry, with every field.
pub(crate) fn directory_changes() -> [(&'static str, DirectoryChange); 7] {
    let at = WallTime::from_millis(1_790_000_000_123);
    let quota = Quota {
        cost_per_day: Some(Money::from_picos(2_500_000_000_000)),
        cost_per_month: Some(Money::from_picos(40_000_000_000_001)),
        parallel: Some(4),
        requests_per_minute: Some(60),
        tokens_per_day: Some(1_000_000),
        tokens_per_minute: Some(100_000),
        tokens_per_month: Some(20_000_000),
        unpriced: false,
    };
    let key = ClientKey {
        expires: Some(at),
        has_no_approvals: true,
        id: name("k0123456789ab"),
        is_admin: true,
        label: "the laptop".into(),
        models: Some(vec!["gpt-*".into(), "fast".into()]),
        quota: Some(quota),
        revoked: Some(at),
        secrets: vec![
            KeySecret {
                digest: Digest::of(b"new"),
                until: None,
            },
            KeySecret {
                digest: Digest::of(b"old"),
                until: Some(at),
            },
        ],
        tools: Some(Vec::new()),
        user: name("ann@example.com"),
    };
    let user = User {
        is_disabled: true,
        name: name("ann@example.com"),
        quota: Some(quota),
        team: Some(name("research")),
    };
    let team = Team {
        name: name("research"),
        quota: Some(quota),
    };
    let provider_key = ProviderKey {
        hint: "7f3a".into(),
        is_removed: true,
        provider: "openai".into(),
        user: name("ann@example.com"),
    };
    let server = OwnServer {
        endpoint: OwnEndpoint::Http("https://mcp.example/mcp".into()),
        is_disabled: true,
        is_removed: true,
        name: "tracker".into(),
        owner: ServerOwner::User(name("ann@example.com")),
        secrets: vec!["Authorization".into()],
    };
    let program = OwnServer {
        endpoint: OwnEndpoint::Program("files".into()),
        is_disabled: false,
        is_removed: false,
        name: "files".into(),
        owner: ServerOwner::Team(name("research")),
        secrets: Vec::new(),
    };
    let sign_in = SignIn {
        identity: server.identity(),
        is_pending: true,
        is_removed: true,
        owner: server.owner.clone(),
        server: "tracker".into(),
        user: name("ann@example.com"),
    };
    let change = |action, entry, revision| DirectoryChange {
        action,
        at,
        by: "user:admin".into(),
        entry,
        revision,
    };
    [
        (
            "directory_key",
            change(ChangeAction::Rotated, DirectoryEntry::Key(key), 3),
        ),
        (
            "directory_provider_key",
            change(
                ChangeAction::Removed,
                DirectoryEntry::ProviderKey(provider_key),
                2,
            ),
        ),
        (
            "directory_server",
            change(ChangeAction::Removed, DirectoryEntry::Server(server), 3),
        ),
        (
            "directory_server_program",
            change(ChangeAction::Created, DirectoryEntry::Server(program), 1),
        ),
        (
            "directory_sign_in",
            change(ChangeAction::Created, DirectoryEntry::SignIn(sign_in), 1),
        ),
        (
            "directory_team",
            change(ChangeAction::Created, DirectoryEntry::Team(team), 1),
        ),
        (
            "directory_user",
            change(ChangeAction::Disabled, DirectoryEntry::User(user), 2),
        ),
    ]
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).unwrap_or_else(|error| panic!("{error}"))
}
