//! Opaque state of several owners.

use jackfield_domain::block::OpaqueBlock;
use jackfield_domain::digest::Digest;
use jackfield_domain::opaque::{Extension, OpaqueState, StateOwner, StateScope};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::text::{json, text};

/// An owner: one of a few, so that owners repeat.
pub fn state_owner() -> impl Strategy<Value = StateOwner> + Clone {
    let dialect = select(&["claude", "openai-chat", "openai-responses"][..]);
    let endpoint = select(&["https://api.example", "http://127.0.0.1:8080"][..]);
    let model = select(&["model-a", "model-b"][..]);
    (dialect, endpoint, model)
        .prop_map(|(dialect, endpoint, model)| StateOwner {
            dialect: dialect.into(),
            endpoint: endpoint.into(),
            model: model.into(),
        })
        .boxed()
}

/// A piece of opaque state of any scope.
pub fn opaque_state() -> impl Strategy<Value = OpaqueState> + Clone {
    let kind = select(&["signature", "encrypted_content", "item_id"][..]);
    let scope = prop_oneof![
        2 => Just(StateScope::Block),
        1 => Just(StateScope::Reply),
        1 => any::<[u8; 32]>().prop_map(|bytes| StateScope::Prefix(Digest::from_bytes(bytes))),
    ];
    (kind, json(), state_owner(), scope)
        .prop_map(|(kind, json, owner, scope)| OpaqueState {
            kind: kind.into(),
            json,
            owner,
            scope,
        })
        .boxed()
}

/// The opaque states of a block or message: at most one of each kind and owner.
pub fn opaque_states() -> impl Strategy<Value = Vec<OpaqueState>> + Clone {
    let some = vec(opaque_state(), 1..3).prop_map(|states| {
        let mut kept: Vec<OpaqueState> = Vec::new();
        for state in states {
            if !kept
                .iter()
                .any(|known| known.kind == state.kind && known.owner == state.owner)
            {
                kept.push(state);
            }
        }
        kept
    });
    prop_oneof![3 => Just(Vec::new()), 1 => some].boxed()
}

/// An opaque block.
pub fn opaque_block() -> impl Strategy<Value = OpaqueBlock> + Clone {
    let kind = select(&["container_upload", "mcp_list_tools"][..]);
    (option::of(text()), json(), kind, state_owner())
        .prop_map(|(fallback, json, kind, owner)| OpaqueBlock {
            fallback,
            json,
            kind: kind.into(),
            owner,
        })
        .boxed()
}

/// An extension of one dialect.
pub fn extension() -> impl Strategy<Value = Extension> + Clone {
    let dialect = select(&["claude", "openai-chat", "openai-responses"][..]);
    let path = select(&["/custom_a", "/custom_b"][..]);
    (dialect, path, json())
        .prop_map(|(dialect, path, json)| Extension {
            dialect: dialect.into(),
            path: path.into(),
            json,
        })
        .boxed()
}
