//! What stands for `web` in a build without that feature.

/// Nothing: this program was built without web APIs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Web {}

impl Web {
    /// Whether there is a web API that is a tool.
    #[must_use]
    pub const fn has_apis(&self) -> bool {
        false
    }
}

pub(crate) const FOUND: &str = "web-project";
pub(crate) const OWN: &str = "web";
