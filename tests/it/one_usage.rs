//! Whichever way a model is called, reports, budgets and metrics count the same: histories of turns, of requests that are
//! passed through and of batches, over gateways that are killed.

use std::time::Duration;

use jackfield_domain::usage::Usage;
use jackfield_testkit::server::{Response, TestServer};
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::harness::{Gateway, Kept, early_in_a_day, kept};

/// A way to call a model, or what happens between the calls.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Way {
    /// The results of a batch are fetched; those of an odd one, twice.
    Batch,
    /// A turn of a client of OpenAI's API that leaves nothing behind.
    ChatTurn,
    /// A session of two turns is compacted.
    Compaction,
    Count,
    Embedding,
    /// The gateway is killed, and another one goes on.
    Kill,
    PassedChat,
    PassedMessage,
    /// A turn of two rounds.
    Turn,
}

const WAYS: [Way; 9] = [
    Way::Batch,
    Way::ChatTurn,
    Way::Compaction,
    Way::Count,
    Way::Embedding,
    Way::Kill,
    Way::PassedChat,
    Way::PassedMessage,
    Way::Turn,
];

/// What was used so far, and what it costs in millionths of a dollar, doubled.
#[derive(Default)]
struct Expected {
    cost: u64,
    /// Of all that the key used, which has a budget: batches are another client's.
    by_key: u64,
    input: u64,
    output: u64,
}

struct World {
    claude: ScriptedClaude,
    expected: Expected,
    files: Kept,
    gateway: Option<Gateway>,
    key: String,
    openai: TestServer,
}

/// The usage of the call of this number: no two are equal.
fn usage(nth: u64) -> Usage {
    Usage {
        input: 1000 + nth,
        output: 10 * (nth + 1),
        ..Usage::default()
    }
}

/// How many calls of Claude a way makes.
const fn calls(way: Way) -> u64 {
    match way {
        Way::Batch | Way::Count | Way::Embedding | Way::Kill | Way::PassedChat => 0,
        Way::ChatTurn | Way::PassedMessage => 1,
        Way::Turn => 2,
        Way::Compaction => 3,
    }
}

fn script(history: &[Way]) -> Vec<ScriptTurn> {
    let mut script = Vec::new();
    for way in history {
        for nth in 0..calls(*way) {
            let turn = if (*way, nth) == (Way::Turn, 0) {
                ScriptTurn::call("calculator", &json!({ "expression": "17*4" }))
            } else {
                ScriptTurn::text("So it is.")
            };
            let place = script.len() as u64;
            script.push(turn.using(usage(place)));
        }
    }
    script
}

impl World {
    async fn new(history: &[Way]) -> Self {
        early_in_a_day().await;
        let files = Kept::new();
        files.done(&["users", "add", "ann"]).await;
        let (_, key) = files.key(&["ann", "--cost-per-month", "1000"]).await;
        Self {
            claude: ScriptedClaude::start(script(history)).await,
            expected: Expected::default(),
            files,
            gateway: None,
            key,
            openai: TestServer::start().await,
        }
    }

    async fn start(&mut self) {
        let price = |name: &str| {
            format!(
                "[prices.\"{name}\"]\ninput = 1\noutput = 10\nvariants = [{{ tier = \"batch\", input = 0.5, output = 5 }}]\n"
            )
        };
        let config = format!(
            "[policy.tools]\n\"builtin/*\" = \"allow\"\n[serve]\nmetrics = true\n\
             [serve.tokens.root]\nenv = \"ROOT\"\nadmin = true\n\
             [serve.tokens.files]\nenv = \"FILES\"\n[serve.tokens.files.endpoints]\n\
             \"/v1/files/*\" = \"openai\"\n[providers.counter]\nkind = \"claude\"\nbase_url = \"{}\"\n\
             [providers.openai]\nbase_url = \"{}/v1\"\n{}{}",
            self.openai.base_url(),
            self.openai.base_url(),
            price("claude/claude-opus-5-5"),
            price("openai/gpt"),
        );
        let gateway = self
            .files
            .gateway()
            .at_with(&self.claude.base_url(), &config);
        let gateway = gateway.env("OPENAI_API_KEY", "sk-of-openai-0123");
        let gateway = gateway.env("ROOT", ROOT).env("FILES", FILES);
        self.gateway = Some(Gateway::listening(gateway.start()).await);
    }

    fn gateway(&self) -> &Gateway {
        self.gateway.as_ref().expect("it was started")
    }

