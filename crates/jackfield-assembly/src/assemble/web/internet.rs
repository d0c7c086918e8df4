//! Makes the toolbox of the web search and of pages.

use std::sync::Arc;

use jackfield_domain::ids::ToolboxId;
use jackfield_ports::toolbox_source::{RegisteredToolbox, ToolboxStatus};
use jackfield_provider_kit::guarded::Allowed;
use jackfield_provider_kit::secret::Secret;
use jackfield_tools_web::{InternetTools, SearchEngine};

use super::apis;
use crate::config::Config;
use crate::place::{ConfigProblem, Origin};
use crate::surroundings::Environment;
use crate::web::{EngineKind, INTERNET, WebSearch};

/// Adds the toolbox, if it is configured and has a tool. A search engine without its key is left out, and the log
/// says why.
pub(super) fn join(
    config: &Config,
    environment: &Environment,
    toolboxes: &mut Vec<RegisteredToolbox>,
) -> Result<(), ConfigProblem> {
    let web = &config.web;
    if web.search.is_none() && !web.read_pages {
        return Ok(());
    }
    let id = ToolboxId::parse(INTERNET)
        .map_err(|error| ConfigProblem::new(Origin::Default.into(), error.to_string()))?;
    let mut tools = InternetTools::new(id);
    if let Some(search) = &web.search {
        let mut allowed = config.network.allow_private.clone();
        // A person configured this address, and it is usually one of this machine.
        if let Some(host) = search.url.as_ref().and_then(|url| url.host_str()) {
            let _named = allowed.allow(host.trim_matches(['[', ']']));
        }
        match engine(search, environment)? {
            Some(engine) => {
                let client = apis::client(config, allowed, true)?;
                tools = tools.searching(engine, client);
                if let (Some(url), false) = (&search.url, search.engine == EngineKind::SearXng) {
                    tools = tools.at(url.clone());
                }
            }
            None => {
                let variable = search.variable();
                tracing::warn!(%variable, "web_search has no key, and is not offered");
            }
        }
    }
    if web.read_pages {
        // A model chooses the addresses, so they are public ones.
        tools = tools.reading_pages(apis::client(config, Allowed::default(), false)?);
    }
    let standing = ToolboxStatus {
        prefix: Some("".into()),
        server: None,
        trusted: true,
    };
    toolboxes.push(RegisteredToolbox {
        status: standing,
        toolbox: Arc::new(tools),
    });
    Ok(())
}

/// The search engine with its key; `None` without a key.
fn engine(
    search: &WebSearch,
    environment: &Environment,
) -> Result<Option<SearchEngine>, ConfigProblem> {
    let wrong = |message: &str| ConfigProblem::new(search.place.clone(), message);
    if search.engine == EngineKind::SearXng {
        let url = search.url.clone();
        let url =
            url.ok_or_else(|| wrong("`url` is missing: the address of the SearXNG server"))?;
        return Ok(Some(SearchEngine::SearXng(url)));
    }
    let key = match environment.get(&search.variable()) {
        None => return Ok(None),
        Some(Err(_)) => return Err(wrong("the key of the search engine is not UTF-8")),
        Some(Ok(key)) if key.trim().is_empty() => return Ok(None),
        Some(Ok(key)) => Secret::new(&key),
    };
    Ok(Some(match search.engine {
        EngineKind::Brave => SearchEngine::Brave(key),
        EngineKind::SerpApi => SearchEngine::SerpApi(key),
        EngineKind::SearXng | EngineKind::Tavily => SearchEngine::Tavily(key),
    }))
}
