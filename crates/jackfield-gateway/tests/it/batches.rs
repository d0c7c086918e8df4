//! Batches that are passed through: what their results used is counted once, for the client that created them.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use jackfield_domain::price::{Money, Price, PriceList, PriceVariant, Rates, ServiceTier};
use jackfield_domain::quota::Quota;
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_gateway::{OpenEndpoint, Principal};
use serde_json::{Value, json};

use crate::upstream::{PassingWorld, body_of, request};

/// A world whose client `ann` has a budget and may use the files and batches of the provider, and the client `ben`, who may
/// as well.
fn world() -> (PassingWorld, Principal) {
    world_at(None)
}

/// The same, at this public address.
fn world_at(public: Option<&str>) -> (PassingWorld, Principal) {
    let rates = |input| Rates::new(Money::from_picos(input), Money::from_picos(input * 5));
    let variant = |above, tier, input| PriceVariant {
        above,
        rates: rates(input),
        tier,
    };
    let batch = Some(ServiceTier::Batch);
    let price = Price {
        currency: "USD".into(),
        date: "2026-11-30".into(),
        rates: rates(2000),
        source: "a test".into(),
        variants: vec![
            variant(0, batch, 1000),
            variant(1000, batch, 3000),
            variant(1000, None, 6000),
        ],
    };
    let mut world = PassingWorld::with(|config| {
        let mut prices = PriceList::default();
        for model in ["gpt", "opus", "haiku", "flash"] {
            prices.set("a", model, price.clone());
        }
        config.default_options.prices = Arc::new(prices);
        config.public_url = public.map(Into::into);
    });
    let paths = [
        "/v1/batches",
        "/v1/batches/*",
        "/v1/files/*",
        "/v1/messages/batches",
        "/v1/messages/batches/*",
        "/v1beta/models/*",
        "/v1beta/batches/*",
        "/download/v1beta/files/*",
    ];
    let open = |path: &&str| OpenEndpoint {
        path: (*path).into(),
        provider: "a".into(),
    };
    world.client.endpoints = paths.iter().map(open).collect();
    let ben = Principal {
        name: "ben".into(),
        principal: "ben".into(),
        ..world.client.clone()
    };
    let quota = Quota {
        tokens_per_day: Some(10_000),
        ..Quota::default()
    };
    world.client.quotas = vec![("key:k".into(), quota)];
    (world, ben)
}

/// Asks as this client, and reads the whole reply, in pieces of this size.
async fn ask(
    world: &PassingWorld,
    client: &Principal,
    (method, path): (Method, &str),
    reply: &str,
    piece: usize,
) {
    let pieces: Vec<&[u8]> = reply.as_bytes().chunks(piece).collect();
    world.upstream.answer("application/json", &pieces);
    let mut request = request(path, "{}");
    request.method = method;
    let prepared = world.gateway.passthrough_only(client, &request);
    let sent = prepared.expect("it is open").send().await.expect("a reply");
    let body = body_of(sent).await.expect("the whole reply");
    assert_eq!(String::from_utf8(body).expect("a text"), reply);
}

async fn look(world: &PassingWorld, client: &Principal, path: &str, reply: &str) {
    ask(world, client, (Method::GET, path), reply, 7).await;
}

async fn create(world: &PassingWorld, path: &str, reply: &Value) {
    let reply = reply.to_string();
    ask(world, &world.client, (Method::POST, path), &reply, 9).await;
}

/// Who used what, by the records: the principal, the model, input and output, and the cost.
async fn counted(world: &PassingWorld) -> Vec<(String, String, u64, u64, u64)> {
    let records = world.records().await;
    let mut counted: Vec<_> = records.iter().map(line).collect();
    counted.sort();
    counted
}

fn line(record: &SpendingRecord) -> (String, String, u64, u64, u64) {
    let usage = &record.usage;
    let price = record.price.as_ref().expect("a price");
    assert_eq!(usage.tier, Some(ServiceTier::Batch));
    (
        record.principal.to_string(),
        record.model.model.to_string(),
        usage.input,
        usage.output,
        price.cost(usage).expect("a rate").as_picos(),
    )
}

fn openai_batch(status: &str, usage: &Value) -> Value {
    json!({
        "id": "batch_1", "object": "batch", "status": status, "model": "gpt",
        "output_file_id": if status == "completed" { json!("file-out") } else { json!(null) },
        "usage": usage,
    })
}

