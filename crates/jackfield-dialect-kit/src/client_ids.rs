//! Assigns our ids to the calls of a client's conversation.

use std::collections::{HashMap, HashSet};

use jackfield_domain::block::UpstreamId;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::StateOwner;

/// The mapping from the client's ids to ours.
#[derive(Debug)]
pub struct ClientIds<'a> {
    /// The digest of the last id derived for each text.
    derived: HashMap<String, Digest>,
    latest: HashMap<String, ToolCallId>,
    owner: &'a StateOwner,
    used: HashSet<ToolCallId>,
}

impl<'a> ClientIds<'a> {
    /// A mapping for a client's conversation; the client's ids are kept as opaque state of this owner.
    #[must_use]
    pub fn new(owner: &'a StateOwner) -> Self {
        Self {
            derived: HashMap::new(),
            latest: HashMap::new(),
            owner,
            used: HashSet::new(),
        }
    }

    /// The id of the next call: the client's if it has the form of ours and is not taken.
    pub fn register_call(&mut self, text: &str) -> (ToolCallId, Option<UpstreamId>) {
        let plain = ToolCallId::parse(text)
            .ok()
            .filter(|id| !self.used.contains(id));
        let (id, upstream) = match plain {
            Some(id) => (id, None),
            None => {
                let upstream = UpstreamId {
                    id: text.into(),
                    owner: self.owner.clone(),
                };
                (self.derive(text), Some(upstream))
            }
        };
        self.used.insert(id.clone());
        self.latest.insert(text.to_owned(), id.clone());
        (id, upstream)
    }

    /// The id of the call that a result answers: the last one with that text.
    #[must_use]
    pub fn resolve_result(&self, text: &str) -> ToolCallId {
        match self.latest.get(text) {
            Some(id) => id.clone(),
            None => ToolCallId::parse(text).unwrap_or_else(|_| self.derived(text).0),
        }
    }

    /// A stable id for a text; a new one for each repetition.
    fn derive(&mut self, text: &str) -> ToolCallId {
        let (id, digest) = self.derived(text);
        self.derived.insert(text.to_owned(), digest);
        id
    }

    /// The next id for a text, and its digest.
    fn derived(&self, text: &str) -> (ToolCallId, Digest) {
        let first = || Digest::of_parts(["client call", text]);
        // Continues from the last digest: some clients give all their calls the same id.
        let mut digest = self.derived.get(text).copied().unwrap_or_else(first);
        loop {
            let hex = digest.to_hex();
            // Five and twenty-four characters that are valid in every id.
            if let Ok(id) = ToolCallId::parse(&format!("call_{}", &hex[..24]))
                && !self.used.contains(&id)
            {
                return (id, digest);
            }
            digest = Digest::of_parts(["client call", &hex]);
        }
    }
}
