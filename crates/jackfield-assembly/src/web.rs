//! The configuration of web APIs as tools.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use jackfield_tools_web::WebTool;

use crate::place::ValueSource;

/// The web APIs that are tools.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Web {
    /// Those of found files, by name. They reach public addresses only, get no variables, and their claims about
    /// effects are not trusted.
    pub found: BTreeMap<Arc<str>, WebApi>,
    /// The prefix of the names of the user's own, instead of `web__`.
    pub prefix: Option<Arc<str>>,
    /// The user's own, by name.
    pub tools: BTreeMap<Arc<str>, WebApi>,
}

/// A web API that is a tool.
#[derive(Clone)]
#[non_exhaustive]
pub struct WebApi {
    /// Headers as written, with `${NAME}` in them.
    pub headers: Vec<(HeaderName, Arc<str>)>,
    /// Where it is configured.
    pub place: ValueSource,
    /// The rest of its configuration, validated.
    pub tool: WebTool,
}

impl fmt::Debug for WebApi {
    /// Omits the values of headers: some are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebApi")
            .field("tool", &self.tool)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// The toolbox of APIs from found files.
pub(crate) const FOUND: &str = "web-project";
/// The toolbox of the user's own APIs.
pub(crate) const OWN: &str = "web";
