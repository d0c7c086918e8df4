//! What depends on the model that is asked.

use std::fmt;
use std::sync::Arc;

/// What is known of the models of a server, by their names: a table of a dialect, perhaps with what is
/// configured over it.
pub struct ByModel<T>(Arc<dyn Fn(&str) -> T + Send + Sync>);

impl<T> ByModel<T> {
    /// What this says of a name.
    pub fn new(of: impl Fn(&str) -> T + Send + Sync + 'static) -> Self {
        Self(Arc::new(of))
    }

    /// The same for every model.
    pub fn always(value: T) -> Self
    where
        T: Clone + Send + Sync + 'static,
    {
        Self::new(move |_| value.clone())
    }

    /// What is known of the model of this name.
    #[must_use]
    pub fn of(&self, model: &str) -> T {
        (self.0)(model)
    }

    /// What is known of models whose names say nothing.
    #[must_use]
    pub fn usual(&self) -> T {
        self.of("")
    }
}

impl<T> Clone for ByModel<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for ByModel<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByModel").field(&self.usual()).finish()
    }
}