    /// Waits until what the key used is counted, which is a moment after the reply.
    async fn counted(&self) {
        let counted = async {
            loop {
                let seen =
                    self.gateway()
                        .with_key(&self.key, "GET", "/api/v1/budgets", &json!(null));
                let seen = seen.answered().await.is(200);
                if seen["budgets"][0]["reserved"] == "0" {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let counted = timeout(Duration::from_secs(60), counted).await;
        counted.expect("it is counted");
    }

    fn add(&mut self, usage: Usage, by_key: bool) {
        let Expected {
            cost,
            by_key: of_key,
            input,
            output,
        } = &mut self.expected;
        let halves = if by_key { 2 } else { 1 };
        let all = halves * (usage.input + 10 * usage.output);
        *cost += all;
        *of_key += if by_key { all } else { 0 };
        *input += usage.input;
        *output += usage.output;
    }

    async fn post(&self, path: &str, body: Value, status: u16) -> Value {
        let asking = self.gateway().with_key(&self.key, "POST", path, &body);
        let asking = asking.header("x-jackfield-tools", TOOLS);
        asking.answered().await.is(status)
    }

    /// A request that is passed through, before which this is the provider's reply.
    async fn passed(&mut self, path: &str, used: Usage, reply: &Value) {
        self.openai.answer(Response::json(200, reply.to_string()));
        let body = json!({"model": "openai/gpt", "max_tokens": 9, "input": "x",
            "messages": [{"role": "user", "content": "hi"}]});
        let asking = self.gateway().with_key(&self.key, "POST", path, &body);
        let answer = asking.header("x-jackfield-tools", "none").answered().await;
        answer.is(200);
        assert_eq!(answer.header("x-jackfield-path"), "passthrough", "{path}");
        self.add(used, true);
    }

    async fn go(&mut self, nth: u64, first: u64, way: Way) {
        let used = usage(100 + nth);
        let chat = json!({"model": "claude/claude-opus-5-5", "max_tokens": 100,
            "messages": [{"role": "user", "content": "Is it so?"}]});
        match way {
            Way::Batch => {
                let usage = json!({"prompt_tokens": used.input, "completion_tokens": used.output});
                let body = json!({"model": "gpt", "usage": usage});
                let line =
                    json!({"custom_id": "1", "response": {"status_code": 200, "body": body}});
                for _ in 0..=nth % 2 {
                    self.openai.answer(Response::json(200, line.to_string()));
                    let path = format!("/v1/files/file-{nth}/content");
                    let asking = self.gateway().raw("GET", &path).header("x-api-key", FILES);
                    asking.answered().await.is(200);
                }
                self.add(used, false);
            }
            Way::ChatTurn => {
                self.post("/v1/chat/completions", chat, 200).await;
            }
            Way::Compaction | Way::Turn => {
                let session = self.post("/api/v1/sessions", json!({}), 201).await;
                let session = session["id"].as_str().expect("an id");
                let path = format!("/api/v1/sessions/{session}");
                let turns = if way == Way::Turn { 1 } else { 2 };
                for _ in 0..turns {
                    let body = json!({"message": "So. ".repeat(9000), "mode": "wait"});
                    self.post(&format!("{path}/turns"), body, 200).await;
                }
                if way == Way::Compaction {
                    self.post(&format!("{path}/compact"), json!({}), 201).await;
                }
            }
            Way::Count => {
                let reply = json!({"input_tokens": 77});
                self.openai.answer(Response::json(200, reply.to_string()));
                let body = json!({"model": "counter/opus", "messages": [{"role": "user", "content": "hi"}]});
                let path = "/v1/messages/count_tokens";
                let asking = self.gateway().with_key(&self.key, "POST", path, &body);
                let answer = asking.header("x-jackfield-tools", "none").answered().await;
                assert_eq!(answer.is(200)["input_tokens"], 77);
            }
            Way::Embedding => {
                let used = Usage { output: 0, ..used };
                let reply = json!({"data": [], "usage": {"prompt_tokens": used.input, "total_tokens": used.input}});
                self.passed("/v1/embeddings", used, &reply).await;
            }
            Way::Kill => {
                self.counted().await;
                let gateway = self.gateway.take().expect("it runs");
                gateway.running.kill();
                gateway.running.end().await;
                self.start().await;
            }
            Way::PassedChat => {
                let usage = json!({"prompt_tokens": used.input, "completion_tokens": used.output});
                let reply = json!({"model": "gpt", "choices": [], "usage": usage});
                self.passed("/v1/chat/completions", used, &reply).await;
            }
            Way::PassedMessage => {
                let asking = self
                    .gateway()
                    .with_key(&self.key, "POST", "/v1/messages", &chat);
                let answer = asking.header("x-jackfield-tools", "none").answered().await;
                answer.is(200);
                assert_eq!(answer.header("x-jackfield-path"), "passthrough");
            }
        }
        for call in first..first + calls(way) {
            self.add(usage(call), true);
        }
    }

    /// Each report says what is expected.
    async fn check(&self) {
        let Expected {
            cost,
            by_key,
            input,
            output,
        } = self.expected;
        self.counted().await;
        let dollars = |halves: u64| halves as f64 / 2e6;
        let is = |told: &Value, halves: u64| {
            let told: f64 = told.as_str().expect("an amount").parse().expect("a number");
            (told - dollars(halves)).abs() < 1e-9
        };
        let gateway = self.gateway();
        let budgets = gateway.with_key(&self.key, "GET", "/api/v1/budgets", &json!(null));
        let budgets = budgets.answered().await.is(200);
        let spent = &budgets["budgets"][0]["spent"];
        assert!(is(spent, by_key), "{spent} is not {}", dollars(by_key));
        let page = async || {
            let page = gateway.get("/metrics").header("x-api-key", ROOT);
            let page = page.answered().await;
            let sum = |name: &str, part: &str| {
                let lines = page
                    .text()
                    .lines()
                    .filter(|line| line.starts_with(name) && line.contains(part));
                lines
                    .map(|line| {
                        line.rsplit_once(' ')
                            .expect("a value")
                            .1
                            .parse::<f64>()
                            .expect("a number")
                    })
                    .sum::<f64>()
            };
            let tokens = "jackfield_ledger_tokens_total{";
            let (all, output) = (sum(tokens, ""), sum(tokens, "\"output\""));
            (
                all - output,
                output,
                sum("jackfield_ledger_cost_total{", ""),
            )
        };
        // The ledger reads the journal now and then.
        let counted = async {
            loop {
                let (told_input, told_output, told_cost) = page().await;
                if told_input == input as f64
                    && told_output == output as f64
                    && (told_cost - dollars(cost)).abs() < 1e-9
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        if timeout(Duration::from_secs(60), counted).await.is_err() {
            panic!(
                "{:?} is not {input}, {output}, {}",
                page().await,
                dollars(cost)
            );
        }
        let own = gateway
            .raw("GET", "/api/v1/usage")
            .header("x-api-key", ROOT);
        let own = own.answered().await.is(200);
        let total = &own["total"];
        let tokens = (
            &total["usage"]["input_tokens"],
            &total["usage"]["output_tokens"],
        );
        assert_eq!(tokens, (&json!(input), &json!(output)), "{total:#}");
        for by in ["model", "day", "session", "reply", "user"] {
            let ran = self.files.done(&["usage", "--by", by, "--json"]).await;
            let told: Value = serde_json::from_str(&ran.out).expect("JSON");
            let total = &told["total"];
            let tokens = (&total["input_tokens"], &total["output_tokens"]);
            assert_eq!(tokens, (&json!(input), &json!(output)), "{by} {total:#}");
            assert_eq!(total["unpriced_tokens"], 0);
            if input > 0 {
                let amount = &total["cost"][0]["amount"];
                assert!(is(amount, cost), "{by} {amount} is not {}", dollars(cost));
            }
        }
        let ran = self.files.done(&["usage", "--verify", "--json"]).await;
        let report: Value = serde_json::from_str(&ran.out).expect("JSON");
        let checks = report["budgets"].as_array().expect("a list");
        assert!(
            checks.iter().all(|check| check["equal"] == true),
            "{report:#}"
        );
    }
}

async fn all_say_the_same(history: Vec<Way>) {
    let mut world = World::new(&history).await;
    world.start().await;
    let mut first = 0;
    for (nth, way) in (0..).zip(&history) {
        world.go(nth, first, *way).await;
        first += calls(*way);
    }
    world.check().await;
    kept(&world.claude);
    world.gateway.take().expect("it runs").end().await;
}

fn histories() -> impl Strategy<Value = Vec<Way>> {
    let rest = proptest::collection::vec(select(&WAYS[..]), 0..4);
    (Just(WAYS.to_vec()).prop_shuffle(), rest).prop_map(|(all, rest)| [all, rest].concat())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reports_budgets_and_metrics_agree_on_any_history() {
    let mut runner = TestRunner::default();
    let mut checks = JoinSet::new();
    for _ in 0..3 {
        let history = histories().new_tree(&mut runner).expect("a history");
        let history = history.current();
        eprintln!("{history:?}");
        checks.spawn(all_say_the_same(history));
    }
    checks.join_all().await;
}

const ROOT: &str = "root-0123456789ab";
const FILES: &str = "files-0123456789ab";
const TOOLS: &str = "all";
