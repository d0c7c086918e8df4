//! Users of a journal of a released version at a gateway of today: their keys, logins, limits, budgets, keys at
//! providers, and servers.

use std::collections::BTreeSet;

use jackfield_domain::quota::BudgetPeriod;
use jackfield_domain::time::WallTime;
use serde_json::{Value, json};

use super::world::{ANNS, GATEWAYS, MODEL, World};
use super::{AccountsJournal, AccountsSecrets, secrets};
use crate::harness::{Answer, Gateway};

/// Every key and login still belongs to its user, and wrong ones are refused.
pub(crate) async fn people_are_who_they_were(journal: &AccountsJournal, text: &str) {
    let (world, secrets) = (World::new(None).await, secrets(text));
    let gateway = world.gateway(journal).await;
    keys_open(&gateway, &secrets).await;
    logins_hold(&gateway, &secrets).await;
    limits_hold(&world, &gateway, &secrets).await;
    budgets_have_counted(&gateway, &secrets, text).await;
    servers_are_used(&world, &gateway, &secrets).await;
    world.end(gateway).await;
    // The counters and the records are those of the release, and what was added since then.
    world.done(journal, &["usage", "--verify"], "").await;
}

/// Each key is accepted or refused as before.
async fn keys_open(gateway: &Gateway, secrets: &AccountsSecrets) {
    let mut refused = BTreeSet::new();
    for (name, secret) in secrets {
        if !name.starts_with("login-") {
            let path = "/api/v1/sessions";
            let answer = gateway.api(secret, "GET", path, json!({})).await;
            if answer.status != 200 {
                assert_eq!(answer.status, 401, "{name}: {answer:?}");
                refused.insert(name.as_str());
            }
        }
    }
    let expected = ["ann-revoked", "ben", "carl-replaced"];
    assert_eq!(refused, BTreeSet::from(expected));
    let users = gateway.api(&secrets["root"], "GET", "/api/v1/users", json!({}));
    let users = users.await.is(200);
    assert_eq!(users["users"].as_array().map(Vec::len), Some(7), "{users}");
    let users = gateway.api(&secrets["carl"], "GET", "/api/v1/users", json!({}));
    users.await.is(403);
}

/// The logins that are not over, of a key and of a user.
async fn logins_hold(gateway: &Gateway, secrets: &AccountsSecrets) {
    for (name, user) in [
        ("login-ann-lasting", "ann"),
        ("login-sign-in-lasting", "ann@example.com"),
    ] {
        let asking = gateway.get("/api/v1/login");
        let login = asking.header("cookie", &secrets[name]).answered().await;
        let login = login.is(200);
        assert_eq!(login["user"], user, "{login}");
        assert_eq!(login["signed_in"], true, "{login}");
    }
}

/// A key has its models and its limit, and its user's own key at the provider is used.
async fn limits_hold(world: &World, gateway: &Gateway, secrets: &AccountsSecrets) {
    let small = &secrets["ann-small"];
    for name in ["ann-rotated", "ann-rotated-anew"] {
        let refused = passed(gateway, &secrets[name], "openai/small-1").await;
        refused.is(403);
    }
    let first = passed(gateway, small, "openai/small-1").await;
    first.is(200);
    assert_eq!(first.header("x-ratelimit-limit-requests"), "1");
    assert_eq!(first.header("x-ratelimit-remaining-requests"), "0");
    assert_eq!(first.header("x-ratelimit-limit-tokens"), "100000");
    passed(gateway, &secrets["carl"], "openai/small-1")
        .await
        .is(200);
    let requests = world.openai.requests();
    let keys: Vec<_> = requests
        .iter()
        .map(|request| request.header("authorization").unwrap_or_default())
        .collect();
    assert_eq!(keys, [ANNS, GATEWAYS].map(|key| format!("Bearer {key}")));
    let listed = gateway.api(small, "GET", "/api/v1/provider-keys", json!({}));
    let listed = listed.await.is(200);
    assert_eq!(listed["keys"][0]["provider"], "openai", "{listed}");
}

