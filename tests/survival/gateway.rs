//! The gateway is killed, wherever it may be, and started again; its clients send again what they have no
//! whole answer to. The same promises hold, and two more: no request begins a second turn, and every answer
//! is given in the end, under the id that it had.

use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::client::{Client, Heard, Speaks};
use crate::deaths::When;
use crate::judge::Judge;
use crate::served::Gateway;
use crate::table;
use crate::world::{ANSWER, World};

#[tokio::test]
async fn killed_at_every_named_place_the_gateway_owes_its_answers() {
    let kills = PLACES.iter().flat_map(|(place, nths)| {
        let nths = nths.iter();
        nths.map(|nth| When::At(place, *nth))
    });
    let kills: Vec<(When, Speaks)> = kills.zip(Speaks::ALL.into_iter().cycle()).collect();
    let table = table::all(kills, |(when, speaks)| async move {
        let world = World::serving("").await;
        let mut judge = Judge::of_all(&world, format!("{speaks:?}, {when:?}"));
        talk(
            &world,
            &mut judge,
            speaks,
            &mut [when].into_iter(),
            MAX_RESTARTS,
        )
        .await;
        judge.verdict().await
    })
    .await;
    table.promised("The gateway, killed at named places; its clients send again");
    for (place, nths) in PLACES {
        let kills = table.kills(place);
        assert!(kills >= 2, "{place}: only {kills} of {} landed", nths.len());
    }
}

#[tokio::test]
async fn killed_at_any_instant_the_gateway_owes_its_answers() {
    let chance = Chance::of("random instants of the gateway");
    let table = table::at_instants(INSTANTS, INSTANTS / 2, undisturbed, |nth, whole| {
        let mut chance = chance.of_one(nth);
        async move {
            let world = World::serving("").await;
            let speaks = Speaks::ALL[usize::try_from(nth % 3).unwrap_or_default()];
            let mut kills = vec![When::AfterAcceptance(chance.within(whole))];
            if chance.below(3) == 0 {
                kills.push(When::AfterAcceptance(chance.within(whole / 2)));
            }
            let mut judge = Judge::of_all(&world, format!("{speaks:?}, instant {nth}, {kills:?}"));
            talk(
                &world,
                &mut judge,
                speaks,
                &mut kills.into_iter(),
                MAX_RESTARTS,
            )
            .await;
            judge.verdict().await
        }
    })
    .await;
    table.promised("The gateway, killed at random instants, a third of them once more");
}

/// A judge that finds nothing proves nothing: a client that does not send again loses its turn, one that
/// sends something else begins another, and where every call is run again payments are made twice.
#[tokio::test]
async fn the_judge_of_the_gateway_finds_what_is_wrong() {
    let table = table::all(CONTROLS.iter().copied(), |when| async move {
        let world = World::serving("").await;
        let mut judge = Judge::of_all(&world, format!("{when:?}"));
        let mut once = [when].into_iter();
        talk(&world, &mut judge, Speaks::Messages, &mut once, 1).await;
        judge.verdict().await
    })
    .await;
    println!("\nControl: the gateway is not started again\n{table}");
    assert_eq!(table.verdict.turns_lost.len(), CONTROLS.len());
    assert_eq!(table.verdict.not_answered.len(), CONTROLS.len());

    let policy = "[policy]\nunknown = \"retry\"\n";
    let table = table::all(CONTROLS.iter().copied(), |when| async move {
        let world = World::serving(policy).await;
        let mut judge = Judge::of_all(&world, format!("{when:?}"));
        talk(
            &world,
            &mut judge,
            Speaks::Messages,
            &mut [when].into_iter(),
            MAX_RESTARTS,
        )
        .await;
        judge.verdict().await
    })
    .await;
    println!("\nControl: every call that was started is run again\n{table}");
    assert!(table.verdict.run_twice.len() >= 2);

    let world = World::serving("").await;
    let mut judge = Judge::of_all(&world, "another request");
    let mut client = Client::new(Speaks::Messages);
    let mut gateway = listening(&world, None).await;
    let heard = ask(&mut gateway, &mut client, None).await;
    judge.heard(&heard, None);
    let mut other = Client::new(Speaks::Chat);
    let other = ask(&mut gateway, &mut other, None).await;
    judge.heard(&other, Some(&heard));
    judge.lives(gateway.end().await, When::Never).await;
    let verdict = judge.verdict().await.verdict;
    println!("\nControl: what is sent again is another request");
    assert!(!verdict.begun_twice.is_empty(), "{verdict:?}");
}

