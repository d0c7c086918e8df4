//! The gateway, against nginx as a plain proxy and against a bare proxy that parses and writes everything
//! again.
//!
//! What is measured has one core to itself, the load and the upstream share another one, where the system
//! has a `taskset`. All of them take turns within one run; the ratios to nginx are what counts.

pub mod answers;
pub mod load;
pub mod proxy;
pub mod subject;
pub mod upstream;

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use tokio::process::Command;
use tokio::runtime::Builder;

use self::load::Streamed;
use self::subject::{Kind, Subject, World};
use crate::floor::{Asker, Bare};
use crate::measure::Series;
use crate::plan::Plan;
use crate::process::beside;

/// What requests took that one server answered.
#[derive(Clone, Debug)]
pub struct Answers {
    /// What the server computed for each.
    pub cpu: Series,
    /// Which server.
    pub kind: Kind,
    /// The time of each.
    pub wall: Series,
}

/// What streams took that one server passed on.
#[derive(Clone, Debug)]
pub struct Streams {
    /// What the server computed for each.
    pub cpu: Series,
    /// The time to the first token, where all begin in one instant.
    pub first: Series,
    /// The time to the first token of a stream that begins by itself, while all others are under way.
    pub among: Series,
    /// Which server.
    pub kind: Kind,
}

/// What slow streams took.
#[derive(Clone, Copy, Debug)]
pub struct Slow {
    /// How many were whole.
    pub complete: usize,
    /// What the server has in memory before, in KiB.
    pub idle: u64,
    /// What each stream takes more, in KiB.
    pub each: f64,
}

/// What turns took that the gateway ran, and the bare loop.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// The bare loop.
    pub floor: Series,
    /// The gateway, with its journal in memory.
    pub in_memory: Series,
    /// The gateway, with its journal in a file.
    pub in_a_file: Series,
}

/// What gateways over one database compute for each turn, all of them together.
#[derive(Clone, Debug, Default)]
pub struct Replicas {
    /// One gateway alone.
    pub one: Series,
    /// Two gateways that share the turns.
    pub two: Series,
}

/// Requests of 2 KB with tools over 16 connections: rounds of so many, the servers turn about.
///
/// # Errors
///
/// If anything fails.
pub fn chat(rounds: usize, requests: usize) -> anyhow::Result<Vec<Answers>> {
    let world = World::new()?;
    let body = load::chat_body(false);
    answers(&world, &world.kinds(), &body, rounds, requests)
}

/// Requests with a history of so many messages, which belong to no session, over 16 connections.
///
/// # Errors
///
/// If anything fails.
pub fn history(rounds: usize, requests: usize, messages: usize) -> anyhow::Result<Vec<Answers>> {
    let world = World::new()?;
    let body = load::history_body(messages);
    let kinds = [Kind::Proxy, Kind::Gateway, Kind::GatewayInAFile];
    answers(&world, &kinds, &body, rounds, requests)
}

/// Rounds of so many requests with this body; these servers turn about.
fn answers(
    world: &World,
    kinds: &[Kind],
    body: &str,
    rounds: usize,
    requests: usize,
) -> anyhow::Result<Vec<Answers>> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut all = Vec::new();
        for &kind in kinds {
            let answers = Answers {
                cpu: Series::default(),
                kind,
                wall: Series::default(),
            };
            all.push((Subject::start(world, kind).await?, answers));
        }
        for nth in 0..=rounds {
            for (subject, answers) in &mut all {
                let before = subject.cpu()?;
                let walls = load::requests(&subject.base_url, body, CONNECTIONS, requests).await?;
                let spent = subject.cpu()?.saturating_sub(before);
                // The first round is not counted: everything is new in it.
                if nth > 0 {
                    let requests = u32::try_from(requests).unwrap_or(u32::MAX).max(1);
                    answers.cpu.push(spent / requests);
                    walls.into_iter().for_each(|wall| answers.wall.push(wall));
                }
            }
        }
        Ok(all.into_iter().map(|(_, answers)| answers).collect())
    })
}

/// Streams of 100 tokens, one each 10 ms, 64 at once: all of them begun in one instant, which is when a server
/// has all its work at the same time, and begun evenly, as people do, so that 64 are always under way.
///
/// # Errors
///
/// If anything fails, or a stream is not whole.
pub fn streams(rounds: usize) -> anyhow::Result<Vec<Streams>> {
    let world = World::new()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut kinds = world.kinds();
        kinds.insert(0, Kind::Upstream);
        let mut all = Vec::new();
        for kind in kinds {
            let streams = Streams {
                cpu: Series::default(),
                first: Series::default(),
                among: Series::default(),
                kind,
            };
            all.push((Subject::start(&world, kind).await?, streams));
        }
        for nth in 0..=rounds {
            for (subject, streams) in &mut all {
                let body = load::stream_body(100, 10);
                // The first of these are not counted: fewer are under way when they begin. What they leave behind
                // are connections, which all that begin in one instant find.
                let evenly = load::streams(&subject.base_url, &body, 2 * AT_ONCE, EVENLY).await?;
                let before = subject.cpu()?;
                let at_once =
                    load::streams(&subject.base_url, &body, AT_ONCE, Duration::ZERO).await?;
                let spent = subject.cpu()?.saturating_sub(before);
                let whole = |told: &&Streamed| told.tokens == 100;
                let whole = at_once.iter().chain(&evenly).filter(whole).count();
                ensure!(
                    whole == 3 * AT_ONCE,
                    "of {} only {whole} were whole",
                    subject.kind
                );
                if nth > 0 {
                    streams.cpu.push(spent / AT_ONCE as u32);
                    at_once
                        .iter()
                        .for_each(|told| streams.first.push(told.first));
                    let among = evenly.iter().skip(AT_ONCE);
                    among.for_each(|told| streams.among.push(told.first));
                }
            }
        }
        Ok(all.into_iter().map(|(_, streams)| streams).collect())
    })
}

