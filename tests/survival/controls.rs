//! Controls: a judge that finds nothing proves nothing. Without recovery turns are lost; where every call
//! that was started is run again, payments are made twice; and where the file is an older copy of itself,
//! what was told is gone, and what was finished is run again.

use crate::deaths::{When, live};
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
