//! Two gateways on one database share a budget.

use std::sync::Arc;

use jackfield_domain::usage::Usage;
use jackfield_testservers::claude::ScriptedClaude;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Gateway, early_in_a_day};
use crate::world::Database;

/// litellm#26672 and #30661: a key of 10 dollars spends 217, as each replica counts by itself.
#[tokio::test]
async fn two_gateways_spend_a_budget_once() {
    early_in_a_day().await;
    let database = Database::new("budgets");
    // No call uses more than it reserves.
    let used = Usage {
        input: 1,
        output: 100,
        ..Usage::default()
    };
    let claude = ScriptedClaude::start([ScriptTurn::text("Hi.").using(used).again()]).await;
    let run = async |arguments: &[&str]| {
        let ran = database.run(arguments).run().await;
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran.out
    };
    run(&["teams", "add", "research"]).await;
    run(&["teams", "limit", "research", "--tokens-per-day", "1000"]).await;
    run(&["users", "add", "ann", "--team", "research"]).await;
    let secret: Arc<str> = run(&["keys", "create", "ann"]).await.trim().into();
    let mut gateways = Vec::new();
    for _ in 0..2 {
        let serve = database.gateway().at(&claude.base_url());
        gateways.push(Arc::new(Gateway::listening(serve.start()).await));
    }
    let ask = async |gateway: &Gateway, secret: &str| {
        let body = json!({ "model": "claude/claude-opus-4-8", "max_tokens": 100,
            "messages": [{ "role": "user", "content": "hi" }] });
        let asking = gateway.post("/v1/chat/completions", &body);
        let answer = asking.header("x-api-key", secret).answered().await;
        assert!([200, 429].contains(&answer.status), "{answer:?}");
        answer
    };
    let mut asking = JoinSet::new();
    for nth in 0..40 {
        let (gateway, secret) = (Arc::clone(&gateways[nth % 2]), Arc::clone(&secret));
        asking.spawn(async move { ask(&gateway, &secret).await.status });
    }
    let statuses = asking.join_all().await;
    let answered = statuses.iter().filter(|status| **status == 200).count() as u64;
    assert!(answered > 0 && answered < 40, "{statuses:?}");
    // What is left is spent by one after the other.
    let mut further = 0;
    while ask(&gateways[further % 2], &secret).await.status == 200 {
        further += 1;
        assert!(further < 40);
    }
    let report: Value =
        serde_json::from_str(&run(&["usage", "--verify", "--json"]).await).expect("JSON");
    let [check] = report["budgets"].as_array().expect("a list").as_slice() else {
        panic!("{report:#}");
    };
    assert_eq!(
        (&check["name"], &check["equal"]),
        (&json!("team:research"), &json!(true))
    );
    assert_eq!(check["reservations"], 0);
    let tokens = check["counted"]["day"]["tokens"]
        .as_u64()
        .expect("a number");
    assert_eq!(tokens, (answered + further as u64) * 101);
    // One round over, and no more.
    assert!((1000..1000 + 101).contains(&tokens), "{tokens}");
    for gateway in gateways {
        let gateway = Arc::into_inner(gateway).expect("the only one");
        gateway.end().await;
    }
}
