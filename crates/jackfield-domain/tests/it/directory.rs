//! The directory: own servers, sign-ins at them, and lookups of clients.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ClientLookup, EntryName, InvalidOwnServer, OwnEndpoint, OwnServer, ServerOwner, SignIn,
};

fn entry_name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

fn server(name: &str, url: &str, secrets: &[&str]) -> OwnServer {
    OwnServer {
        endpoint: OwnEndpoint::Http(url.into()),
        is_disabled: false,
        is_removed: false,
        name: name.into(),
        owner: ServerOwner::User(entry_name("ann")),
        secrets: secrets.iter().map(|name| (*name).into()).collect(),
    }
}

#[test]
fn an_own_server_that_reaches_into_the_environment_is_refused_by_name() {
    let fine = server("github", "https://mcp.example/a", &["Authorization"]);
    assert_eq!(fine.check(), Ok(()));
    for template in ["${HOME}", "{{ env.HOME }}", "$(env)", "{env:HOME}"] {
        let url = format!("https://mcp.example/{template}");
        let refused = server("github", &url, &[]).check().expect_err("a template");
        let refused = refused.to_string();
        assert!(refused.starts_with("the address has `"), "{refused}");
        let refused = OwnServer::check_secret("Authorization", &format!("Bearer {template}"));
        let refused = refused.expect_err("a template").to_string();
        assert!(
            refused.contains("the value of `Authorization` has `"),
            "{refused}"
        );
    }
    assert_eq!(OwnServer::check_secret("K", "cost $5 {x}"), Ok(()));
}

#[test]
fn names_of_own_servers_and_their_secrets_are_checked() {
    for name in ["", "Git", "a/b", "a b", "-a", &"a".repeat(33)] {
        let refused = server(name, "https://mcp.example", &[]).check();
        assert!(
            matches!(refused, Err(InvalidOwnServer::Name(_))),
            "{name:?}"
        );
    }
    for secrets in [&["a b"][..], &[""], &["K", "k"], &["a\nb"]] {
        let refused = server("a", "https://mcp.example", secrets).check();
        assert!(
            matches!(refused, Err(InvalidOwnServer::SecretName(_))),
            "{secrets:?}"
        );
    }
}

#[test]
fn another_address_is_another_server_and_another_key_is_not() {
    let first = server("a", "https://mcp.example/1", &[]);
    let keyed = server("a", "https://mcp.example/1", &["K"]);
    let moved = server("a", "https://mcp.example/2", &[]);
    let bens = OwnServer {
        owner: ServerOwner::User(entry_name("ben")),
        ..first.clone()
    };
    let teams = OwnServer {
        owner: ServerOwner::Team(entry_name("ann")),
        ..first.clone()
    };
    assert_eq!(first.identity(), keyed.identity());
    for other in [&moved, &bens, &teams] {
        assert_ne!(first.identity(), other.identity());
    }
    assert_eq!(first.toolbox(), bens.toolbox());
    assert_ne!(first.toolbox(), teams.toolbox());
}

#[test]
fn a_sign_in_is_at_one_server_of_one_owner_for_one_user() {
    let server = OwnServer {
        endpoint: OwnEndpoint::Http("https://mcp.example/1".into()),
        is_disabled: false,
        is_removed: false,
        name: "tracker".into(),
        owner: ServerOwner::Team(entry_name("ann")),
        secrets: Vec::new(),
    };
    let signed_in = SignIn {
        identity: server.identity(),
        is_pending: false,
        is_removed: false,
        owner: server.owner.clone(),
        server: Arc::clone(&server.name),
        user: entry_name("ben"),
    };
    assert!(signed_in.is_at(&server));
    assert_eq!(signed_in.entry().as_str(), "team:ann/tracker/ben");
    let moved = OwnServer {
        endpoint: OwnEndpoint::Http("https://mcp.example/2".into()),
        ..server.clone()
    };
    let anns = OwnServer {
        owner: ServerOwner::User(entry_name("ann")),
        ..server.clone()
    };
    assert!(!signed_in.is_at(&moved));
    assert!(!signed_in.is_at(&anns));
    for (is_pending, is_removed) in [(true, false), (false, true)] {
        let other = SignIn {
            is_pending,
            is_removed,
            ..signed_in.clone()
        };
        assert!(!other.is_at(&server));
    }
}

#[test]
fn a_lookup_is_read_as_it_was_written() {
    let ann = entry_name("ann@example.com");
    for lookup in [
        ClientLookup::Key(Digest::of(b"secret")),
        ClientLookup::User(ann),
    ] {
        assert_eq!(ClientLookup::parse(&lookup.to_string()), Some(lookup));
    }
    for text in ["", "key", "key:", "key:abc", "user:", "user:Ann", "team:a"] {
        assert_eq!(ClientLookup::parse(text), None, "{text}");
    }
}
