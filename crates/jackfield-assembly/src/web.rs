//! The configuration of web APIs as tools.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use http::HeaderName;
use jackfield_tools_web::WebTool;
use url::Url;

use crate::place::ValueSource;

/// The web APIs that are tools.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Web {
    /// Those of found files, by name. They reach public addresses only, get no variables, and their claims about
    /// effects are not trusted.
    pub found: BTreeMap<Arc<str>, WebApi>,
    /// Whether pages can be read as text.
    pub read_pages: bool,
    /// The web search.
    pub search: Option<WebSearch>,
    /// The prefix of the names of the user's own, instead of `web__`.
    pub prefix: Option<Arc<str>>,
    /// The user's own, by name.
    pub tools: BTreeMap<Arc<str>, WebApi>,
}

impl Web {
    /// Whether there is a web API that is a tool.
    #[must_use]
    pub fn has_apis(&self) -> bool {
        !(self.tools.is_empty() && self.found.is_empty())
    }
}

/// The configuration of the web search.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct WebSearch {
    /// The search engine.
    pub engine: EngineKind,
    /// The environment variable with its key; `None` for the usual one.
    pub key_env: Option<Arc<str>>,
    /// Where it is configured.
    pub place: ValueSource,
    /// The address of the server, instead of the vendor's own.
    pub url: Option<Url>,
}

/// A search engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EngineKind {
    /// Brave Search.
    Brave,
    /// A server of SearXNG, without a key.
    SearXng,
    /// SerpAPI.
    SerpApi,
    /// Tavily.
    Tavily,
}

impl WebSearch {
    /// The environment variable with its key.
    #[must_use]
    pub fn variable(&self) -> Arc<str> {
        let usual = match self.engine {
            EngineKind::Brave => "BRAVE_API_KEY",
            EngineKind::SearXng => "",
            EngineKind::SerpApi => "SERPAPI_API_KEY",
            EngineKind::Tavily => "TAVILY_API_KEY",
        };
        self.key_env.clone().unwrap_or_else(|| usual.into())
    }
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
/// The toolbox of the web search and of pages.
pub(crate) const INTERNET: &str = "internet";
/// The toolbox of the user's own APIs.
pub(crate) const OWN: &str = "web";
