//! The wire ids of a conversation's calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::request::ModelRequest;

/// The required form of call ids.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IdForm {
    /// The form of ours: at most 40 of `[A-Za-z0-9_-]`. The provider's own ids are sent in their original form.
    #[default]
    Usual,
    /// Nine letters and digits, as Mistral's models require.
    NineAlphanumeric,
}

impl IdForm {
    fn fits(self, id: &str) -> bool {
        match self {
            Self::Usual => true,
            Self::NineAlphanumeric => {
                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        }
    }

    /// An id of this form, as a hash of a text.
    fn derive(self, text: &str) -> Arc<str> {
        let digest = Digest::of_parts(["wire call", text]).to_hex();
        match self {
            Self::Usual => format!("call_{}", &digest[..24]).into(),
            Self::NineAlphanumeric => digest[..9].into(),
        }
    }
}

/// A unique wire id for every call.
#[derive(Debug)]
pub struct WireIds(HashMap<ToolCallId, Arc<str>>);

impl WireIds {
    /// Uses the owner's own ids if it assigned any, and ours for the rest; all of this form. Later calls change none.
    #[must_use]
    pub fn new(request: &ModelRequest, owner: &StateOwner, form: IdForm) -> Self {
        let known = request.upstream_ids(owner);
        let mut taken: HashSet<Arc<str>> = HashSet::new();
        let mut ids = HashMap::new();
        for call in request.messages.iter().flat_map(|message| message.calls()) {
            if ids.contains_key(&call.id) {
                continue;
            }
            // An upstream id may equal an earlier call's id: a client's that we adopted.
            let is_free = |id: &&Arc<str>| form.fits(id) && !taken.contains(*id);
            let own = known.get(&call.id).filter(is_free).cloned();
            let mut id = own.unwrap_or_else(|| call.id.as_str().into());
            while taken.contains(&id) || !form.fits(&id) {
                id = form.derive(&id);
            }
            taken.insert(Arc::clone(&id));
            ids.insert(call.id.clone(), id);
        }
        Self(ids)
    }

    /// The wire id of a call.
    #[must_use]
    pub fn wire_id(&self, call: &ToolCallId) -> String {
        let known = self.0.get(call).map(|id| &**id);
        known.unwrap_or(call.as_str()).to_owned()
    }
}