/// What the results of the batch add up to.
fn used() -> Value {
    json!({"input_tokens": 2100, "output_tokens": 40})
}

async fn create_openai(world: &PassingWorld) {
    let begun = openai_batch("validating", &json!(null));
    create(world, "/v1/batches", &begun).await;
}

fn openai_results() -> String {
    let line = |body: &Value| {
        let response = json!({"status_code": 200, "body": body});
        json!({"id": "batch_req_1", "custom_id": "1", "response": response, "error": null})
    };
    let chat = json!({"model": "gpt-2026-08-07", "usage": {"prompt_tokens": 2000, "completion_tokens": 10}});
    let responses =
        json!({"model": "gpt-2026-08-07", "usage": {"input_tokens": 100, "output_tokens": 30}});
    let failed = json!({"error": {"message": "no"}});
    let lines = [&chat, &failed, &responses].map(|body| line(body).to_string());
    lines.join("\n")
}

fn ann(model: &str, input: u64, output: u64, cost: u64) -> (String, String, u64, u64, u64) {
    ("ann".into(), model.into(), input, output, cost)
}

#[tokio::test]
async fn a_batch_of_openai_is_counted_once_by_whichever_address() {
    let usage = json!({"input_tokens": 2100, "output_tokens": 40, "total_tokens": 2140,
        "input_tokens_details": {"cached_tokens": 0}});
    let over = openai_batch("completed", &usage).to_string();
    let list = json!({"object": "list", "data": [openai_batch("completed", &usage)]}).to_string();
    let looks = [
        ("/v1/batches/batch_1", over),
        ("/v1/batches", list),
        ("/v1/files/file-out/content", openai_results()),
    ];
    for first in 0..looks.len() {
        let (world, ben) = world();
        create_openai(&world).await;
        let running = openai_batch(
            "in_progress",
            &json!({"input_tokens": 9, "output_tokens": 9}),
        );
        look(&world, &ben, "/v1/batches/batch_1", &running.to_string()).await;
        assert_eq!(counted(&world).await, []);
        if first == 2 {
            // Its file names no batch, so the batch is looked at before; an older one says no usage.
            let old = openai_batch("completed", &json!(null)).to_string();
            look(&world, &ben, "/v1/batches/batch_1", &old).await;
        }
        for nth in 0..2 * looks.len() {
            let (path, reply) = &looks[(first + nth) % looks.len()];
            look(&world, &ben, path, reply).await;
            // No request was above the threshold, but for the first of the file.
            let model = if first == 2 { "gpt-2026-08-07" } else { "gpt" };
            let found = world.records().await;
            let found: Vec<_> = found
                .iter()
                .map(|one| (&*one.principal, &*one.model.model, one.usage.total()))
                .collect();
            assert_eq!(found, [("ann", model, 2140)], "{first} {nth} {path}");
        }
        let states = world
            .gateway
            .engine()
            .budget_states(&world.client.quotas)
            .await;
        let spent: Vec<u64> = states
            .expect("a journal")
            .iter()
            .map(|state| state.spent)
            .collect();
        assert_eq!(spent, [2140]);
    }
}

#[tokio::test]
async fn a_sum_is_above_no_threshold() {
    let (world, _) = world();
    create_openai(&world).await;
    let usage = json!({"input_tokens": 5000, "output_tokens": 100});
    let over = openai_batch("completed", &usage).to_string();
    look(&world, &world.client, "/v1/batches/batch_1", &over).await;
    let cost = 5000 * 1000 + 100 * 5000;
    assert_eq!(counted(&world).await, [ann("gpt", 5000, 100, cost)]);
}

fn claude_results() -> String {
    let message = |model: &str, input: u64, output: u64| {
        let usage =
            json!({"input_tokens": input, "output_tokens": output, "service_tier": "batch"});
        let message = json!({"type": "message", "model": model, "usage": usage});
        json!({"custom_id": "1", "result": {"type": "succeeded", "message": message}}).to_string()
    };
    let errored = json!({"custom_id": "2", "result": {"type": "errored", "error": {}}});
    [
        message("opus", 900, 10),
        errored.to_string(),
        message("haiku", 50, 5),
        message("opus", 1001, 1),
        message("opus", 800, 20),
        "not json".into(),
        String::new(),
    ]
    .join("\n")
}

