//! Approved, killed, resumed: what a person has said yes to is done once, wherever the program dies.

use jackfield_domain::fact::Fact;
use pty_process::Pts;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::process::Child;
use tokio::time::{Duration, sleep, timeout};

use crate::deaths::{TIME_LIMIT, When, live};
use crate::judge::{Judge, Survived};
use crate::kept::Kept;
use crate::table;
use crate::world::World;

#[tokio::test]
async fn what_was_allowed_is_done_once_wherever_the_program_dies() {
    let kills = KILLS
        .iter()
        .flat_map(|when| ORDERS.map(|order| (*when, order)));
    let table = table::all(kills, |(when, order)| survive(when, order)).await;
    table.promised("Allowed and denied from elsewhere, and killed");
    for when in KILLS {
        if let When::At(place, _) = when {
            let kills = table.kills(place);
            assert!(kills >= 3, "{place}: only {kills} kills landed");
        }
    }
}

/// When the two questions are answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    /// The program has heard of one answer before it is killed.
    Between,
    /// Of both of them only whoever goes on hears.
    Later,
    /// The same; what allows later calls, too, is there before the denial, which holds all the same.
    LaterAllowed,
}

const ORDERS: [Order; 3] = [Order::Between, Order::Later, Order::LaterAllowed];

/// Asks at a terminal, dies before or after the answers come, and goes on to its end.
async fn survive(when: When, order: Order) -> Survived {
    let world = World::with("[policy.tools]\n\"bank/*\" = \"allow\"\n\"bank/pay\" = \"ask\"").await;
    let dies_of_it = when == When::At("delivered", 1);
    // It hears of the second answer, then.
    let dies_at = match order {
        Order::Between => When::At("delivered", 2),
        Order::Later | Order::LaterAllowed => when,
    };
    let crash = if dies_of_it { dies_at.crash() } else { None };
    let mut child = at_terminal(&world, crash.as_deref());
    let waits = timeout(TIME_LIMIT, waits(&world)).await;
    let waits = waits.expect("two payments are asked about");
    let mut judge = Judge::new(&world, format!("approved, {when:?}, {order:?}"));
    // The second payment is denied, the first one allowed, and so are those that come later.
    let deny = &["approvals", "deny", "--json", &waits[1]][..];
    let grant = &["approvals", "allow", "--json", "--session", &waits[0]][..];
    let mut answers = match order {
        Order::Between | Order::Later => vec![deny, grant],
        Order::LaterAllowed => vec![grant, deny],
    };
    if order == Order::Between {
        give(&world, answers.remove(0)).await;
        timeout(TIME_LIMIT, consumed(&world))
            .await
            .expect("it hears of the answer");
    }
    if !dies_of_it {
        child.start_kill().expect("it can be killed");
        child.wait().await.expect("it has been killed");
    }
    for answer in answers {
        give(&world, answer).await;
    }
    if dies_of_it {
        let died = timeout(TIME_LIMIT, child.wait()).await.expect("it dies");
        assert!(!died.expect("a status").success());
        judge.died(when).await;
    } else {
        judge.resumes(when).await;
    }
    judge.until_it_ends().await;
    let kept = Kept::read(&world).await;
    assert!(kept.end().is_some(), "{when:?}: {}", kept.state());
    let paid = |nth: u64| {
        let effects = world.effects();
        let one = |effect: &&Value| effect["tool"] == "pay" && effect["arguments"]["nth"] == nth;
        effects.iter().filter(one).count()
    };
    // Between its start in the journal and its sending it may not have been made: nobody knows, and the
    // model is told so.
    let unsent = [When::At("after-append", 1), When::At("before-tool", 1)].contains(&when);
    assert!(
        paid(1) == 1 || (unsent && paid(1) == 0),
        "{when:?}: {}",
        paid(1)
    );
    assert_eq!(paid(2), 0, "{when:?}");
    assert_eq!(paid(3), 1, "{when:?}");
    judge.verdict().await
}

/// Answers a question from elsewhere.
async fn give(world: &World, answer: &[&str]) {
    let answered = live(world.about(answer, None), When::Never).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
}

/// Waits until the turn has an answer of a person in its journal.
async fn consumed(world: &World) {
    let is_closed = |fact: &Fact| matches!(fact, Fact::WaitClosed { .. });
    while !Kept::read(world).await.facts.iter().any(is_closed) {
        sleep(Duration::from_millis(10)).await;
    }
}

/// The program that begins the turn, with a person before it.
pub(crate) fn at_terminal(world: &World, crash: Option<&str>) -> Child {
    let (mut pty, pts): (_, Pts) = pty_process::open().expect("there are terminals");
    let ask = world.about(
        &["ask", "--session", "survivor", "Pay the three bills."],
        crash,
    );
    let ask = ask.as_std();
    let environment = ask.get_envs();
    let environment = environment.filter_map(|(name, value)| Some((name, value?)));
    let folder = ask.get_current_dir().expect("it is started in a project");
    let child = pty_process::Command::new(ask.get_program())
        .args(ask.get_args())
        .env_clear()
        .envs(environment)
        .env("TERM", "xterm-256color")
        .current_dir(folder)
        .kill_on_drop(true)
        .spawn(pts);
    tokio::spawn(async move {
        let mut shown = [0; 4096];
        while let Ok(1..) = pty.read(&mut shown).await {}
    });
    child.expect("the program starts")
}

/// The questions about the two payments, when they are asked.
async fn waits(world: &World) -> Vec<String> {
    loop {
        let kept = Kept::read(world).await;
        let opened = kept.facts.iter().filter_map(|fact| {
            if let Fact::WaitOpened { wait } = fact {
                return Some(wait.id.as_str().to_owned());
            }
            None
        });
        let opened: Vec<String> = opened.collect();
        // The other calls have an outcome by then, so that nothing else is under way.
        if opened.len() == 2 && kept.finished().len() == 2 {
            return opened;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// When the answers come, and where the answered turn is taken up.
const KILLS: &[When] = &[
    When::Never,
    When::At("delivered", 1),
    When::At("before-append", 1),
    When::At("after-append", 1),
    When::At("before-tool", 1),
    When::At("during-tool", 1),
    When::At("after-tool", 1),
    When::At("before-append", 2),
];
