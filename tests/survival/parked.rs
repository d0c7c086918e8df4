//! A turn that never comes further is left to a person.

use crate::deaths::{When, live};
use crate::judge::Judge;
use crate::world::World;

#[tokio::test]
async fn after_three_tries_without_progress_a_person_has_to_want_it() {
    let world = World::new().await;
    let mut judge = Judge::new(&world, "parked");
    judge.asks(When::At("delta", 2)).await;
    for _ in 0..3 {
        let (life, _) = judge.resumes(When::At("delta", 2)).await;
        assert!(life.was_killed, "{life:?}");
    }
    let asked = world.claude.requests().len();
    let (life, kept) = judge.resumes(When::Never).await;
    assert_ne!(life.code, Some(0), "{life:?}");
    assert!(
        life.wrong.contains("without coming any further"),
        "{}",
        life.wrong
    );
    assert!(kept.is_open());
    assert_eq!(world.claude.requests().len(), asked);
    let life = live(world.resume_again(), When::Never).await;
    let (_, kept) = judge.lives(life, When::Never).await;
    assert!(kept.end().is_some());
    judge.verdict().await.held();
}

#[tokio::test]
async fn whatever_comes_further_may_be_killed_as_often_as_it_likes() {
    let world = World::new().await;
    let mut judge = Judge::new(&world, "further");
    // Each life commits one append more than it takes to be resumed.
    judge.asks(When::At("after-append", 1)).await;
    for _ in 0..7 {
        judge.resumes(When::At("after-append", 2)).await;
    }
    judge.until_it_ends().await;
    judge.verdict().await.held();
}
