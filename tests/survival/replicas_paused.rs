//! A gateway sleeps past its lease, wherever it may be, as one whose machine is overloaded; another goes on with its
//! turn. When it wakes, it does nothing more: no call, and no request to the provider.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::client::{Client, Speaks};
use crate::deaths::{TIME_LIMIT, When};
use crate::judge::{Judge, Survived};
use crate::replicas::{Fleet, conclude, start};
use crate::shared_database::SharedDatabase;
use crate::table;
use crate::world::World;

#[tokio::test]
async fn a_gateway_that_sleeps_past_its_lease_does_nothing_more() {
    let pauses = PLACES.iter().flat_map(|(place, nths)| {
        let nths = nths.iter();
        nths.map(|nth| (*place, *nth))
    });
    let pauses = pauses.zip(Speaks::ALL.into_iter().cycle());
    let table = table::all(pauses, |((place, nth), speaks)| sleeps(place, nth, speaks)).await;
    table.promised("Replicas, one of which sleeps past its lease and wakes");
    let sleeps = table.all_kills();
    assert!(sleeps >= 15, "only {sleeps} fell asleep");
}

/// One gateway sleeps at a place, and another one goes on.
async fn sleeps(place: &'static str, nth: u64, speaks: Speaks) -> Survived {
    let world = World::replicated(SharedDatabase::new(), "").await;
    let mut judge = Judge::of_all(&world, format!("{speaks:?}, {place}:{nth} sleeps"));
    let crash = format!("{place}:{nth}:stop");
    let sleeper = start(&world, 0, Some(&crash)).await;
    let mut client = Client::new(speaks);
    // Its client waits for it, until another process asks the other gateway in its place.
    let address = sleeper.address();
    let request = client.request();
    let waiting = tokio::spawn(async move { crate::served::send(&address, &request).await });
    let pid = sleeper.process();
    let asleep = async {
        while !is_stopped(pid) && !waiting.is_finished() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let asleep = timeout(TIME_LIMIT, asleep).await;
    asleep.expect("it falls asleep or answers");
    if waiting.is_finished() {
        // Its steps came together, and it has been at the place less often.
        return Survived::default();
    }
    let fell_asleep = Instant::now();
    let mut fleet = Fleet::start(&world, 1, None).await;
    let heard =
        client.heard(&crate::served::send(&fleet.gateways[0].address(), &client.request()).await);
    judge.heard(&heard, None);
    assert!(heard.whole, "{place}:{nth}: {heard:?}");
    tokio::time::sleep_until(fell_asleep + LEASE).await;
    let (done, asked) = (world.effects().len(), world.claude.requests().len());
    sleeper.signal("CONT");
    // Its first client gets what the journal has, or an error, or nothing.
    let late = timeout(TIME_LIMIT, waiting)
        .await
        .expect("it answers or ends")
        .expect("no panic");
    let mut other = Client::new(speaks);
    let late = other.heard(&late);
    if late.id.is_some() && late.whole {
        judge.heard(&late, Some(&heard));
    }
    let settled = Instant::now() + SETTLING;
    while Instant::now() < settled {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let (now_done, now_asked) = (world.effects().len(), world.claude.requests().len());
        let acted = now_asked != asked || (now_done != done && !BESIDE_CALLS.contains(&place));
        if acted {
            judge.acted_asleep(&format!(
                "it made {} calls and {} requests after it woke",
                now_done - done,
                now_asked - asked
            ));
            break;
        }
    }
    judge
        .lives(sleeper.end().await.killed(true), When::At(place, nth))
        .await;
    conclude(&mut fleet, &mut judge, &mut client, heard).await;
    fleet.end(&mut judge).await;
    judge.verdict().await
}

/// Whether a process is stopped, as the kernel says.
fn is_stopped(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = status.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|rest| rest.starts_with('T'))
}

/// Where it sleeps, and at which time.
const PLACES: &[(&str, &[u64])] = &[
    ("after-append", &[1, 2, 3]),
    ("after-model", &[1]),
    ("after-tell", &[1, 3]),
    ("after-tool", &[1, 3]),
    ("before-append", &[1, 1, 1, 2, 3]),
    ("before-model", &[1]),
    ("before-tell", &[2, 3]),
    ("before-tool", &[1, 3]),
    ("between-actions", &[1, 3]),
    ("delta", &[2, 8]),
    ("during-tool", &[1, 3]),
];

/// Here, other calls of the round may have been handed to their server already, whose lines are written when the
/// process wakes; the next owner takes their outcome for unknown. The judge sees to it that none is made twice.
const BESIDE_CALLS: &[&str] = &[
    "after-tool",
    "before-tool",
    "between-actions",
    "during-tool",
];

/// The lease of all gateways, and some more.
const LEASE: Duration = Duration::from_millis(2200);
/// How long one that has woken is watched.
const SETTLING: Duration = Duration::from_millis(1500);
