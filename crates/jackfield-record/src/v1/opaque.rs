//! Forms of opaque state, its owners and extensions.

use std::sync::Arc;

use jackfield_domain::block::OpaqueBlock;
use jackfield_domain::digest::Digest;
use jackfield_domain::opaque::{Extension, OpaqueState, StateOwner, StateScope};
use serde_json::Value;

stored_struct! { Extension as ExtensionForm { dialect: Arc<str>, path: String, json: Value } }

stored_struct! { OpaqueBlock as OpaqueBlockForm {
    owner: StateOwner, kind: Arc<str>, json: Value; maybe fallback: Arc<str>
} }

stored_struct! { OpaqueState as OpaqueStateForm {
    owner: StateOwner, scope: StateScope, kind: Arc<str>, json: Value
} }

stored_struct! { StateOwner as StateOwnerForm {
    dialect: Arc<str>, endpoint: Arc<str>, model: Arc<str>
} }

stored_enum! { StateScope as StateScopeForm { Block, Prefix(digest: Digest), Reply } }
