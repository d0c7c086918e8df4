//! Killed while a server at an address holds a request, works at a task, or asks a person. The server lives on.

use std::fs;

use jackfield_domain::fact::{CallEnd, Fact};
use jackfield_testservers::script::{Script, ScriptRequest, ScriptTurn};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep, timeout};

use crate::approved::at_terminal;
use crate::deaths::{TIME_LIMIT, When, live};
use crate::judge::{Judge, Survived};
use crate::kept::Kept;
use crate::started::Started;
use crate::table;
use crate::world::World;

#[tokio::test]
async fn killed_at_every_place_of_a_call_over_http_a_turn_ends_as_if_nothing_had_been() {
    let kills = PLACES
        .iter()
        .flat_map(|place| (1..=6).map(|nth| When::At(place, nth)));
    let table = table::all(kills, survive).await;
    table.promised("Killed in calls over HTTP");
    for place in PLACES {
        let kills = table.kills(place);
        assert!(kills >= 3, "{place}: only {kills} kills landed");
    }
}

async fn survive(when: When) -> Survived {
    let steps = json!([
        { "progress": [1, 2, "it is done"] },
        { "sleep": 15 },
        { "text": "done" },
    ]);
    let world = World::new().await.over_http("both", &steps);
    let mut judge = Judge::new(&world, format!("over HTTP, {when:?}"));
    judge.asks(when).await;
    judge.until_it_ends().await;
    judge.verdict().await
}

#[tokio::test]
async fn of_the_calls_that_a_server_holds_only_the_harmless_run_again() {
    for era in ["legacy", "modern"] {
        let world = World::new().await;
        let gate = world.path("gate");
        let world = world.over_http(era, &json!([{ "until": gate }, { "text": "done" }]));
        let mut judge = Judge::new(&world, format!("held, {era}"));
        let mut started = Started::new(world.ask(None));
        // Calls that change something may wait for each other.
        until(|| times(&world, "pay", 1) == 1).await;
        started.kill();
        let life = started.end().await;
        assert!(life.was_killed);
        judge.lives(life, When::Never).await;
        let before: Vec<Value> = world.effects();
        fs::write(&gate, "").expect("the home can be written");
        judge.until_it_ends().await;
        let kept = Kept::read(&world).await;
        assert!(kept.end().is_some(), "{}", kept.state());
        assert_eq!(times(&world, "pay", 1), 1, "{era}");
        let was_sent = |tool| before.iter().any(|effect| effect["tool"] == tool);
        for tool in ["balance", "limit"] {
            let times = times(&world, tool, 1);
            // A request of the killed program may arrive after `before`, and its call runs twice, too.
            let least = 1 + usize::from(was_sent(tool));
            assert!(
                (least..=2).contains(&times),
                "{era}: {tool} ran {times} times"
            );
        }
        assert!(reported(&kept) >= 1, "{era}: {:?}", kept.facts);
        judge.verdict().await.held();
    }
}

#[tokio::test]
async fn a_task_is_taken_up_by_its_id_and_its_result_arrives() {
    let working = json!({ "status": "working", "pollIntervalMs": 10 });
    let mut states = vec![working; 8];
    let words = json!([{ "type": "text", "text": "paid" }]);
    states.push(json!({ "status": "completed", "result": { "content": words } }));
    let world = World::scripted(Script::by(pays)).await;
    world.configure(POLICY);
    let world = world.over_http("modern", &json!([{ "task": states }]));
    let mut judge = Judge::new(&world, "a task");
    let mut started = Started::new(world.ask(None));
    until(|| world.bank_logged("said tasks/get").len() >= 2).await;
    started.kill();
    let life = started.end().await;
    assert!(life.was_killed);
    judge.lives(life, When::Never).await;
    let asked = world.bank_logged("said tasks/get").len();
    judge.until_it_ends().await;
    let kept = Kept::read(&world).await;
    assert!(kept.end().is_some(), "{}", kept.state());
    assert_eq!(times(&world, "pay", 1), 1);
    assert!(world.bank_logged("said tasks/get").len() > asked);
    assert_eq!(world.bank_logged("cancelled task"), [""; 0]);
    assert_eq!(reported(&kept), 0, "{:?}", kept.facts);
    let requests = world.claude.requests();
    let last = requests.last().expect("the model is asked").to_string();
    assert!(last.contains("\"paid\""), "{last}");
    judge.verdict().await.held();
}

#[tokio::test]
async fn a_question_that_is_open_at_the_kill_can_be_answered_and_its_call_is_not_made_again() {
    let world = World::scripted(Script::by(pays)).await;
    world.configure(POLICY);
    let form = json!({
        "message": "Which account?",
        "requestedSchema": { "type": "object", "properties": { "account": { "type": "string" } } },
    });
    let world = world.over_http("legacy", &json!([{ "elicit": form }]));
    let mut judge = Judge::new(&world, "a question");
    let mut child = at_terminal(&world, None);
    let opens = async {
        loop {
            if let Some(wait) = waits(&Kept::read(&world).await) {
                return wait;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let wait = timeout(TIME_LIMIT, opens).await;
    let wait = wait.expect("the question is asked");
    child.start_kill().expect("it can be killed");
    child.wait().await.expect("it has been killed");
    judge.died(When::Never).await;
    // The server's request died with the connection, so no answer reaches it.
    let deny = ["approvals", "deny", "--json", &wait];
    let answered = live(world.about(&deny, None), When::Never).await;
    assert_eq!(answered.code, Some(0), "{answered:?}");
    judge.until_it_ends().await;
    let kept = Kept::read(&world).await;
    assert!(kept.end().is_some(), "{}: {:?}", kept.state(), kept.facts);
    assert_eq!(times(&world, "pay", 1), 1);
    assert_eq!(reported(&kept), 1, "{:?}", kept.facts);
    judge.verdict().await.held();
}

/// The question that is open.
fn waits(kept: &Kept) -> Option<String> {
    kept.facts.iter().find_map(|fact| {
        if let Fact::WaitOpened { wait } = fact {
            return Some(wait.id.as_str().to_owned());
        }
        None
    })
}

/// Waits until this is so.
pub(crate) async fn until(is_so: impl Fn() -> bool + Send + Sync) {
    let becomes = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIME_LIMIT, becomes).await.expect("it becomes so");
}

/// How often the bank began this call.
fn times(world: &World, tool: &str, nth: u64) -> usize {
    let effects = world.effects();
    let one = |effect: &&Value| effect["tool"] == tool && effect["arguments"]["nth"] == nth;
    effects.iter().filter(one).count()
}

/// How many calls are reported to the model without their outcome.
fn reported(kept: &Kept) -> usize {
    let is_reported = |fact: &&Fact| {
        matches!(
            fact,
            Fact::CallClosed {
                end: CallEnd::Reported,
                ..
            }
        )
    };
    kept.facts.iter().filter(is_reported).count()
}

/// A model that pays once.
fn pays(asked: &ScriptRequest<'_>) -> Option<ScriptTurn> {
    let messages = asked.body["messages"].as_array()?;
    let has_paid = messages
        .iter()
        .any(|message| message["role"] == "assistant");
    Some(if has_paid {
        ScriptTurn::text("It is paid.")
    } else {
        ScriptTurn::call("bank__pay", &json!({ "nth": 1 }))
    })
}

const PLACES: &[&str] = &["after-append", "after-tool", "before-tool", "during-tool"];
const POLICY: &str = "[policy.tools]\n\"bank/*\" = \"allow\"";
