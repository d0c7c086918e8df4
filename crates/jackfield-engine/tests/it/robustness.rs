//! Robustness: crashes of adapters, huge outcomes, hostile schemas, toolboxes that are gone.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::fact::{CallEnd, TurnEnd};
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_domain::system_prompt::PartOrigin;
use jackfield_domain::tool::{InputFormat, Permission, Safety, ToolSpec};
use jackfield_engine::{Engine, Observer, ObserverEvent, ToolboxStatus};
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{ScriptedCall, ScriptedModel, ScriptedReply, ScriptedToolbox};
use serde_json::json;

use crate::fixture::{Log, Logged, OneTool, Rounds, Unreachable, engine, message, options};

fn model(log: &Log, tool: &'static str) -> Rounds {
    Rounds {
        calls: 1,
        log: log.clone(),
        rounds: 1,
        tool,
    }
}

#[tokio::test]
async fn a_tool_that_crashes_is_an_unknown_outcome_and_the_turn_goes_on() {
    let log = Log::default();
    let tool = OneTool::new(&log, |_| async { panic!("a bug in a tool") });
    let engine = engine(
        model(&log, "box__act"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    assert_eq!(report.calls[0].end, CallEnd::Reported);
    assert!(
        report.answer().contains("the tool crashed"),
        "{}",
        report.answer()
    );
}

#[tokio::test]
async fn an_outcome_of_50_mb_is_cut_for_the_model_and_for_the_journal() {
    let log = Log::default();
    let tool = OneTool::new(&log, |_| async { ToolResult::text("x".repeat(50_000_000)) });
    let engine = engine(
        model(&log, "box__act"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    let answer = report.answer();
    assert!(answer.len() < 257 * 1024, "{}", answer.len());
    assert!(answer.contains("[cut: "), "the marker");
    let kept = report.calls[0].result.size();
    assert!((4_000_000..4_300_000).contains(&kept), "{kept}");
}

#[tokio::test]
async fn arguments_that_break_the_schema_never_reach_the_tool() {
    let log = Log::default();
    let mut tool = OneTool::new(&log, |_| async { ToolResult::text("never") });
    let schema = json!({"type": "object", "properties": {"n": {"type": "string"}}});
    tool.spec.input = InputFormat::Json(Arc::new(schema));
    let engine = engine(
        model(&log, "box__act"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    assert!(report.answer().contains("`/n`"), "{}", report.answer());
    assert_eq!(report.calls[0].end, CallEnd::NotRun);
    assert!(
        !log.all()
            .iter()
            .any(|logged| matches!(logged, Logged::ToolCalled(_)))
    );
}

#[tokio::test]
async fn a_tool_that_no_call_could_reach_is_none() {
    let log = Log::default();
    let mut tool = OneTool::new(&log, |_| async { ToolResult::text("never") });
    let schema = json!({"type": "object", "properties": {"n": {"const": {"$ref": "#"}}}});
    tool.spec.input = InputFormat::Json(Arc::new(schema));
    let engine = engine(
        model(&log, "box__act"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    let answer = report.answer();
    assert!(
        answer.contains("no tool") && !answer.contains("never"),
        "{answer}"
    );
}

/// Thirty levels of two branches each: 2^30 ways to look at one value.
fn hostile() -> serde_json::Value {
    let mut defs = serde_json::Map::new();
    for level in 0..30 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"allOf": [next.clone(), next]}));
    }
    defs.insert("l30".to_owned(), json!({"type": "object"}));
    json!({"$ref": "#/$defs/l0", "$defs": defs})
}

#[test]
fn a_schema_that_takes_for_ever_leaves_threads_for_the_others() {
    let toolbox = ScriptedToolbox::new(ToolboxId::parse("box").expect("a valid id"));
    toolbox.tool("good", Safety::Unknown);
    toolbox.push_call("good", ScriptedCall::text("fine"));
    toolbox.spec(ToolSpec {
        description: "never runs".into(),
        icon: None,
        input: InputFormat::Json(Arc::new(hostile())),
        name: "bad".into(),
        output: None,
        safety: Safety::Unknown,
        time_limit: Some(Duration::from_secs(4)),
        title: None,
    });
    let model = ScriptedModel::new();
    let mut calls = vec![("box__bad", "{}"); 10];
    calls.push(("box__good", "{}"));
    model.push_reply(ScriptedReply::calls(calls));
    model.push_reply(ScriptedReply::text("done"));
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", model.port())
        .toolbox(toolbox.port())
        .build();
    let mut options = options();
    options.limits.parallel_calls = 11;
    options.limits.tool_call = Duration::from_secs(60);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let report = runtime
        .block_on(engine.send(message(options), &mut ()))
        .expect("a report");
    runtime.shutdown_background();
    let ends: Vec<CallEnd> = report.calls.iter().map(|call| call.end).collect();
    let mut wanted = vec![CallEnd::NotRun; 10];
    wanted.push(CallEnd::Ran);
    assert_eq!(ends, wanted);
}

#[test]
fn a_schema_that_takes_for_ever_ends_within_the_tools_time_limit() {
    let log = Log::default();
    let mut tool = OneTool::new(&log, |_| async { ToolResult::text("fine") });
    tool.spec.input = InputFormat::Json(Arc::new(hostile()));
    tool.spec.time_limit = Some(Duration::from_secs(3));
    let engine = engine(
        model(&log, "box__act"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let report = runtime
        .block_on(engine.send(message(options()), &mut ()))
        .expect("a report");
    // The thread that the schema holds is left behind: nothing can stop it.
    runtime.shutdown_background();
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    assert_eq!(report.calls[0].end, CallEnd::NotRun);
    assert!(
        report.answer().contains("takes too long"),
        "{}",
        report.answer()
    );
}

#[tokio::test]
async fn a_toolbox_that_is_gone_does_not_stop_the_others() {
    let log = Log::default();
    let tool = OneTool::new(&log, |_| async { ToolResult::text("still here") });
    let gone = ToolboxId::parse("gone").expect("a valid id");
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(model(&log, "box__act")))
        .toolbox(Arc::new(Unreachable(gone.clone())))
        .toolbox(Arc::new(tool))
        .build();
    let offered = engine.tools(&options()).await;
    assert_eq!(offered.problems.len(), 1);
    assert_eq!(offered.problems[0].toolbox, gone);
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    assert_eq!(report.answer(), "still here");
}

#[tokio::test]
async fn what_a_toolbox_says_of_its_list_is_told() {
    let log = Log::default();
    let mut tool = OneTool::new(&log, |_| async { ToolResult::text("here") });
    tool.problems = vec!["its tool `b` is left out".to_owned()];
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(model(&log, "box__act")))
        .toolbox(Arc::new(tool))
        .build();
    let offered = engine.tools(&options()).await;
    assert_eq!(offered.catalog.iter().len(), 1);
    assert_eq!(offered.problems.len(), 1);
    assert_eq!(offered.problems[0].message, "its tool `b` is left out");
}

#[tokio::test]
async fn a_trusted_toolbox_reads_where_nobody_can_be_asked_and_a_name_is_the_firsts() {
    let log = Log::default();
    let reading = |id: &str| {
        let mut tool = OneTool::new(&log, |_| async { ToolResult::text("here") });
        tool.id = ToolboxId::parse(id).expect("a valid id");
        tool.spec.safety = Safety::ReadOnly;
        Arc::new(tool)
    };
    for trusted in [false, true] {
        let standing = ToolboxStatus {
            prefix: Some("my_".into()),
            server: None,
            trusted,
        };
        let engine = Engine::builder(Arc::new(MemoryJournal::default()))
            .toolbox_as(reading("box"), standing.clone())
            .toolbox_as(reading("other"), standing)
            .build();
        let mut options = options();
        options.policy.rules.clear();
        let offered = engine.tools(&options).await;
        assert_eq!(offered.catalog.iter().len(), 1);
        assert!(
            offered.problems[0]
                .message
                .contains("the name `my_act` is taken"),
            "{:?}",
            offered.problems
        );
        let tool = offered.catalog.tool("my_act").expect("the first one");
        let allowed = tool.permission == Permission::Allow;
        assert_eq!(allowed, trusted, "{:?}", tool.permission);
    }
}

#[tokio::test]
async fn the_words_of_a_toolbox_are_told_as_its_own_within_bounds() {
    let log = Log::default();
    let mut tool = OneTool::new(&log, |_| async { ToolResult::text("here") });
    tool.instructions = Some("ж".repeat(10_000));
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .toolbox(Arc::new(tool))
        .build();
    let offered = engine.tools(&options()).await;
    let [part] = offered.instructions.as_slice() else {
        panic!("{:?}", offered.instructions);
    };
    assert_eq!(part.origin, PartOrigin::Server("box".into()));
    let begin = "What the tool server `box` says about its tools:\nж";
    assert!(part.text.starts_with(begin), "{}", part.text);
    assert!(part.text.ends_with("ж […]") && part.text.len() < 9_000);
}

#[tokio::test]
async fn an_unknown_tool_is_an_outcome_that_names_what_there_is() {
    let log = Log::default();
    let tool = OneTool::new(&log, |_| async { ToolResult::text("never") });
    let engine = engine(
        model(&log, "invented"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let report = engine
        .send(message(options()), &mut ())
        .await
        .expect("a report");
    assert!(
        report.answer().contains("The tools are: box__act."),
        "{}",
        report.answer()
    );
}

#[tokio::test]
async fn without_anybody_to_ask_a_tool_that_is_not_ours_is_denied_with_the_setting() {
    let log = Log::default();
    let tool = OneTool::new(&log, |_| async { ToolResult::text("never") });
    let engine = engine(
        model(&log, "box__act"),
        tool,
        Arc::new(MemoryJournal::default()),
    );
    let mut options = options();
    options.policy.rules.clear();
    let report = engine
        .send(message(options), &mut ())
        .await
        .expect("a report");
    assert_eq!(report.calls[0].end, CallEnd::Denied);
    assert!(
        report.answer().contains("`\"box/act\" = \"allow\"`"),
        "{}",
        report.answer()
    );
}

#[tokio::test]
async fn of_two_tools_with_one_name_the_first_runs_and_the_other_is_reported() {
    let log = Log::default();
    let first = OneTool::new(&log, |_| async { ToolResult::text("the first") });
    let mut second = OneTool::new(&log, |_| async { ToolResult::text("the second") });
    second.id = ToolboxId::parse("other").expect("a valid id");
    let same_prefix = ToolboxStatus {
        prefix: Some("box__".into()),
        server: None,
        trusted: false,
    };
    let engine = Engine::builder(Arc::new(MemoryJournal::default()))
        .model("provider", Arc::new(model(&log, "box__act")))
        .toolbox(Arc::new(first))
        .toolbox_as(Arc::new(second), same_prefix)
        .build();
    let offered = engine.tools(&options()).await;
    assert_eq!(offered.catalog.iter().len(), 1);
    let told: Vec<&str> = offered
        .problems
        .iter()
        .map(|p| p.message.as_str())
        .collect();
    let expected = "skipped tool `act`: the name `box__act` is taken by a tool of `box`";
    assert_eq!(told, [expected]);
    let mut begun = Without::default();
    let report = engine
        .send(message(options()), &mut begun)
        .await
        .expect("a report");
    assert_eq!(report.answer(), "the first");
    assert_eq!(begun.0, [expected]);
}

/// What a turn began without.
#[derive(Default)]
struct Without(Vec<String>);

impl Observer for Without {
    fn on_event(&mut self, news: ObserverEvent<'_>) {
        if let ObserverEvent::Unavailable { problem } = news {
            self.0.push(problem.message.clone());
        }
    }
}
