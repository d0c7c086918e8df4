//! The key of a user at a provider.

use std::sync::Arc;

use super::EntryName;

/// A key that a user brings for the requests that a gateway makes for the user at a provider. The key itself is a
/// secret of the entry, and stands elsewhere, encrypted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProviderKey {
    /// The last characters of the key, by which people know it.
    pub hint: Arc<str>,
    /// Whether it was taken away.
    pub is_removed: bool,
    /// The provider, as the configuration of the gateway names it.
    pub provider: Arc<str>,
    /// The user.
    pub user: EntryName,
}

impl ProviderKey {
    /// The name of its entry.
    #[must_use]
    pub fn name(&self) -> EntryName {
        EntryName::of_user(&self.user, &self.provider)
    }
}
