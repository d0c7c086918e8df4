//! Conversations side by side at two gateways on one database, of which one or the other is killed every few seconds:
//! every turn ends, and no payment is made twice. `cargo xtask survival --load MINUTES` lets it run for so long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_domain::fact::Fact;
use jackfield_domain::session::Session;
use jackfield_ports::journal::sessions::SessionQuery;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::chance::Chance;
use crate::client::{Client, Speaks};
use crate::replicas::start;
use crate::served::exchange;
use crate::shared_database::SharedDatabase;
use crate::world::{ANSWER, World};

/// What happened.
#[derive(Default)]
struct Counts {
    answered: AtomicU64,
    conversations: AtomicU64,
    requests: AtomicU64,
}

#[tokio::test]
async fn under_load_replicas_that_are_killed_end_every_turn() {
    let chance = Chance::of("load");
    let world = World::replicated(SharedDatabase::new(), "").await;
    let until = Instant::now() + duration();
    let counts = Arc::new(Counts::default());
    let mut gateways = vec![start(&world, 0, None).await, start(&world, 1, None).await];
    let addresses = Arc::new(Mutex::new(
        gateways
            .iter()
            .map(|gateway| gateway.address())
            .collect::<Vec<_>>(),
    ));
    let mut clients = JoinSet::new();
    for nth in 0..CLIENTS {
        let (addresses, counts) = (Arc::clone(&addresses), Arc::clone(&counts));
        clients.spawn(converse(nth, addresses, counts, chance.of_one(nth), until));
    }
    let (mut killing, mut kills) = (chance.of_one(CLIENTS), 0_u64);
    let mut failed = None;
    while !clients.is_empty() {
        tokio::select! {
            Some(ended) = clients.join_next() => failed = ended.expect("no panic").err().or(failed),
            () = sleep(PAUSE + killing.within(PAUSE)), if Instant::now() < until => {
                let nth = usize::try_from(killing.below(2)).unwrap_or_default();
                gateways[nth].kill();
                kills += 1;
                let next = start(&world, nth, None).await;
                addresses.lock().expect("no panic")[nth] = next.address();
                std::mem::replace(&mut gateways[nth], next).end().await;
            }
        }
    }
    for gateway in gateways {
        gateway.end().await;
    }
    let (turns, open, resumed) = turns(&world).await;
    let mut payments: BTreeMap<String, u32> = BTreeMap::new();
    for effect in world
        .effects()
        .iter()
        .filter(|effect| effect["tool"] == "pay")
    {
        *payments.entry(effect["key"].to_string()).or_default() += 1;
    }
    let twice = payments.values().filter(|times| **times > 1).count();
    let Counts {
        answered,
        conversations,
        requests,
    } = &*counts;
    let [answered, conversations, requests] =
        [answered, conversations, requests].map(|count| count.load(Ordering::Relaxed));
    println!(
        "\nLoad of {:?}: {conversations} conversations, {requests} requests, {answered} answered, {kills} kills, {turns} turns, \
         {resumed} times taken up, {} payments; {open} left open, {twice} paid twice",
        duration(),
        payments.len(),
    );
    assert_eq!(failed, None);
    assert_eq!((open, twice), (0, 0));
    assert_eq!(turns, conversations, "a request began a second turn");
    assert_eq!(world.claude.violations(), Vec::<String>::new());
    assert!(kills > 0 && conversations > CLIENTS);
}

/// Has one conversation after another, each request of which comes to any gateway until it is answered.
async fn converse(
    nth: u64,
    addresses: Arc<Mutex<Vec<String>>>,
    counts: Arc<Counts>,
    mut chance: Chance,
    until: Instant,
) -> Result<(), String> {
    let mut conversation = 0_u64;
    while Instant::now() < until {
        let name = format!(" {nth}-{conversation}");
        conversation += 1;
        counts.conversations.fetch_add(1, Ordering::Relaxed);
        let speaks = Speaks::ALL[usize::try_from(conversation % 3).unwrap_or_default()];
        let mut client = Client::named(&name, speaks);
        let began = Instant::now();
        loop {
            if began.elapsed() > PATIENCE {
                return Err(format!("{speaks:?}{name}: no answer within {PATIENCE:?}"));
            }
            let at = usize::try_from(chance.below(2)).unwrap_or_default();
            let address = addresses.lock().expect("no panic")[at].clone();
            counts.requests.fetch_add(1, Ordering::Relaxed);
            let (request, mut bytes) = (client.request(), Vec::new());
            let asking = exchange(&address, &request, &mut bytes);
            let _late = timeout(PATIENCE, asking).await;
            let heard = client.heard(&bytes);
            if !heard.whole {
                sleep(MOMENT).await;
                continue;
            }
            counts.answered.fetch_add(1, Ordering::Relaxed);
            if !client.takes(&heard) {
                if heard.text.trim().ends_with(ANSWER) {
                    break;
                }
                return Err(format!("{speaks:?}{name}: the answer is {:?}", heard.text));
            }
        }
    }
    Ok(())
}

/// How many turns there are, how many of them are open, and how often one was taken up.
async fn turns(world: &World) -> (u64, u64, usize) {
    let journal = world.journal().expect("a journal");
    let (mut turns, mut open, mut resumed) = (0, 0, 0);
    let mut query = SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    };
    loop {
        let rows = journal.sessions(&query).await.expect("a list");
        let Some(last) = rows.last() else {
            break;
        };
        query.before = Some((last.changed, last.session.clone()));
        for row in rows {
            let loaded = journal.load(&row.session).await.expect("loaded");
            let facts = || loaded.steps.iter().flat_map(|step| &step.facts);
            let folded = Session::fold(row.session.clone(), facts());
            turns += u64::from(folded.turns());
            open += u64::from(folded.open_turn().is_some());
            resumed += facts()
                .filter(|fact| matches!(fact, Fact::TurnResumed { .. }))
                .count();
        }
    }
    journal.close().await;
    (turns, open, resumed)
}

/// How long conversations begin.
fn duration() -> Duration {
    let minutes = std::env::var("JACKFIELD_SURVIVAL_LOAD").ok();
    let minutes = minutes.and_then(|minutes| minutes.parse().ok());
    minutes.map_or(SHORT, |minutes: u64| Duration::from_secs(60 * minutes))
}

const CLIENTS: u64 = 6;
/// The least time between two kills, and half of the most.
const PAUSE: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(50);
/// A turn that is taken up waits for a lease of two seconds, perhaps several times.
const PATIENCE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(15);