/// The budgets of a key have what was counted, in the day and the month in which that was.
async fn budgets_have_counted(gateway: &Gateway, secrets: &AccountsSecrets, text: &str) {
    let dan = &secrets["dan"];
    let seen = gateway.api(dan, "GET", "/api/v1/budgets", json!({})).await;
    let seen = seen.is(200);
    let budgets = seen["budgets"].as_array().expect("a list");
    let limits: BTreeSet<_> = budgets
        .iter()
        .map(|budget| ["period", "unit", "limit"].map(|name| budget[name].as_str()))
        .collect();
    let expected = [
        ["day", "USD", "2.5"],
        ["day", "tokens", "100000"],
        ["month", "USD", "30"],
        ["month", "tokens", "900000"],
    ];
    let expected = expected.map(|budget| budget.map(Some));
    assert_eq!(limits, BTreeSet::from(expected), "{seen}");
    let name = budgets[0]["name"].as_str().expect("an id");
    let counted = format!("  key:{name}, ");
    let mut lines = text.lines();
    let line = lines.find(|line| line.starts_with(&counted));
    let line = line.expect("what was counted");
    for budget in budgets {
        let field = |name: &str| budget[name].as_str().expect("text");
        let period = match field("period") {
            "day" => BudgetPeriod::Day,
            _ => BudgetPeriod::Month,
        };
        let (_, total) = line
            .split_once(&format!("{} of ", period.as_str()))
            .expect("a total");
        let (begins, total) = total.split_once(": ").expect("a day");
        let begins = WallTime::from_rfc3339(&format!("{begins}T00:00:00Z"));
        let ends = period.end(begins.expect("a day")).to_rfc3339();
        let mut amounts = total.split(", ");
        let spent = amounts.find_map(|amount| amount.strip_suffix(&format!(" {}", field("unit"))));
        let spent = if field("ends") == ends {
            spent
        } else {
            Some("0")
        };
        assert_eq!(Some(field("spent")), spent, "{budget}: {line}");
    }
}

/// Users have their servers, and those of their team; a sign-in is one.
async fn servers_are_used(world: &World, gateway: &Gateway, secrets: &AccountsSecrets) {
    for (name, tools) in [("ann-laptop", "team-rain/*"), ("carl", "own-weather/*")] {
        let body = json!({ "model": MODEL, "max_tokens": 1000,
            "messages": [{ "role": "user", "content": format!("Weather, {name}?") }] });
        let path = "/v1/chat/completions";
        let asking = gateway.with_key(&secrets[name], "POST", path, &body);
        let answer = asking.header("x-jackfield-tools", tools).answered().await;
        let answer = answer.is(200);
        let said = &answer["choices"][0]["message"]["content"];
        assert_eq!(said, "It rains.", "{name}: {answer}");
    }
    assert_eq!(world.weather.count("call get_weather"), 2);
    for (name, expected) in [
        ("ann-laptop", json!([["rain", "team:research", true, null]])),
        (
            "carl",
            json!([
                ["notes", "user:carl", false, null],
                ["weather", "user:carl", true, null]
            ]),
        ),
        ("eve", json!([["tracker", "team:support", true, true]])),
    ] {
        let path = "/api/v1/own-servers";
        let listed = gateway.api(&secrets[name], "GET", path, json!({})).await;
        let listed = listed.is(200);
        let servers = listed["servers"].as_array().expect("a list").iter();
        let servers = servers.map(|server| {
            let fields = ["name", "owner", "enabled", "signed_in"];
            fields
                .map(|field| server[field].clone())
                .into_iter()
                .collect()
        });
        let servers: Vec<Value> = servers.collect();
        assert_eq!(Value::from(servers), expected, "{listed}");
    }
}

/// A request that is passed through.
async fn passed(gateway: &Gateway, secret: &str, model: &str) -> Answer {
    let body = json!({ "model": model, "max_tokens": 10,
        "messages": [{ "role": "user", "content": "hi" }] });
    let asking = gateway.with_key(secret, "POST", "/v1/chat/completions", &body);
    asking.header("x-jackfield-tools", "none").answered().await
}
