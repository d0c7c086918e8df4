//! The web search and the reading of pages in the configuration: when they are offered.

use jackfield_assembly::{Environment, Registry};

use crate::world::World;

/// The tools besides the built-in ones that this text of the user's own file offers, with these variables.
async fn offered(text: &str, variables: &[(&'static str, &'static str)]) -> Vec<String> {
    let config = World::new().with_user(text).load().unwrap();
    let environment: Environment = variables.iter().copied().collect();
    let assembled = Registry::default().assemble(&config, &environment).unwrap();
    let offered = assembled.engine.tools(&assembled.options).await;
    let tools = offered.catalog.iter();
    let tools = tools.filter(|tool| tool.origin.toolbox.as_str() != "builtin");
    tools.map(|tool| tool.definition.name.to_string()).collect()
}

#[tokio::test]
async fn a_search_is_offered_with_its_key_alone() {
    let search: &[&str] = &["web_search"];
    for (text, variables, tools) in [
        ("", &[("TAVILY_API_KEY", "k")][..], &[][..]),
        (
            "web.search.engine = 'tavily'",
            &[("TAVILY_API_KEY", "k")],
            search,
        ),
        (
            "web.search.engine = 'tavily'",
            &[("TAVILY_API_KEY", " ")],
            &[],
        ),
        ("web.search.engine = 'tavily'", &[("", "")], &[]),
        (
            "[web.search]\nengine = 'brave'",
            &[("BRAVE_API_KEY", "k")],
            search,
        ),
        (
            "[web.search]\nengine = 'serpapi'",
            &[("SERPAPI_API_KEY", "k")],
            search,
        ),
        (
            "[web.search]\nengine = 'tavily'\napi_key_env = 'MINE'",
            &[("MINE", "k")],
            search,
        ),
        (
            "[web.search]\nengine = 'searxng'\nurl = 'http://localhost:8888'",
            &[("", "")],
            search,
        ),
        ("web.read_pages = true", &[("", "")], &["read_page"]),
    ] {
        assert_eq!(offered(text, variables).await, tools, "{text}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, expected) in [
        (
            "[web.search]\nengine = 'gogle'",
            "2: key `web.search.engine`: `gogle` is unknown",
        ),
        (
            "[web.search]\nurl = 'ftp://a'",
            "2: key `web.search.url`: an address with http:// or https:// is expected",
        ),
    ] {
        let found = World::new().with_user(text).problems();
        let expected = format!("~/.config/jackfield/jackfield.toml:{expected}");
        assert!(found[0].starts_with(&expected), "{found:?}");
    }
}

#[test]
fn a_found_file_gives_no_access_to_the_internet() {
    for text in ["web.read_pages = true", "[web.search]\nengine = 'tavily'"] {
        let found = World::new().with_project(text).problems();
        let said = "a file that was merely found gives models no access to the internet";
        assert!(found[0].contains(said), "{found:?}");
    }
}
