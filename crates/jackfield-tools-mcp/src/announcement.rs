//! What a server announces of its resources and prompts.

use std::sync::Arc;

use jackfield_ports::context_source::ContextChange;
use serde_json::Value;

#[derive(Clone, Debug)]
pub(crate) enum ContextAnnouncement {
    /// The server has accepted a subscription of the newer era.
    Accepted {
        /// The id of its request; null from a server that leaves it out.
        subscription: Value,
        /// The resources whose changes it announces.
        uris: Arc<[Arc<str>]>,
    },
    Changed(ContextChange),
}

impl ContextAnnouncement {
    /// Reads a notification; `None` if it announces nothing, or cannot be read.
    pub(crate) fn read(method: &str, params: Value) -> Option<Self> {
        match method {
            "notifications/prompts/list_changed" => Some(Self::Changed(ContextChange::Prompts)),
            "notifications/resources/list_changed" => Some(Self::Changed(ContextChange::Resources)),
            "notifications/resources/updated" => {
                let uri = params.get("uri")?.as_str()?.into();
                Some(Self::Changed(ContextChange::Resource(uri)))
            }
            "notifications/subscriptions/acknowledged" => {
                let uris = params.pointer("/notifications/resourceSubscriptions");
                let uris = uris.and_then(Value::as_array).into_iter().flatten();
                let uris = uris.filter_map(Value::as_str).map(Arc::from).collect();
                let subscription = params.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION));
                Some(Self::Accepted {
                    subscription: subscription.cloned().unwrap_or_default(),
                    uris,
                })
            }
            _ => None,
        }
    }
}

/// How many announcements a watch may be late before it counts all as changed.
pub(crate) const ANNOUNCEMENTS: usize = 256;
/// The key in `_meta` of a subscription's messages for the id of its request (MCP 2026-07-28).
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
