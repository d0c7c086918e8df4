//! Our ids for the calls of a client's conversation.

use std::collections::{HashMap, HashSet};

use jackfield_domain::block::UpstreamId;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::ToolCallId;
use jackfield_domain::opaque::StateOwner;

/// Which of our ids stands for which of the client's.
#[derive(Debug)]
pub struct ClientIds<'a> {
    latest: HashMap<String, ToolCallId>,
    owner: &'a StateOwner,
    taken: HashSet<ToolCallId>,
}

impl<'a> ClientIds<'a> {
    /// A table for the conversation of a client; its own ids are kept as this owner's.
    #[must_use]
    pub fn new(owner: &'a StateOwner) -> Self {
        Self {
            latest: HashMap::new(),
            owner,
            taken: HashSet::new(),
        }
    }

    /// The id of the next call: the client's where it has the form of ours and is not taken.
    pub fn of_call(&mut self, text: &str) -> (ToolCallId, Option<UpstreamId>) {
        let plain = ToolCallId::parse(text)
            .ok()
            .filter(|id| !self.taken.contains(id));
        let (id, upstream) = match plain {
            Some(id) => (id, None),
            None => {
                let upstream = UpstreamId {
                    id: text.into(),
                    owner: self.owner.clone(),
                };
                (self.derived(text), Some(upstream))
            }
        };
        self.taken.insert(id.clone());
        self.latest.insert(text.to_owned(), id.clone());
        (id, upstream)
    }

    /// The id of the call that a result answers: the last one under that text.
    #[must_use]
    pub fn of_result(&self, text: &str) -> ToolCallId {
        match self.latest.get(text) {
            Some(id) => id.clone(),
            None => ToolCallId::parse(text).unwrap_or_else(|_| self.derived(text)),
        }
    }

    /// A stable id for a text, and another one each time that it comes again.
    fn derived(&self, text: &str) -> ToolCallId {
        let mut digest = Digest::of_parts(["client call", text]);
        loop {
            let hex = digest.to_hex();
            // Five and twenty-four characters that every id may have.
            if let Ok(id) = ToolCallId::parse(&format!("call_{}", &hex[..24]))
                && !self.taken.contains(&id)
            {
                return id;
            }
            digest = Digest::of_parts(["client call", &hex]);
        }
    }
}
