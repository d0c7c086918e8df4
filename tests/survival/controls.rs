//! Controls: a judge that finds nothing proves nothing. Without recovery turns are lost; where every call
//! that was started is run again, payments are made twice; and where the file is an older copy of itself,
//! what was told is gone, and what was finished is run again.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::deaths::{TIME_LIMIT, When, live};
use crate::judge::{Judge, Survived};
use crate::table;
use crate::world::World;

#[tokio::test]
async fn without_recovery_turns_are_lost() {
    let table = table::all(KILLS.iter().copied(), |when| async move {
        let world = World::new().await;
        let mut judge = Judge::new(&world, format!("{when:?}"));
        judge.asks(when).await;
        judge.verdict().await
    })
    .await;
    println!("\nControl: recovery is switched off\n{table}");
    assert_eq!(table.verdict.turns_lost.len(), KILLS.len());
}

#[tokio::test]
async fn where_every_started_call_is_run_again_payments_are_made_twice() {
    let table = table::all(KILLS.iter().copied(), run_again).await;
    println!("\nControl: every call that was started is run again\n{table}");
    assert!(table.verdict.run_twice.len() >= 3);
    assert!(table.verdict.turns_lost.is_empty());
}

async fn run_again(when: When) -> Survived {
    let policy = "[policy]\nunknown = \"retry\"\n[policy.tools]\n\"bank/*\" = \"allow\"";
    let world = World::with(policy).await;
    let mut judge = Judge::new(&world, format!("{when:?}"));
    judge.asks(when).await;
    judge.until_it_ends().await;
    judge.verdict().await
}

#[tokio::test]
async fn where_the_file_is_an_older_copy_what_was_told_is_gone() {
    let world = World::new().await;
    let mut judge = Judge::new(&world, "an older copy");
    judge.asks(When::At("after-append", 2)).await;
    let copy = world.copied();
    judge.resumes(When::At("before-append", 4)).await;
    world.put_back(&copy);
    judge.resumes(When::Never).await;
    let verdict = judge.verdict().await.verdict;
    assert!(!verdict.finished_run_again.is_empty(), "{verdict:?}");
    // The journal says of itself that it is whole; whoever was told more knows better.
    let world = World::new().await;
    let mut judge = Judge::new(&world, "an older copy");
    judge.asks(When::At("after-append", 1)).await;
    let copy = world.copied();
    let program = world.resume(When::At("before-append", 4).crash().as_deref());
    let life = live(program, When::Never).await;
    world.put_back(&copy);
    judge.lives(life, When::Never).await;
    let verdict = judge.verdict().await.verdict;
    assert!(!verdict.facts_lost.is_empty(), "{verdict:?}");
}

#[tokio::test]
async fn where_a_call_has_no_result_the_transcript_is_invalid() {
    let world = World::new().await;
    let mut judge = Judge::new(&world, "a program that forgets a result");
    judge.asks(When::Never).await;
    // As a program would send it that goes on from a journal without the end of a call.
    let body = json!({
        "model": "claude-opus-5-5",
        "max_tokens": 100,
        "messages": [
            { "role": "user", "content": "Pay." },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "toolu_1", "name": "bank__pay", "input": {} },
            ] },
            { "role": "user", "content": "Well?" },
        ],
    });
    assert!(send(&world, &body).await.starts_with("HTTP/1.1 400"));
    let verdict = judge.verdict().await.verdict;
    println!("\nControl: a call without a result\n{:?}", verdict.invalid);
    let unpaired = |broken: &String| broken.contains("without `tool_result` blocks");
    assert!(verdict.invalid.iter().any(unpaired), "{verdict:?}");
}

/// Sends the provider a request past the program; what it answers.
async fn send(world: &World, body: &Value) -> String {
    let address = world.claude.base_url();
    let address = address.trim_start_matches("http://").trim_end_matches('/');
    let body = body.to_string();
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\nx-api-key: key\r\n\
         anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it hears");
    let mut answer = vec![0; 1024];
    let read = timeout(TIME_LIMIT, stream.read(&mut answer)).await;
    let length = read.expect("it answers in time").expect("it answers");
    answer.truncate(length);
    String::from_utf8_lossy(&answer).into_owned()
}

/// While calls run.
const KILLS: &[When] = &[
    When::At("during-tool", 1),
    When::At("during-tool", 3),
    When::At("during-tool", 4),
    When::At("after-tool", 3),
    When::At("after-tool", 4),
    When::At("during-tool", 5),
    When::At("during-tool", 6),
];
