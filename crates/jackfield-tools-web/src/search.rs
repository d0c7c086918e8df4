//! Search engines behind one interface: Tavily, SerpAPI, Brave Search and SearXNG.

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jackfield_provider_kit::guarded::GuardedRequest;
use jackfield_provider_kit::secret::Secret;
use serde_json::{Value, json};
use url::Url;

use crate::page::text_of_html;

/// A search engine, with what it needs.
#[derive(Clone, Debug)]
pub enum SearchEngine {
    /// Brave Search, with its key.
    Brave(Secret),
    /// A server of SearXNG, whose settings permit JSON (`search.formats`).
    SearXng(Url),
    SerpApi(Secret),
    Tavily(Secret),
}

/// A page that a search found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct FoundPage {
    /// When it was published, as the engine says it.
    pub(crate) published: Option<String>,
    pub(crate) text: String,
    pub(crate) title: String,
    pub(crate) url: String,
}

impl SearchEngine {
    /// Its key, which results must not contain.
    pub(crate) const fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Brave(key) | Self::SerpApi(key) | Self::Tavily(key) => Some(key),
            Self::SearXng(_) => None,
        }
    }

    /// The request of a search. `base` replaces the vendor's address in tests.
    ///
    /// # Errors
    ///
    /// A sentence about a key or an address that cannot be sent.
    pub(crate) fn request(
        &self,
        base: Option<&Url>,
        query: &str,
        most: usize,
    ) -> Result<GuardedRequest, String> {
        let unsendable = |_| "the key of the search engine cannot be sent".to_owned();
        let most_text = most.to_string();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let (own, path): (&str, &str) = match self {
            // api-dashboard.search.brave.com, "Web Search", read 2026-11.
            Self::Brave(_) => ("https://api.search.brave.com", "res/v1/web/search"),
            // docs.searxng.org, "Search API", read 2026-11.
            Self::SearXng(url) => (url.as_str(), "search"),
            // serpapi.com, "Google Search API", read 2026-11.
            Self::SerpApi(_) => ("https://serpapi.com", "search.json"),
            // docs.tavily.com, "Tavily Search", read 2026-11.
            Self::Tavily(_) => ("https://api.tavily.com", "search"),
        };
        let mut url = match base {
            Some(base) => base.clone(),
            None => Url::parse(own).map_err(|error| error.to_string())?,
        };
        url.path_segments_mut()
            .map_err(|()| "the address of the search engine has no path".to_owned())?
            .pop_if_empty()
            .extend(path.split('/'));
        let (mut method, mut body) = (Method::GET, Bytes::new());
        match self {
            Self::Brave(key) => {
                let token = HeaderName::from_static("x-subscription-token");
                headers.insert(token, key.header_value("").map_err(unsendable)?);
                let pairs = [("q", query), ("count", &most_text)];
                url.query_pairs_mut().extend_pairs(pairs);
            }
            Self::SearXng(_) => {
                let pairs = [("q", query), ("format", "json")];
                url.query_pairs_mut().extend_pairs(pairs);
            }
            Self::SerpApi(key) => {
                let pairs = [
                    ("engine", "google"),
                    ("q", query),
                    ("api_key", key.expose()),
                ];
                url.query_pairs_mut().extend_pairs(pairs);
            }
            Self::Tavily(key) => {
                headers.insert(
                    AUTHORIZATION,
                    key.header_value("Bearer ").map_err(unsendable)?,
                );
                let json = HeaderValue::from_static("application/json");
                headers.insert(CONTENT_TYPE, json);
                method = Method::POST;
                body = json!({ "query": query, "max_results": most })
                    .to_string()
                    .into();
            }
        }
        Ok(GuardedRequest {
            body,
            headers,
            method,
            url,
        })
    }

    /// The pages of an answer, at most this many. Entries without an address are left out.
    pub(crate) fn pages(&self, answer: &Value, most: usize) -> Vec<FoundPage> {
        let (list, url, text, published) = match self {
            Self::Brave(_) => (&answer["web"]["results"], "url", "description", "age"),
            Self::SearXng(_) => (&answer["results"], "url", "content", "publishedDate"),
            Self::SerpApi(_) => (&answer["organic_results"], "link", "snippet", "date"),
            Self::Tavily(_) => (&answer["results"], "url", "content", "published_date"),
        };
        let pages = list.as_array().into_iter().flatten().filter_map(|entry| {
            let field = |name: &str| {
                let text = entry[name].as_str()?;
                // Brave marks the words that were searched for.
                let is_marked = matches!(self, Self::Brave(_)) && name != "url";
                Some(if is_marked {
                    text_of_html(text)
                } else {
                    text.to_owned()
                })
            };
            Some(FoundPage {
                published: field(published),
                text: field(text).unwrap_or_default(),
                title: field("title").unwrap_or_default(),
                url: field(url).filter(|url| !url.is_empty())?,
            })
        });
        pages.take(most).collect()
    }
}