#[tokio::test]
async fn results_of_claude_are_counted_by_model_and_length() {
    let (world, ben) = world();
    let batch =
        json!({"id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress"});
    create(&world, "/v1/messages/batches", &batch).await;
    look(
        &world,
        &ben,
        "/v1/messages/batches/msgbatch_1",
        &batch.to_string(),
    )
    .await;
    let path = "/v1/messages/batches/msgbatch_1/results";
    let results = claude_results();
    for piece in [1, 100, results.len()] {
        ask(&world, &ben, (Method::GET, path), &results, piece).await;
        assert_eq!(
            counted(&world).await,
            [
                ann("haiku", 50, 5, 50 * 1000 + 5 * 5000),
                ann("opus", 1001, 1, 1001 * 3000 + 15_000),
                ann("opus", 1700, 30, 1700 * 1000 + 30 * 5000),
            ]
        );
    }
}

#[tokio::test]
async fn results_that_nobody_is_known_to_have_asked_for_are_counted_for_the_one_who_fetches_them() {
    let (world, ben) = world();
    let results = claude_results();
    look(&world, &ben, "/v1/messages/batches/b/results", &results).await;
    let counted = counted(&world).await;
    assert_eq!(counted.len(), 3);
    assert!(counted.iter().all(|one| one.0 == "ben"), "{counted:?}");
}

#[tokio::test]
async fn results_that_are_cut_off_are_counted_when_they_are_fetched_whole() {
    let (world, ben) = world();
    let results = claude_results();
    let mut asked = request("/v1/messages/batches/b/results", "");
    asked.method = Method::GET;
    let (first, rest) = results.as_bytes().split_at(300);
    world.upstream.answer("application/x-jsonl", &[first, rest]);
    let prepared = world.gateway.passthrough_only(&ben, &asked).expect("open");
    let mut reply = prepared.send().await.expect("a reply");
    reply.body.next().await.expect("a piece");
    drop(reply);
    assert_eq!(counted(&world).await, []);
    look(&world, &ben, "/v1/messages/batches/b/results", &results).await;
    assert_eq!(counted(&world).await.len(), 3);
}

#[tokio::test]
async fn results_whose_last_line_is_cut_are_not_counted() {
    let (world, ben) = world();
    let results = claude_results();
    let cut = &results[..results.find("haiku").expect("a second result")];
    look(&world, &ben, "/v1/messages/batches/b/results", cut).await;
    assert_eq!(counted(&world).await, []);
}

#[tokio::test]
async fn a_batch_that_was_created_elsewhere_is_counted_by_its_results_alone() {
    let (world, ben) = world();
    let list = json!({"data": [openai_batch("completed", &used())]}).to_string();
    look(&world, &ben, "/v1/batches", &list).await;
    look(
        &world,
        &world.client,
        "/v1/files/file-out/content",
        &openai_results(),
    )
    .await;
    look(&world, &ben, "/v1/batches", &list).await;
    let found = world.records().await;
    let found: Vec<_> = found
        .iter()
        .map(|one| (&*one.principal, one.usage.total()))
        .collect();
    assert_eq!(found, [("ann", 2140)]);
}

#[tokio::test]
async fn a_batch_is_not_counted_again_once_its_record_is_deleted() {
    let (world, ben) = world();
    create_openai(&world).await;
    let over = openai_batch("completed", &used()).to_string();
    let looks = [
        ("/v1/batches/batch_1", &over),
        ("/v1/files/file-out/content", &openai_results()),
    ];
    let mut counts = Vec::new();
    for (path, reply) in [looks[0], looks[1], looks[0], looks[1]] {
        look(&world, &ben, path, reply).await;
        counts.push(world.records().await.len());
        let engine = world.gateway.engine();
        let later = engine.now().after(Duration::from_secs(1));
        let log = engine.spending().expect("a log");
        log.delete_before(later, 100).await.expect("a journal");
    }
    assert_eq!(counts, [1, 0, 0, 0]);
}

#[tokio::test]
async fn a_batch_without_a_model_is_counted_by_its_results() {
    let (world, ben) = world();
    create_openai(&world).await;
    let mut over = openai_batch("completed", &used());
    over["model"] = json!(null);
    look(&world, &ben, "/v1/batches/batch_1", &over.to_string()).await;
    assert_eq!(counted(&world).await, []);
    look(
        &world,
        &ben,
        "/v1/files/file-out/content",
        &openai_results(),
    )
    .await;
    let found = world.records().await;
    let models: Vec<&str> = found.iter().map(|one| &*one.model.model).collect();
    assert_eq!(models, ["gpt-2026-08-07"]);
}

