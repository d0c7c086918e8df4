//! The context windows that providers list for their models, for compaction.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::request::ModelRef;
use jackfield_ports::chat_model::ChatModel;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// The windows that were listed, by provider. Each provider is asked once, and again after a while if it did not list
/// the model.
#[derive(Debug, Default)]
pub(crate) struct ListedWindows(Mutex<HashMap<Arc<str>, Listing>>);

#[derive(Debug)]
struct Listing {
    asked: Instant,
    windows: HashMap<Arc<str>, u64>,
}

impl ListedWindows {
    /// The window that a provider lists for this model.
    pub(crate) async fn find(&self, model: &ModelRef, provider: &dyn ChatModel) -> Option<u64> {
        // Turns that need the same list wait for it together.
        let mut listings = self.0.lock().await;
        if let Some(listing) = listings.get(&model.provider) {
            let window = listing.windows.get(&model.model).copied();
            if window.is_some() || listing.asked.elapsed() < ASK_AGAIN {
                return window;
            }
        }
        let listed = timeout(TIME_LIMIT, provider.models()).await;
        // Without a list, a conversation that gets too long is compacted when the provider refuses it.
        let listed = listed.ok().and_then(Result::ok);
        let models = listed.unwrap_or_default().into_iter();
        let windows: HashMap<Arc<str>, u64> = models
            .filter_map(|model| Some((model.id, model.context?)))
            .collect();
        let window = windows.get(&model.model).copied();
        let listing = Listing {
            asked: Instant::now(),
            windows,
        };
        listings.insert(Arc::clone(&model.provider), listing);
        window
    }
}

/// The time limit for the list.
const TIME_LIMIT: Duration = Duration::from_secs(2);
/// The pause after which a list without the model is asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(600);
