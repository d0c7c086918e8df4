//! Properties that depend on the model.

use std::fmt;
use std::sync::Arc;

/// The properties of a server's models by their names: a table of a dialect, possibly overridden by the
/// configuration.
pub struct ByModel<T>(Arc<dyn Fn(&str) -> T + Send + Sync>);

impl<T> ByModel<T> {
    /// A table with this lookup by name.
    pub fn new(of: impl Fn(&str) -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    /// The same value for every model.
    pub fn always(value: T) -> Self
    where
        T: Clone + Send + Sync + 'static,
    {
        Self::new(move |_| value.clone())
    }

    /// The value for the model with this name.
    #[must_use]
    pub fn get(&self, model: &str) -> T {
        (self.0)(model)
    }

    /// The value for models with unknown names.
    #[must_use]
    pub fn default_value(&self) -> T {
        self.get("")
    }
}

impl<T> Clone for ByModel<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for ByModel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByModel")
            .field(&self.default_value())
            .finish()
    }
}