#[tokio::test]
async fn results_of_claude_are_fetched_whole_and_by_the_gateway() {
    for (public, expected) in [
        (None, ""),
        (Some("https://gate.example"), "https://gate.example"),
    ] {
        let (world, ben) = world_at(public);
        let one = |id: &str| {
            let url = format!("https://api.anthropic.com/v1/messages/batches/{id}/results");
            json!({"id": id, "type": "message_batch", "results_url": url})
        };
        let list = json!({"data": [one("msgbatch_1"), {"id": "b", "results_url": null}, one("msgbatch_2")]});
        for sent in [one("msgbatch_1"), list] {
            world
                .upstream
                .answer("application/json", &[sent.to_string().as_bytes()]);
            let mut asked = request("/v1/messages/batches/msgbatch_1", "");
            asked.method = Method::GET;
            let prepared = world.gateway.passthrough_only(&ben, &asked).expect("open");
            let reply = prepared.send().await.expect("a reply");
            let body = body_of(reply).await.expect("a whole reply");
            let moved = sent
                .to_string()
                .replace("https://api.anthropic.com", expected);
            assert_eq!(String::from_utf8(body).expect("a text"), moved);
        }
    }
}

#[tokio::test]
async fn a_batch_of_gemini_is_counted_inline_and_by_its_file() {
    let response = json!({"modelVersion": "flash", "usageMetadata": {"promptTokenCount": 70, "candidatesTokenCount": 3}});
    let inline =
        json!({"inlinedResponses": {"inlinedResponses": [{"response": response}, {"error": {}}]}});
    let filed = json!({"responsesFile": "files/batch-1"});
    for output in [inline, filed] {
        let (world, ben) = world();
        let batch = |output: &Value| {
            let metadata = json!({"model": "models/flash", "state": "BATCH_STATE_SUCCEEDED", "output": output});
            json!({"name": "batches/1", "metadata": metadata})
        };
        let path = "/v1beta/models/flash:batchGenerateContent";
        create(&world, path, &batch(&json!(null))).await;
        let over = batch(&output).to_string();
        let line = json!({"key": "1", "response": response}).to_string();
        for _ in 0..2 {
            look(&world, &ben, "/v1beta/batches/1", &over).await;
            if output.get("responsesFile").is_some() {
                let path = "/download/v1beta/files/batch-1:download";
                look(&world, &ben, path, &line).await;
            }
        }
        let cost = 70 * 1000 + 3 * 5000;
        assert_eq!(counted(&world).await, [ann("flash", 70, 3, cost)]);
    }
}

#[tokio::test]
async fn a_client_whose_budget_is_used_up_creates_no_batch() {
    let (world, ben) = world();
    create_openai(&world).await;
    let usage = json!({"input_tokens": 10_000, "output_tokens": 1});
    let over = openai_batch("completed", &usage).to_string();
    look(&world, &ben, "/v1/batches/batch_1", &over).await;
    world.gateway.engine().flush_receipts().await;
    let asked = request("/v1/batches", "{}");
    let prepared = world.gateway.passthrough_only(&world.client, &asked);
    let refused = prepared.expect("it is open").send().await;
    let refused = refused.expect_err("nothing is left");
    assert!(refused.message.contains("is used up"), "{refused:?}");
    let prepared = world.gateway.passthrough_only(&ben, &asked);
    prepared
        .expect("it is open")
        .send()
        .await
        .expect("ben has no budget");
}

#[tokio::test]
async fn a_reply_that_is_no_batch_counts_nothing() {
    let (world, _) = world();
    let huge = format!("{{\"a\":\"{}\"}}\n", "x".repeat(17 << 20));
    for reply in [
        "",
        "{",
        "[]",
        "\u{feff}",
        r#"{"id":5,"status":"completed","usage":{"input_tokens":1}}"#,
        r#"{"id":"b","status":"completed","usage":{"input_tokens":-1,"output_tokens":"many"}}"#,
        r#"{"id":"b","status":"completed","usage":[1]}"#,
        r#"{"data":{"id":"b"}}"#,
        r#"{"result":{"message":{"usage":{}}}}"#,
        r#"{"response":{"body":null}}"#,
        &huge,
    ] {
        for path in [
            "/v1/batches",
            "/v1/batches/b",
            "/v1/files/f/content",
            "/v1beta/batches/b",
        ] {
            ask(&world, &world.client, (Method::GET, path), reply, 1 << 16).await;
        }
    }
    assert_eq!(world.records().await, []);
}