/// A conversation to its end, with these deaths on the way, in at most so many lives.
async fn talk(
    world: &World,
    judge: &mut Judge<'_>,
    speaks: Speaks,
    kills: &mut impl Iterator<Item = When>,
    lives: u32,
) {
    let mut client = Client::new(speaks);
    let mut when = kills.next().unwrap_or(When::Never);
    let mut before: Option<Heard> = None;
    for _ in 0..lives {
        let mut gateway = match Gateway::start(world, when.crash().as_deref()).await {
            Ok(gateway) => gateway,
            Err(life) => {
                judge.lives(life, when).await;
                when = kills.next().unwrap_or(When::Never);
                continue;
            }
        };
        let mut answered = false;
        loop {
            let kill = match when {
                When::AfterAcceptance(time) | When::AfterStart(time) => Some(time),
                When::At(..) | When::Never => None,
            };
            let heard = ask(&mut gateway, &mut client, kill).await;
            judge.heard(&heard, before.as_ref());
            if !heard.whole {
                before = Some(heard).filter(|heard| heard.id.is_some()).or(before);
                break;
            }
            before = None;
            if !client.takes(&heard) {
                if !heard.text.trim().ends_with(ANSWER) {
                    judge.unanswered(&format!("the answer is {:?}", heard.text));
                }
                answered = true;
                break;
            }
        }
        let died = gateway.has_died().await;
        let life = gateway.end().await;
        let landed = if died { when } else { When::Never };
        judge.lives(life.killed(died), landed).await;
        if answered {
            return;
        }
        when = kills.next().unwrap_or(When::Never);
    }
    judge.unanswered("the client got no whole answer");
}

async fn listening(world: &World, crash: Option<&str>) -> Gateway {
    match Gateway::start(world, crash).await {
        Ok(gateway) => gateway,
        Err(life) => panic!("{life:?}"),
    }
}

async fn ask(gateway: &mut Gateway, client: &mut Client, kill: Option<Duration>) -> Heard {
    let bytes = gateway.ask(&client.request(), kill).await;
    client.heard(&bytes)
}

/// How long a conversation takes, on this machine and with as much to do.
async fn undisturbed() -> Duration {
    let mut longest = Duration::ZERO;
    for speaks in Speaks::ALL {
        let world = World::serving("").await;
        let mut judge = Judge::of_all(&world, format!("{speaks:?}, undisturbed"));
        let began = Instant::now();
        talk(
            &world,
            &mut judge,
            speaks,
            &mut std::iter::empty(),
            MAX_RESTARTS,
        )
        .await;
        longest = longest.max(began.elapsed());
        let survived = judge.verdict().await;
        assert!(survived.deaths.is_empty());
        survived.held();
    }
    longest / 2
}

/// The places, and the times at which the gateway is killed there.
const PLACES: &[(&str, &[u64])] = &[
    ("after-append", &[1, 3, 6]),
    ("after-model", &[1, 2, 3]),
    ("after-tell", &[1, 4, 6]),
    ("after-tool", &[1, 3, 5]),
    ("before-append", &[1, 4, 7]),
    ("before-model", &[1, 2, 3]),
    ("before-tell", &[2, 3, 5]),
    ("before-tool", &[1, 4, 6]),
    ("between-actions", &[1, 4, 7]),
    ("delta", &[2, 24, 30]),
    ("during-tool", &[1, 4, 6]),
];

/// While payments are made.
const CONTROLS: &[When] = &[
    When::At("during-tool", 3),
    When::At("during-tool", 4),
    When::At("after-tool", 3),
    When::At("after-tool", 4),
];

const INSTANTS: u64 = 60;
/// More than there are deaths.
const MAX_RESTARTS: u32 = 6;
