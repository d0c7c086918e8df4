//! Killed at any instant.

use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::deaths::When;
use crate::judge::{Judge, Survived};
use crate::table;
use crate::world::World;

#[tokio::test]
async fn killed_at_any_instant_a_turn_ends_as_if_nothing_had_been() {
    let chance = Chance::of("random instants");
    let survive = |nth, whole| survive(chance.of_one(nth), nth, whole);
    let table = table::at_instants(INSTANTS, INSTANTS * 3 / 4, undisturbed, survive).await;
    table.promised("Killed at random instants, and a third of them once more");
}

async fn survive(mut chance: Chance, nth: u64, whole: Duration) -> Survived {
    let world = World::new().await;
    let first = if nth.is_multiple_of(10) {
        When::AfterStart(chance.within(whole))
    } else {
        When::AfterAcceptance(chance.within(whole))
    };
    let mut judge = Judge::new(&world, format!("instant {nth}, {first:?}"));
    let (_, kept) = judge.asks(first).await;
    if kept.is_open() && chance.below(3) == 0 {
        judge.resumes(When::AfterStart(chance.within(whole))).await;
    }
    judge.until_it_ends().await;
    judge.verdict().await
}

/// How long a turn takes after its acceptance, on this machine and with as much to do.
async fn undisturbed() -> Duration {
    let world = World::new().await;
    let mut judge = Judge::new(&world, "undisturbed");
    let started = Instant::now();
    let (life, kept) = judge.asks(When::Never).await;
    let took = started.elapsed();
    assert_eq!(life.code, Some(0), "{}", life.wrong);
    assert!(kept.end().is_some());
    // The program's own beginning and end are part of it.
    took.mul_f64(0.7)
}

const INSTANTS: u64 = 200;
