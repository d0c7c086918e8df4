//! Killed at every named place, in the turn and in its recovery.

use crate::deaths::When;
use crate::judge::{Judge, Survived};
use crate::table;
use crate::world::World;

#[tokio::test]
async fn killed_at_every_named_place_a_turn_ends_as_if_nothing_had_been() {
    let kills = PLACES.iter().flat_map(|(place, most)| {
        let nths = 1..=*most;
        nths.map(|nth| When::At(place, nth))
    });
    let table = table::all(kills, |when| survive(when, None)).await;
    table.promised("Killed at named places");
    for (place, most) in PLACES {
        let kills = table.kills(place);
        assert!(kills >= 3, "{place}: only {kills} of {most} kills landed");
    }
}

#[tokio::test]
async fn killed_in_its_recovery_a_turn_ends_as_if_nothing_had_been() {
    let kills = BEFORE.iter().flat_map(|first| {
        let nths = AGAIN.iter();
        nths.map(|(place, nth)| (*first, When::At(place, *nth)))
    });
    let table = table::all(kills, |(first, again)| survive(first, Some(again))).await;
    table.promised("Killed in the turn, and again in its recovery");
    for (place, _) in AGAIN {
        let kills = table.kills(place);
        assert!(kills >= 3, "{place}: only {kills} kills landed");
    }
}

/// A turn that is killed, perhaps once more while it is recovered, and goes on to its end.
async fn survive(first: When, again: Option<When>) -> Survived {
    let world = World::new().await;
    let mut judge = Judge::new(&world, format!("{first:?}, {again:?}"));
    let (_, kept) = judge.asks(first).await;
    if let Some(again) = again
        && kept.is_open()
    {
        judge.resumes(again).await;
    }
    judge.until_it_ends().await;
    judge.verdict().await
}

/// The places, and how often a turn that nothing befalls comes there at least.
const PLACES: &[(&str, u64)] = &[
    ("after-append", 7),
    ("after-model", 3),
    ("after-tell", 7),
    ("after-tool", 6),
    ("before-append", 7),
    ("before-model", 3),
    ("before-tell", 7),
    ("before-tool", 6),
    ("between-actions", 9),
    ("delta", 12),
    ("during-tool", 6),
];

/// Where the turn is when it is killed for the first time: in a reply, before the calls, in each of
/// them, between two rounds, and at the very end.
const BEFORE: &[When] = &[
    When::At("delta", 4),
    When::At("after-append", 2),
    When::At("during-tool", 1),
    When::At("during-tool", 4),
    When::At("before-append", 4),
    When::At("during-tool", 6),
];

/// Where its recovery is killed: before it is recorded, then before anything was done, and so on.
const AGAIN: &[(&str, u64)] = &[
    ("before-append", 1),
    ("after-append", 1),
    ("before-tell", 1),
    ("before-model", 1),
    ("delta", 2),
    ("after-append", 2),
];
