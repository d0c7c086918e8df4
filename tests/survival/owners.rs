//! Two processes and one session: whose it is, and what becomes of one that was stopped.

use std::fs;

use crate::deaths::When;
use crate::judge::Judge;
use crate::started::Started;
use crate::world::World;

#[tokio::test]
async fn what_a_live_process_drives_no_other_one_takes() {
    let world = World::new().await;
    world.bank_waits();
    let mut first = Started::new(world.ask(None));
    first.until("tool_started", 4).await;
    // Neither a message nor somebody who would recover it gets between.
    let mut judge = Judge::new(&world, "two processes");
    for second in [world.ask(None), world.resume(None)] {
        let second = Started::new(second).end().await;
        assert_ne!(second.code, Some(0), "{second:?}");
        let began = second.told.iter().any(|told| told["event"] == "turn_ended");
        assert!(!began, "{second:?}");
        assert!(second.wrong.contains("is at work on turn"), "{second:?}");
    }
    world.bank_goes_on();
    let first = first.end().await;
    assert_eq!(first.code, Some(0), "{first:?}");
    judge.lives(first, When::Never).await;
    judge.verdict().await.held();
}

#[tokio::test]
async fn a_stopped_process_stays_the_owner_and_goes_on() {
    let world = World::new().await;
    world.bank_waits();
    let mut first = Started::new(world.ask(None));
    first.until("tool_started", 4).await;
    first.signal("-STOP");
    let second = Started::new(world.resume(None)).end().await;
    assert_ne!(second.code, Some(0), "{second:?}");
    assert!(second.wrong.contains("is at work on turn"), "{second:?}");
    first.signal("-CONT");
    world.bank_goes_on();
    let first = first.end().await;
    assert_eq!(first.code, Some(0), "{first:?}");
    let mut judge = Judge::new(&world, "stopped");
    judge.lives(first, When::Never).await;
    judge.verdict().await.held();
}

#[tokio::test]
async fn one_that_lost_its_lock_finds_itself_replaced_and_does_nothing_more() {
    let world = World::new().await;
    world.bank_waits();
    let mut first = Started::new(world.ask(None));
    // What was on its way when it was stopped may land whenever it likes: that is what `unknown` says.
    first.until("tool_progress", 4).await;
    first.signal("-STOP");
    // Such as a file system that forgets its locks: for all others it is dead.
    let owners = world.path("jackfield.db-owners");
    fs::remove_dir_all(owners).expect("there are owners");
    world.bank_goes_on();
    let mut judge = Judge::new(&world, "replaced");
    let (second, kept) = judge.resumes(When::Never).await;
    assert_eq!(second.code, Some(0), "{second:?}");
    assert!(kept.end().is_some());
    let (asked, done) = (world.claude.requests().len(), world.effects().len());
    first.signal("-CONT");
    let first = first.end().await;
    assert_ne!(first.code, Some(0), "{first:?}");
    assert!(
        first.wrong.contains("another process owns the session"),
        "{first:?}"
    );
    assert_eq!(world.claude.requests().len(), asked, "{first:?}");
    assert_eq!(world.effects().len(), done, "{first:?}");
    judge.lives(first, When::Never).await;
    judge.verdict().await.held();
}