/// So many slow streams at once, and what each takes of memory.
///
/// # Errors
///
/// If anything fails.
pub fn slow(at_once: usize) -> anyhow::Result<Vec<(Kind, Slow)>> {
    let world = World::new()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut all = Vec::new();
        for kind in world.kinds() {
            let subject = Subject::start(&world, kind).await?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            let idle = subject.memory()?;
            let body = load::stream_body(10, 500);
            let base_url = subject.base_url.clone();
            let streams = tokio::spawn(async move {
                load::streams(&base_url, &body, at_once, Duration::ZERO).await
            });
            // By then all of them have begun, and none has ended.
            tokio::time::sleep(Duration::from_millis(3_500)).await;
            let busy = subject.memory()?;
            let told: Vec<Streamed> = streams.await??;
            let slow = Slow {
                complete: told.iter().filter(|told| told.tokens == 10).count(),
                each: busy.saturating_sub(idle) as f64 / at_once.max(1) as f64,
                idle,
            };
            all.push((kind, slow));
        }
        Ok(all)
    })
}

/// The comparable turn, run by the gateway for a client, against the bare loop.
///
/// # Errors
///
/// If anything fails.
pub fn turns(times: usize) -> anyhow::Result<Turns> {
    let world = World::new()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let memory = Subject::start(&world, Kind::Gateway).await?;
        let file = Subject::start(&world, Kind::GatewayInAFile).await?;
        let bare = Bare::start(Command::new(beside("bench-echo")?)).await?;
        let mut asker = Asker::connect(&world.provider.base_url).await?;
        let mut turns = Turns::default();
        let body = load::turn_body(Plan::COMPARED);
        for nth in 0..times + times.div_ceil(10) {
            let of_memory = turn(&memory, &body).await?;
            let of_file = turn(&file, &body).await?;
            let began = Instant::now();
            asker.turn(&bare, Plan::COMPARED).await?;
            let of_floor = began.elapsed();
            if nth >= times.div_ceil(10) {
                turns.floor.push(of_floor);
                turns.in_memory.push(of_memory);
                turns.in_a_file.push(of_file);
            }
        }
        bare.stop().await?;
        Ok(turns)
    })
}

/// What each of two gateways over one PostgreSQL computes for the comparable turn, against one alone: rounds of so many
/// turns, of which both together answer half each. `None` if PostgreSQL is not installed.
///
/// # Errors
///
/// If anything fails.
pub fn replicas(rounds: usize, turns: usize) -> anyhow::Result<Option<Replicas>> {
    let mut world = World::new()?;
    if !world.start_database() {
        return Ok(None);
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let body = load::turn_body(Plan::COMPARED);
    let each = |spent: Duration| spent / u32::try_from(turns).unwrap_or(u32::MAX).max(1);
    runtime.block_on(async {
        let mut replicas = Replicas::default();
        let first = Subject::start(&world, Kind::GatewayInPostgres).await?;
        for nth in 0..=rounds {
            let before = first.cpu()?;
            load::requests(&first.base_url, &body, CONNECTIONS, turns).await?;
            if nth > 0 {
                let spent = first.cpu()?.saturating_sub(before);
                replicas.one.push(each(spent));
            }
        }
        let second = Subject::start(&world, Kind::GatewayInPostgres).await?;
        let of_both = || anyhow::Ok(first.cpu()? + second.cpu()?);
        for nth in 0..=rounds {
            let before = of_both()?;
            let half = |one: &Subject| {
                let (base_url, body) = (one.base_url.clone(), body.clone());
                async move { load::requests(&base_url, &body, CONNECTIONS / 2, turns / 2).await }
            };
            tokio::try_join!(half(&first), half(&second))?;
            if nth > 0 {
                replicas.two.push(each(of_both()?.saturating_sub(before)));
            }
        }
        Ok(Some(replicas))
    })
}

/// So many turns at once, each with one round of 5 tools that take 200 ms.
///
/// # Errors
///
/// If anything fails.
pub fn crowd(at_once: usize, times: usize) -> anyhow::Result<Series> {
    let world = World::new()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let gateway = Subject::start(&world, Kind::Gateway).await?;
        let body = load::turn_body(Plan::one_round(5, 200));
        let mut series = Series::default();
        for nth in 0..=times {
            let began = Instant::now();
            load::requests(&gateway.base_url, &body, at_once, at_once).await?;
            if nth > 0 {
                series.push(began.elapsed());
            }
        }
        Ok(series)
    })
}

async fn turn(gateway: &Subject, body: &str) -> anyhow::Result<Duration> {
    let walls = load::requests(&gateway.base_url, body, 1, 1).await?;
    walls.first().copied().context("no turn")
}

/// How many connections send requests.
const CONNECTIONS: usize = 16;
/// How many streams there are at once.
const AT_ONCE: usize = 64;
/// How far apart those begin that begin evenly: a stream takes a second.
const EVENLY: Duration = Duration::from_micros(1_000_000 / AT_ONCE as u64);
