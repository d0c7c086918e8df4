//! Which server tools a request uses: below the token, of its assistant, as offered or asked for.

use jackfield_domain::request::ModelRef;
use jackfield_engine::{ServerTools, TurnOptions};
use jackfield_gateway::AssistantConfig;
use jackfield_gateway::tools::{permitted, select};

/// `all`, `none`, or patterns with commas.
fn tools(text: &str) -> ServerTools {
    match text {
        "all" => ServerTools::All,
        "none" => ServerTools::None,
        patterns => ServerTools::Only(patterns.split(',').map(Into::into).collect()),
    }
}

fn assistant(of: &str) -> AssistantConfig {
    let model = ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    };
    let mut options = TurnOptions::new(model);
    options.server_tools = tools(of);
    AssistantConfig::new("one", options)
}

#[test]
fn a_request_uses_what_it_asks_for_or_what_is_offered_below_what_is_permitted() {
    for (token, offered, header, has_own, used) in [
        ("all", "none", None, false, "none"),
        ("all", "none", Some("all"), false, "all"),
        ("all", "a/*", None, false, "a/*"),
        ("all", "a/*", Some("b/*"), false, "b/*"),
        ("all", "a/*", Some("none"), false, "none"),
        ("all", "all", None, true, "none"),
        ("all", "none", Some("a/*"), true, "a/*"),
        ("a/*", "all", None, false, "a/*"),
        ("a/*", "b/*", None, false, "none"),
        ("a/*", "a/x,b/y", None, false, "a/x"),
        ("none", "all", Some("all"), false, "none"),
    ] {
        let chosen = select(&tools(token), &tools(offered), header, has_own);
        let case = format!("{token} {offered} {header:?} {has_own}");
        assert_eq!(chosen.expect("a selection"), tools(used), "{case}");
    }
    assert!(select(&ServerTools::All, &ServerTools::None, Some("a,,b"), false).is_err());
}

#[test]
fn a_token_and_an_assistant_are_each_a_ceiling() {
    for (token, of, both) in [
        ("all", "all", "all"),
        ("all", "a/*", "a/*"),
        ("a/x", "a/*", "a/x"),
        ("b/*", "a/*", "none"),
        ("none", "all", "none"),
        ("all", "none", "none"),
    ] {
        let named = assistant(of);
        assert_eq!(permitted(&tools(token), Some(&named)), tools(both));
        assert_eq!(permitted(&tools(token), None), tools(token));
    }
}
