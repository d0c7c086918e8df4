//! The gateway is killed while somebody watches a session over its own API, and comes back with a cursor:
//! what was told in all lives together is what is told to whoever looks afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::deaths::When;
use crate::judge::{Judge, Survived};
use crate::served::{Asking, Gateway};
use crate::table;
use crate::world::World;

#[tokio::test]
async fn whoever_comes_back_with_a_cursor_misses_nothing_and_is_told_nothing_twice() {
    let named = PLACES.iter().map(|(place, nth)| When::At(place, *nth));
    let chance = Chance::of("random instants of a watched session");
    let random = (0..INSTANTS).map(|nth| {
        let mut chance = chance.of_one(nth);
        When::AfterStart(chance.within(MAX_TIME))
    });
    let kills: Vec<When> = named.chain(random).collect();
    let table = table::all(kills, survive).await;
    table.promised("The gateway, killed while a session is watched");
    assert!(table.all_kills() >= 10, "{table}");
}

async fn survive(when: When) -> Survived {
    let world = World::serving("").await;
    let mut judge = Judge::of_all(&world, format!("watched, {when:?}"));
    let mut watcher = Watcher::default();
    let mut plan = when;
    for _ in 0..MAX_RESTARTS {
        let crash = plan.crash();
        let mut gateway = match Gateway::start(&world, crash.as_deref()).await {
            Ok(gateway) => gateway,
            Err(life) => {
                judge.lives(life, plan).await;
                plan = When::Never;
                continue;
            }
        };
        let kill = match plan {
            When::AfterAcceptance(time) | When::AfterStart(time) => Some(time),
            When::At(..) | When::Never => None,
        };
        let is_told = watcher.watch(&mut gateway, kill).await;
        // It may be killed when all was told and the connection was about to end: the next one is asked then.
        let died = gateway.has_died().await;
        let is_over = is_told && !died;
        if is_over {
            for wrong in watcher.compare(&mut gateway).await {
                judge.unanswered(&wrong);
            }
        }
        let landed = if died { plan } else { When::Never };
        judge.lives(gateway.end().await.killed(died), landed).await;
        if is_over {
            return judge.verdict().await;
        }
        plan = When::Never;
    }
    judge.unanswered("the end was never told");
    judge.verdict().await
}

/// Somebody who watches a session, and what was told.
#[derive(Default)]
struct Watcher {
    is_accepted: bool,
    session: Option<String>,
    told: Vec<Event>,
}

/// An event, with its cursor.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Event {
    cursor: u64,
    data: Value,
}

impl Watcher {
    /// Watches on, or has the turn begun first. Says whether its end was told.
    async fn watch(&mut self, gateway: &mut Gateway, kill: Option<Duration>) -> bool {
        let session = match &self.session {
            Some(session) => session.clone(),
            None => {
                let made = gateway
                    .ask(&Asking::post("/api/v1/sessions", &json!({})), None)
                    .await;
                let Some(id) = body(&made).and_then(|made| made["id"].as_str().map(str::to_owned))
                else {
                    return false;
                };
                self.session.insert(id).clone()
            }
        };
        if !self.is_accepted {
            let turns = format!("/api/v1/sessions/{session}/turns");
            let message = json!({ "message": "Pay the three bills.", "mode": "background" });
            let asking = Asking::post(&turns, &message).header("idempotency-key", "bills");
            let began = gateway.ask(&asking, None).await;
            let Some(turn) = body(&began) else {
                return false;
            };
            if turn["id"].is_null() {
                // It was not kept yet: the session is made once more.
                self.session = None;
                return false;
            }
            self.is_accepted = true;
        }
        let last = self.told.last().map(|event| event.cursor);
        let mut told = events(&self.look(gateway, last, kill).await);
        self.told.append(&mut told);
        let ended = |event: &Event| event.data["event"] == "turn_ended";
        self.told.last().is_some_and(ended)
    }

    async fn look(
        &self,
        gateway: &mut Gateway,
        last: Option<u64>,
        kill: Option<Duration>,
    ) -> Vec<u8> {
        let session = self.session.as_deref().unwrap_or_default();
        let path = format!("/api/v1/sessions/{session}/events?until=rest");
        let mut asking = Asking::get(&path);
        if let Some(last) = last {
            asking = asking.header("last-event-id", &last.to_string());
        }
        gateway.ask(&asking, kill).await
    }

    /// What is wrong with what was told, against what is told to somebody who has seen nothing yet.
    async fn compare(&self, gateway: &mut Gateway) -> Vec<String> {
        let mut wrong = Vec::new();
        if !self.told.is_sorted_by(|one, two| one.cursor < two.cursor) {
            wrong.push("cursors do not grow".to_owned());
        }
        let later = events(&self.look(gateway, None, None).await);
        let (told, all) = (durable(&self.told), durable(&later));
        // One that finds nothing proves nothing.
        assert_ne!(told.get(1..).unwrap_or_default(), all);
        if told != all {
            wrong.push(format!("{told:#?}\nwas told, and afterwards\n{all:#?}"));
        }
        let (told, all) = (texts(&self.told), texts(&later));
        if told != all {
            wrong.push(format!("{told:?} was said, and afterwards {all:?}"));
        }
        wrong
    }
}

/// What stands in the journal.
fn durable(told: &[Event]) -> Vec<&Event> {
    let of_text = ["block_ended", "block_started", "text"];
    let told = told.iter();
    told.filter(|event| !of_text.iter().any(|kind| event.data["event"] == *kind))
        .collect()
}

/// The texts of all replies that hold.
fn texts(told: &[Event]) -> BTreeMap<(u64, u64), String> {
    let of = |event: &Event| {
        let number = |name: &str| event.data[name].as_u64().unwrap_or_default();
        (number("round"), number("attempt"))
    };
    let superseded: BTreeSet<_> = told
        .iter()
        .filter(|event| event.data["event"] == "superseded")
        .map(of)
        .collect();
    let mut texts = BTreeMap::new();
    for event in told.iter().filter(|event| event.data["event"] == "text") {
        if !superseded.contains(&of(event)) {
            let text: &mut String = texts.entry(of(event)).or_default();
            text.push_str(event.data["text"].as_str().unwrap_or_default());
        }
    }
    texts
}

/// The body of an answer, if it came whole.
fn body(answer: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(answer).ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

/// The events that came whole.
fn events(answer: &[u8]) -> Vec<Event> {
    let text = String::from_utf8_lossy(answer);
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    // What does not end in an empty line broke off.
    let whole = body.rfind("\n\n").map_or("", |end| &body[..end]);
    let event = |text: &str| {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        Some(Event {
            cursor: field("id: ")?.parse().ok()?,
            data: serde_json::from_str(field("data: ")?).ok()?,
        })
    };
    whole.split("\n\n").filter_map(event).collect()
}

const PLACES: &[(&str, u64)] = &[
    ("after-append", 1),
    ("after-append", 4),
    ("after-model", 2),
    ("after-tell", 3),
    ("after-tool", 3),
    ("before-append", 2),
    ("before-append", 5),
    ("before-model", 3),
    ("before-tell", 2),
    ("before-tool", 5),
    ("between-actions", 2),
    ("delta", 2),
    ("delta", 30),
    ("during-tool", 4),
];

const INSTANTS: u64 = 24;
/// About how long a turn takes, and a little more.
const MAX_TIME: Duration = Duration::from_millis(120);
const MAX_RESTARTS: u32 = 6;
