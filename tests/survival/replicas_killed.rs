//! Two or three gateways on one database are killed, wherever they may be; their clients send again, to any of them.
//! The same promises hold as for one gateway.

use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::client::Speaks;
use crate::deaths::When;
use crate::judge::{Judge, Survived};
use crate::replicas::{Plan, talk};
use crate::shared_database::SharedDatabase;
use crate::table;
use crate::world::World;

#[tokio::test]
async fn killed_at_every_named_place_replicas_owe_their_answers() {
    let chance = Chance::of("replicas at named places");
    let kills = PLACES.iter().flat_map(|(place, nths)| {
        let nths = nths.iter();
        nths.map(|nth| When::At(place, *nth))
    });
    let kills = kills.zip(Speaks::ALL.into_iter().cycle()).zip(0..);
    let table = table::all(kills, |((at, speaks), nth)| {
        let chance = chance.of_one(nth);
        async move {
            let replicas = replicas(nth);
            let plan = Plan {
                at,
                ..Plan::quiet(replicas)
            };
            survive(plan, speaks, chance, "").await
        }
    })
    .await;
    table.promised("Replicas, killed at named places; their clients send again to any of them");
    for (place, nths) in PLACES {
        let kills = table.kills(place);
        assert!(kills >= 2, "{place}: only {kills} of {} landed", nths.len());
    }
}

#[tokio::test]
async fn killed_at_any_instant_replicas_owe_their_answers() {
    let chance = Chance::of("replicas at random instants");
    let instants = times().map_or(INSTANTS, |times| times);
    let table = table::at_instants(instants, instants / 2, undisturbed, |nth, whole| {
        let mut chance = chance.of_one(nth);
        async move {
            let replicas = replicas(nth);
            let speaks = Speaks::ALL[usize::try_from(nth % 3).unwrap_or_default()];
            let mut kills: Vec<(Duration, usize)> = (0..1 + chance.below(3))
                .map(|_| {
                    let of = chance.below(replicas as u64);
                    (
                        chance.within(whole),
                        usize::try_from(of).unwrap_or_default(),
                    )
                })
                .collect();
            kills.sort_unstable();
            let plan = Plan {
                kills,
                ..Plan::quiet(replicas)
            };
            survive(plan, speaks, chance, "").await
        }
    })
    .await;
    table.promised("Replicas, killed at random instants, one to three times");
}

/// A judge that finds nothing proves nothing: where no gateway is left turns are lost, and where every call is run again
/// payments are made twice.
#[tokio::test]
async fn the_judge_of_replicas_finds_what_is_wrong() {
    let chance = Chance::of("controls of replicas");
    let table = table::all(CONTROLS.iter().copied(), |at| {
        let plan = Plan {
            at,
            restarts: false,
            ..Plan::quiet(1)
        };
        survive(plan, Speaks::Messages, chance.clone(), "")
    })
    .await;
    println!("\nControl: no gateway is left\n{table}");
    assert_eq!(table.verdict.turns_lost.len(), CONTROLS.len());
    assert_eq!(table.verdict.not_answered.len(), CONTROLS.len());

    let policy = "[policy]\nunknown = \"retry\"\n";
    let table = table::all(CONTROLS.iter().copied(), |at| {
        let plan = Plan {
            at,
            ..Plan::quiet(2)
        };
        survive(plan, Speaks::Messages, chance.clone(), policy)
    })
    .await;
    println!("\nControl: every call that was started is run again\n{table}");
    assert!(table.verdict.run_twice.len() >= 2);
}

async fn survive(
    plan: Plan,
    speaks: Speaks,
    mut chance: Chance,
    configuration: &'static str,
) -> Survived {
    let world = World::replicated(SharedDatabase::new(), configuration).await;
    let mut judge = Judge::of_all(&world, format!("{speaks:?}, {plan:?}"));
    talk(&world, &mut judge, speaks, &plan, &mut chance).await;
    judge.verdict().await
}

/// Two mostly, and three for a third of the turns.
fn replicas(nth: u64) -> usize {
    if nth % 3 == 2 { 3 } else { 2 }
}

/// How many random instants a longer run by hand asks for.
fn times() -> Option<u64> {
    std::env::var("JACKFIELD_SURVIVAL_TIMES").ok()?.parse().ok()
}

/// How long a conversation takes, on this machine and with as much to do.
async fn undisturbed() -> Duration {
    let mut longest = Duration::ZERO;
    for speaks in Speaks::ALL {
        let began = Instant::now();
        let survived = survive(Plan::quiet(2), speaks, Chance::of("undisturbed"), "").await;
        longest = longest.max(began.elapsed());
        assert!(survived.deaths.is_empty());
        survived.held();
    }
    longest / 2
}

/// The places, and the times at which a gateway is killed there: each counts for itself.
const PLACES: &[(&str, &[u64])] = &[
    ("after-append", &[1, 3, 5]),
    ("after-model", &[1, 2, 3]),
    ("after-tell", &[1, 3, 5]),
    ("after-tool", &[1, 3, 4]),
    ("before-append", &[1, 3, 5]),
    ("before-model", &[1, 2, 3]),
    ("before-tell", &[2, 3, 5]),
    ("before-tool", &[1, 3, 4]),
    ("between-actions", &[1, 3, 6]),
    ("delta", &[2, 12, 24]),
    ("during-tool", &[1, 3, 4]),
];

/// While payments are made.
const CONTROLS: &[When] = &[
    When::At("during-tool", 3),
    When::At("during-tool", 4),
    When::At("after-tool", 3),
    When::At("after-tool", 4),
];

const INSTANTS: u64 = 30;
