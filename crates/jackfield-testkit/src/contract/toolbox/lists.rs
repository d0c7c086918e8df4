//! Clauses about the list of tools.
#![expect(clippy::expect_used, reason = "a clause ends where its toolbox fails")]

use std::collections::BTreeSet;

use jackfield_domain::tool::{InputFormat, ToolSpec};

use super::ToolboxHarness;
use super::scene::ToolboxScene;
use super::threads::with_timeout;

pub(super) async fn the_list_gives_each_tool_once<H: ToolboxHarness>() {
    let tools = list::<H>(&ToolboxScene::begin().await).await;
    let names: BTreeSet<_> = tools.iter().map(|tool| &tool.name).collect();
    assert_eq!(names.len(), tools.len(), "{tools:?}");
    // The harness names an existing tool.
    let working = ToolboxScene::<H>::begin().await.harness.working().tool;
    assert!(names.contains(&working), "`{working}` is not in {names:?}");
}

pub(super) async fn every_schema_is_a_json_object<H: ToolboxHarness>() {
    for tool in list::<H>(&ToolboxScene::begin().await).await {
        match &tool.input {
            InputFormat::Json(schema) => {
                assert!(schema.is_object(), "{}: {schema}", tool.name);
                assert_eq!(schema["type"], "object", "{}: {schema}", tool.name);
            }
            InputFormat::Text(_) => {}
        }
        if let Some(schema) = &tool.output {
            assert!(schema.is_object(), "{}: {schema}", tool.name);
        }
    }
}

pub(super) async fn the_list_stays_the_same<H: ToolboxHarness>() {
    let scene = ToolboxScene::<H>::begin().await;
    let before = list(&scene).await;
    let run = scene.run("call", scene.harness.working());
    scene.result(&run).await;
    let after = list(&scene).await;
    let digests = |tools: &[ToolSpec]| -> Vec<_> { tools.iter().map(ToolSpec::digest).collect() };
    assert_eq!(digests(&before), digests(&after));
    assert_eq!(before, after);
}

async fn list<H: ToolboxHarness>(scene: &ToolboxScene<H>) -> Vec<ToolSpec> {
    with_timeout(scene.toolbox.list()).await.expect("a list")
}
