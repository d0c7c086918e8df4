//! The ids under which the calls of a conversation are sent.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;

/// One wire id for every call, and no id for two of them.
#[derive(Debug)]
pub(crate) struct Ids(HashMap<ToolCallId, Arc<str>>);

impl Ids {
    /// The owner's own ids where it gave one, ours for the rest.
    pub(crate) fn of(request: &ModelRequest, owner: &StateOwner) -> Self {
        let known = request.upstream_ids(owner);
        let mut taken: HashSet<Arc<str>> = known.values().cloned().collect();
        let mut ids = known;
        for call in request.messages.iter().flat_map(|message| message.calls()) {
            if ids.contains_key(&call.id) {
                continue;
            }
            // Ours may be somebody's upstream id: a client's id that we took as it was.
            let mut id: Arc<str> = call.id.as_str().into();
            while taken.contains(&id) {
                let digest = Digest::of_parts(["wire call", &id]).to_hex();
                id = format!("call_{}", &digest[..24]).into();
            }
            taken.insert(Arc::clone(&id));
            ids.insert(call.id.clone(), id);
        }
        Self(ids)
    }

    /// The wire id of a call.
    pub(crate) fn of_call(&self, call: &ToolCallId) -> String {
        let known = self.0.get(call).map(|id| &**id);
        known.unwrap_or(call.as_str()).to_owned()
    }
}
