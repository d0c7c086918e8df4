//! A process that is gone: ours or that of Claude Code was killed.

use jackfield_domain::outcome::ToolResult;
use jackfield_testservers::script::ScriptTurn;

use crate::calls::{check_resumed, two_calls};
use crate::harness::{Talk, World};

#[tokio::test]
async fn a_process_that_was_killed_while_it_waited_is_resumed() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let model = world.model();
    let mut talk = Talk::new("Add and look!");
    talk.go_on(&model).await;
    world.kill_last().await;
    talk.results([ToolResult::text("2"), ToolResult::text("3")]);
    let end = talk.go_on(&model).await;
    assert_eq!(end.notes, []);
    check_resumed(&world);
}

#[tokio::test]
async fn another_process_of_ours_resumes_from_the_record_alone() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let mut talk = Talk::new("Add and look!");
    let model = world.model();
    talk.go_on(&model).await;
    drop(model);
    world.all_ended().await;
    talk.results([ToolResult::text("2"), ToolResult::text("3")]);
    talk.go_on(&world.model()).await;
    check_resumed(&world);
}

#[tokio::test]
async fn without_its_session_the_calls_and_results_are_told_as_text() {
    let world = World::new([two_calls(), ScriptTurn::text("Done.")]).await;
    let model = jackfield_provider_claude_code::ClaudeCode::new(world.config("forgets"));
    let mut talk = Talk::new("Add and look!");
    talk.go_on(&model).await;
    world.kill_last().await;
    talk.results([ToolResult::text("2"), ToolResult::error("nothing there")]);
    let end = talk.go_on(&model).await;
    assert_eq!(end.notes.len(), 1);
    let content = &world.server.requests()[1]["messages"][0]["content"];
    let transcript = content[0]["text"].as_str().unwrap();
    for part in [
        "of the tool add with {\"a\":1}]",
        ":]\n2\n",
        ":]\nnothing there\n",
    ] {
        assert!(transcript.contains(part), "{part} in {transcript}");
    }
}

#[tokio::test]
async fn a_round_that_is_dropped_ends_its_process() {
    let world = World::new([ScriptTurn::text("A long answer.").stall_after(2)]).await;
    let model = world.model();
    let talk = Talk::new("Hello!");
    let asking = talk.ask(&model);
    let sent = async { world.server.server().request(0).await };
    tokio::select! {
        asked = asking => panic!("{asked:?}"),
        _ = sent => {}
    }
    world.all_ended().await;
}
