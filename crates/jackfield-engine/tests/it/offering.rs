//! Which tools are offered where both sides have some.

use jackfield_domain::block::RanBy;
use jackfield_domain::fact::{CallEnd, Fact};
use jackfield_engine::{ServerTools, TurnOptions};
use jackfield_testkit::fakes::ScriptedReply;

use crate::background::to_the_end;
use crate::client_tools::{client_tool, results_of, scene, with_lookup};
use crate::fixture::options;

#[tokio::test(start_paused = true)]
async fn only_what_was_offered_can_be_called() {
    let invents = ScriptedReply::calls([("box__act", "{\"n\":1}"), ("lookup", "{}")]);
    let scene = scene([invents, ScriptedReply::text("so be it")]);
    let none = TurnOptions {
        server_tools: ServerTools::None,
        ..options()
    };
    let mut begun = scene.begin(none).await;
    let (facts, _) = to_the_end(&mut begun.watcher).await;
    let ends: Vec<CallEnd> = results_of(&facts).into_iter().map(|(end, _)| end).collect();
    assert_eq!(ends, [CallEnd::NotRun, CallEnd::NotRun]);
    assert_eq!(scene.log.all(), [], "no tool was run");
    assert!(scene.model.requests()[0].tools.is_empty());
    // Whether it breaks rules is not what is tested.
    drop(scene.model.take_violations());
}

#[tokio::test(start_paused = true)]
async fn which_server_tools_are_offered_is_said_by_patterns_and_the_clients_name_wins() {
    let scene = scene([]);
    let offered = async |server_tools: ServerTools, own: &[&str]| -> Vec<(String, RanBy)> {
        let options = TurnOptions {
            client_tools: own.iter().map(|name| client_tool(name)).collect(),
            server_tools,
            ..options()
        };
        let offered = scene.engine.tools(&options).await;
        let tools = offered.catalog.iter();
        tools
            .map(|tool| (tool.definition.name.to_string(), tool.ran_by))
            .collect()
    };
    let act = |by| vec![("box__act".to_owned(), by)];
    let only = |pattern: &str| ServerTools::Only(vec![pattern.into()]);
    assert_eq!(offered(ServerTools::All, &[]).await, act(RanBy::Engine));
    assert_eq!(offered(ServerTools::None, &[]).await, []);
    for (pattern, is_of) in [
        ("*", true),
        ("act", true),
        ("box/*", true),
        ("box/act", true),
        ("box", false),
        ("other/*", false),
        ("box__act", false),
    ] {
        let expected = if is_of {
            act(RanBy::Engine)
        } else {
            Vec::new()
        };
        assert_eq!(offered(only(pattern), &[]).await, expected, "{pattern}");
    }
    let both = offered(ServerTools::All, &["box__act"]).await;
    assert_eq!(both, act(RanBy::Client));
}

#[tokio::test(start_paused = true)]
async fn a_later_turn_can_hold_the_tools_of_the_one_before() {
    let scene = scene([ScriptedReply::text("one"), ScriptedReply::text("two")]);
    let mut first = scene.begin(with_lookup()).await;
    to_the_end(&mut first.watcher).await;
    let facts = scene.facts().await;
    let Some(Fact::TurnOpened { setup, .. }) = facts.first() else {
        panic!("it was opened");
    };
    let mut second = options();
    second.inherit_tools(setup);
    let offered = scene.engine.tools(&second).await;
    assert_eq!(offered.catalog, *setup.catalog);
}
