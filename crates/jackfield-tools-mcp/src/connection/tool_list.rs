//! Requests the list of a server's tools, page by page.

use std::sync::atomic::Ordering;

use rmcp::model::{ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::ServerConnection;
use crate::answer::RequestError;
use crate::clock::after;
use crate::config::{ClientSettings, ServerConfig};
use crate::listing::{Listing, PartialList};
use crate::mirrored::MirroredArguments;

impl ServerConnection {
    /// Requests all tools of the server. Definitions whose text equals that in the previous list are not parsed
    /// again.
    ///
    /// # Errors
    ///
    /// Why there is no list, in a sentence.
    pub(crate) async fn list_tools(
        &self,
        config: &ServerConfig,
        settings: &ClientSettings,
        previous: Option<&Listing>,
    ) -> Result<Listing, String> {
        let deadline = after(settings.list_limit);
        let (changes, nth) = (self.changes(), self.next_listing_number());
        let mut partial = PartialList::new(previous, self.mirrors_arguments());
        let mut cursor: Option<String> = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
            let answer = match self.request(request, left).await {
                Ok(answer) => answer,
                Err(RequestError::Closed) => return Err(self.exit_reason().await),
                Err(RequestError::Failed(failure)) => return Err(failure.to_string()),
                Err(RequestError::Late) => {
                    return Err(format!(
                        "it did not list its tools within {} s",
                        settings.list_limit.as_secs_f64()
                    ));
                }
                // A server without tools need not support `tools/list`.
                Err(RequestError::Refused(error))
                    if error.code == ErrorCode::METHOD_NOT_FOUND && !self.has_tools() =>
                {
                    break;
                }
                Err(RequestError::Unreadable(why)) => {
                    return Err(format!("its list of tools cannot be read: {why}"));
                }
                Err(refused @ RequestError::Refused(_)) => {
                    return Err(format!("it does not list its tools: {refused}"));
                }
            };
            if let Some(sent) = answer.cut_from {
                return Err(format!("its list of tools is too long: {sent} bytes"));
            }
            cursor = partial
                .add_page(&answer.text, config, settings)
                .map_err(|error| format!("its list of tools cannot be read: {error}"))?;
            if cursor.is_none() {
                break;
            }
        }
        let lifetime = (!self.announces_changes()).then_some(settings.list_lifetime);
        Ok(partial.finish(changes, nth, lifetime))
    }

    /// The arguments of a call that its request repeats in headers.
    pub(crate) async fn mirrored(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> MirroredArguments {
        if !self.mirrors_arguments() {
            return MirroredArguments::default();
        }
        let listing = self.listing.read().await.clone();
        let mut defined = listing.iter().flat_map(|listing| listing.defined.iter());
        let found = defined.find(|one| *one.tool.name == *tool);
        let found = found.map(|one| MirroredArguments::of(&one.definition, arguments));
        found.unwrap_or_default()
    }

    /// Forgets the list, as the headers of a call did not fit it. The call was refused because of that.
    pub(crate) async fn forget_list(&self) {
        *self.listing.write().await = None;
        self.headers_refused.store(true, Ordering::SeqCst);
    }

    /// Whether a call was refused because of its headers since this was last asked.
    pub(crate) fn take_refused_headers(&self) -> bool {
        self.headers_refused.swap(false, Ordering::SeqCst)
    }

    /// Whether this list of it is still valid by its time to live or its list changes.
    pub(crate) fn is_fresh(&self, listing: &Listing) -> bool {
        listing.is_fresh(self.changes(), self.announces_changes())
    }
}
