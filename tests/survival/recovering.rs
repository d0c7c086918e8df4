//! Many turns are open when the gateway is killed: their models are asked again side by side, and neither a
//! client that asks again nor a new request waits for the others.

use std::time::Instant;

use jackfield_testkit::server::Gate;
use jackfield_testservers::script::{Script, ScriptTurn};
use serde_json::json;
use tokio::net::TcpStream;

use crate::served::{Asking, Gateway};
use crate::world::World;

#[tokio::test]
async fn all_turns_go_on_before_any_of_them_is_answered() {
    recovered("", TURNS).await;
}

#[tokio::test]
async fn of_more_turns_than_go_on_at_once_the_one_goes_first_that_its_client_asks_for() {
    // Fewer requests may be answered than turns go on: those are not counted.
    let limits = "[serve.limits]\nrecovered_turns = 20\nstreams = 10";
    recovered(limits, 20).await;
}

/// Kills a gateway with so many open turns, and starts one with these limits, under which so many go on.
async fn recovered(limits: &str, at_once: usize) {
    let (others, last) = (Gate::new(), Gate::new());
    let world = World::scripted(script(&others, &last)).await;
    let gateway = start(&world).await;
    let mut open: Vec<TcpStream> = Vec::new();
    for nth in 0..TURNS - 1 {
        open.push(gateway.send(&asking(nth)).await);
    }
    let vendor = world.claude.server();
    vendor.request(TURNS - 2).await;
    // The last one to begin is the last one to be taken up.
    open.push(gateway.send(&asking(TURNS - 1)).await);
    vendor.request(TURNS - 1).await;
    let life = gateway.end().await;
    assert!(life.was_killed, "{life:?}");
    drop(open);

    world.configure(limits);
    let mut gateway = start(&world).await;
    let started = Instant::now();
    vendor.request(TURNS + at_once - 1).await;
    println!(
        "{at_once} of {TURNS} turns go on {:?} after the start",
        started.elapsed()
    );
    last.open();
    let again = gateway.ask(&asking(TURNS - 1), None).await;
    assert!(is_answered(&again, &message(TURNS - 1)), "{}", text(&again));
    let new = gateway.ask(&new(), None).await;
    assert!(is_answered(&new, NEW), "{}", text(&new));
    // All others wait for their models, and no more of them than may.
    let asked_for = if at_once == TURNS { 1 } else { 2 };
    assert_eq!(vendor.requests().len(), TURNS + at_once + asked_for);

    others.open();
    for nth in 0..TURNS {
        let answer = gateway.ask(&asking(nth), None).await;
        assert!(is_answered(&answer, &message(nth)), "{}", text(&answer));
    }
    // Each turn was asked for once in each life.
    assert_eq!(vendor.requests().len(), 2 * TURNS + 1);
    assert_eq!(world.claude.violations(), Vec::<String>::new());
    gateway.end().await;
}

async fn start(world: &World) -> Gateway {
    match Gateway::start(world, None).await {
        Ok(gateway) => gateway,
        Err(life) => panic!("{life:?}"),
    }
}

/// Answers a new message at once, and all others when these gates are open.
fn script(others: &Gate, last: &Gate) -> Script {
    let (others, last) = (others.clone(), last.clone());
    Script::by(move |asked| {
        let said = &asked.last_text;
        let turn = ScriptTurn::text(answer_to(said));
        Some(if said == NEW {
            turn
        } else if *said == message(TURNS - 1) {
            turn.pause_after(0, &last)
        } else {
            turn.pause_after(0, &others)
        })
    })
}

/// The request of a turn, the same whenever it is sent.
fn asking(nth: usize) -> Asking {
    request(&message(nth)).header("idempotency-key", &format!("turn-{nth}"))
}

fn new() -> Asking {
    request(NEW)
}

fn request(message: &str) -> Asking {
    let body = json!({ "model": "claude/claude-sonnet-5", "input": message });
    Asking::post("/v1/responses", &body).header("x-jackfield-tools", "none")
}

fn message(nth: usize) -> String {
    format!("message {nth}.")
}

fn answer_to(message: &str) -> String {
    format!("The answer to: {message}")
}

fn is_answered(answer: &[u8], message: &str) -> bool {
    let answer = text(answer);
    answer.split(' ').nth(1) == Some("200") && answer.contains(&answer_to(message))
}

fn text(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer).into_owned()
}

const NEW: &str = "A new message.";
const TURNS: usize = 100;
