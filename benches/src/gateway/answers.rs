//! Answers of people: each to one of many questions that are open.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::load::Client;
use super::subject::{Kind, Subject, World};
use crate::measure::Series;
use crate::plan::Plan;

/// What answers took that one gateway was given.
#[derive(Clone, Debug)]
pub struct Answered {
    /// From the first answer to the last one.
    pub all: Duration,
    /// The time of each.
    pub each: Series,
    /// Which gateway.
    pub kind: Kind,
}

/// Has so many turns wait for an answer, and gives the oldest of them, so many, from 16 clients at once.
///
/// # Errors
///
/// If anything fails.
pub fn measure(open: usize, answered: usize) -> anyhow::Result<Vec<Answered>> {
    let mut world = World::new()?;
    world.asks = true;
    let mut kinds = vec![Kind::GatewayInAFile];
    kinds.extend(world.start_database().then_some(Kind::GatewayInPostgres));
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut all = Vec::new();
        for kind in kinds {
            let gateway = Subject::start(&world, kind).await?;
            side_by_side(&gateway, vec![(); open], ask).await?;
            let questions = listed(&gateway, open, answered).await?;
            let began = Instant::now();
            let walls = side_by_side(&gateway, questions, answer).await?;
            let took = began.elapsed();
            let mut each = Series::default();
            walls.into_iter().for_each(|wall| each.push(wall));
            all.push(Answered {
                all: took,
                each,
                kind,
            });
        }
        Ok(all)
    })
}

/// Begins a turn whose call needs a yes.
async fn ask(client: &mut Client, (): ()) -> anyhow::Result<()> {
    let session = client.call("POST", "/sessions", &json!({})).await?;
    let id = session["id"].as_str().context("no session")?;
    let message = json!({ "message": Plan::one_round(1, 0).to_string(), "mode": "background" });
    client
        .call("POST", &format!("/sessions/{id}/turns"), &message)
        .await?;
    Ok(())
}

/// The oldest questions, once so many are open.
async fn listed(gateway: &Subject, open: usize, first: usize) -> anyhow::Result<Vec<String>> {
    let mut client = Client::connect(&gateway.base_url).await?;
    loop {
        let mut ids = Vec::new();
        let mut after = json!(0);
        while !after.is_null() {
            let path = format!("/approvals?limit=200&after={after}");
            let mut page = client.call("GET", &path, &Value::Null).await?;
            let approvals = page["approvals"].as_array().context("no list")?;
            let page_ids = approvals.iter().filter_map(|asked| asked["id"].as_str());
            ids.extend(page_ids.map(str::to_owned));
            after = page["next"].take();
        }
        if ids.len() >= open {
            ids.truncate(first);
            return Ok(ids);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn answer(client: &mut Client, id: String) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let path = format!("/approvals/{id}/allow");
    let answered = client.call("POST", &path, &json!({})).await?;
    let how = &answered["ended"]["how"];
    ensure!(how == "answered", "no answer: {answered}");
    Ok(began.elapsed())
}

/// Does something with each of these, over 16 connections.
#[expect(clippy::future_not_send, reason = "all clients are on one thread")]
async fn side_by_side<T, U>(
    gateway: &Subject,
    of: Vec<T>,
    what: impl AsyncFn(&mut Client, T) -> anyhow::Result<U>,
) -> anyhow::Result<Vec<U>> {
    let rest = std::cell::RefCell::new(of.into_iter());
    let next = || rest.borrow_mut().next();
    let clients = (0..CLIENTS).map(async |_| {
        let mut client = Client::connect(&gateway.base_url).await?;
        let mut done = Vec::new();
        while let Some(one) = next() {
            done.push(what(&mut client, one).await?);
        }
        anyhow::Ok(done)
    });
    let done = try_join_all(clients).await?;
    Ok(done.into_iter().flatten().collect())
}

const CLIENTS: usize = 16;
