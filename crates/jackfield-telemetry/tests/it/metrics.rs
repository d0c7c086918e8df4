//! The page of a gateway whose engine ran some turns.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::price::{Money, Price, PriceList};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::WallTime;
use jackfield_engine::{
    Clock as _, Durability, EndedTurn, Engine, SendMessage, SystemClock, TurnObserver, TurnOptions,
};
use jackfield_gateway::{EndedRequest, GatewayMetrics as _};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_telemetry::Metrics;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use jackfield_testkit::spending::record;

pub(crate) fn journal() -> Arc<dyn Journal> {
    Arc::new(MemoryJournal::default())
}

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new("1.2.3", SystemClock::default().now().wall))
}

pub(crate) fn engine(journal: &Arc<dyn Journal>, metrics: &Arc<Metrics>, replies: usize) -> Engine {
    let model = ScriptedModel::new();
    for _ in 0..replies {
        model.push_reply(ScriptedReply::text("done"));
    }
    Engine::builder(Arc::clone(journal))
        .model("provider", model.port())
        .turn_observer(Arc::clone(metrics) as Arc<dyn TurnObserver>)
        .build()
}

/// Two cents for a token of input, and three for one of output.
fn price() -> Price {
    let money = |text| Money::parse(text).expect("money");
    Price {
        cache_read: money("0.01"),
        cache_write: money("0.02"),
        currency: "USD".into(),
        date: "2026-11-01".into(),
        input: money("0.02"),
        output: money("0.03"),
        source: "a test".into(),
    }
}

/// Runs a turn in a session.
pub(crate) async fn run_turn(engine: &Engine, session: &str) {
    let mut options = TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    });
    let mut prices = PriceList::default();
    prices.set("provider", "model", price());
    options.prices = Arc::new(prices);
    let message = SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user("go"))),
        options,
        session: SessionId::parse(session).expect("a valid id"),
    };
    engine.send(message, &mut ()).await.expect("an answer");
}

/// The samples of the page, without buckets and sums, which depend on the time.
fn samples(page: &str) -> BTreeMap<&str, &str> {
    assert!(page.ends_with("# EOF\n"), "{page}");
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter(|line| !line.contains("_bucket{") && !line.contains("_sum"));
    lines
        .map(|line| line.rsplit_once(' ').expect("a value"))
        .collect()
}

fn ledger(page: &str) -> BTreeMap<&str, &str> {
    let mut samples = samples(page);
    samples.retain(|name, _| name.starts_with("jackfield_ledger"));
    samples
}

#[tokio::test]
async fn a_turn_is_counted_by_its_facts() {
    let (journal, metrics) = (journal(), metrics());
    let engine = engine(&journal, &metrics, 1);
    run_turn(&engine, "one").await;
    metrics.request_ended(&EndedRequest {
        error: None,
        method: "POST",
        route: "/v1/messages",
        status: Some(200),
        took: Duration::from_millis(20),
    });
    let page = metrics.page(&engine);
    let model = "gen_ai_provider_name=\"provider\",gen_ai_request_model=\"model\",gen_ai_operation_name=\"chat\"";
    let tokens =
        |kind| format!("gen_ai_client_token_usage_count{{{model},gen_ai_token_type=\"{kind}\"}}");
    let expected = [
        format!("gen_ai_client_operation_duration_seconds_count{{{model},error_type=\"\"}}"),
        format!("gen_ai_client_operation_time_to_first_chunk_seconds_count{{{model}}}"),
        tokens("input"),
        tokens("output"),
        "gen_ai_invoke_agent_duration_seconds_count{gen_ai_agent_name=\"\",end=\"answered\"}".to_owned(),
        "http_server_request_duration_seconds_count{http_request_method=\"POST\",http_route=\"/v1/messages\",http_response_status_code=\"200\",error_type=\"\"}".to_owned(),
        "jackfield_build_info{version=\"1.2.3\"}".to_owned(),
    ];
    let mut expected: BTreeMap<&str, &str> =
        expected.iter().map(|name| (name.as_str(), "1")).collect();
    expected.insert("jackfield_open_turns", "0");
    assert_eq!(samples(&page), expected);
}

/// The ledger is hidden until the journal was read, and then has what earlier processes wrote, and each turn once.
#[tokio::test]
async fn the_ledger_is_that_of_the_journal() {
    let journal = journal();
    let before = metrics();
    let first = engine(&journal, &before, 1);
    run_turn(&first, "one").await;
    first.record_spending(record("early", WallTime::from_millis(5)));
    first.flush_receipts().await;
    let metrics = metrics();
    let second = engine(&journal, &metrics, 2);
    run_turn(&second, "two").await;
    let now = SystemClock::default().now().wall;
    second.record_spending(record("late", now));
    assert_eq!(ledger(&metrics.page(&second)), BTreeMap::new());
    metrics.count_journal(&second).await;
    second.flush_receipts().await;
    run_turn(&second, "three").await;
    let page = metrics.page(&second);
    // Three turns of 5 tokens in and 2 out; two records without a price.
    let tokens = |provider, model, kind| {
        format!(
            "jackfield_ledger_tokens_total{{gen_ai_provider_name=\"{provider}\",gen_ai_request_model=\"{model}\",gen_ai_token_type=\"{kind}\"}}"
        )
    };
    let expected = [
        (tokens("claude", "opus", "cache_read"), "0"),
        (tokens("claude", "opus", "cache_write"), "0"),
        (tokens("claude", "opus", "input_uncached"), "2000"),
        (tokens("claude", "opus", "output"), "40"),
        (tokens("provider", "model", "cache_read"), "0"),
        (tokens("provider", "model", "cache_write"), "0"),
        (tokens("provider", "model", "input_uncached"), "15"),
        (tokens("provider", "model", "output"), "6"),
        ("jackfield_ledger_cost_total{gen_ai_provider_name=\"provider\",gen_ai_request_model=\"model\",currency=\"USD\"}".to_owned(), "0.48"),
    ];
    let expected: BTreeMap<&str, &str> = expected
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    assert_eq!(ledger(&page), expected);
}

/// A turn that ended just before the journal was read may be reported just after.
#[tokio::test]
async fn a_turn_that_is_reported_after_the_journal_was_read_counts_once() {
    let journal = journal();
    let metrics = metrics();
    let other = Engine::builder(Arc::clone(&journal));
    let model = ScriptedModel::new();
    model.push_reply(ScriptedReply::text("done"));
    let other = other.model("provider", model.port()).build();
    run_turn(&other, "one").await;
    let engine = engine(&journal, &metrics, 0);
    metrics.count_journal(&engine).await;
    let counted = metrics.page(&engine);
    let session = SessionId::parse("one").expect("a valid id");
    let steps = engine.load(&session).await.expect("a session").steps;
    metrics.turn_ended(&EndedTurn {
        durability: Durability::Durable,
        session,
        steps,
    });
    let reported = metrics.page(&engine);
    assert!(!ledger(&counted).is_empty(), "{counted}");
    assert_eq!(ledger(&reported), ledger(&counted));
}

/// A client that names ever new models cannot raise the number of series without a bound.
#[tokio::test]
async fn the_number_of_series_is_bounded() {
    let (journal, metrics) = (journal(), metrics());
    let engine = engine(&journal, &metrics, 0);
    metrics.count_journal(&engine).await;
    let mut record = record("", WallTime::from_millis(5));
    for n in 0..2000 {
        (record.id, record.model.model) = (n.to_string().into(), format!("model-{n}").into());
        metrics.record_stored(&record);
    }
    let page = metrics.page(&engine);
    let inputs: Vec<_> = ledger(&page)
        .into_iter()
        .filter(|(name, _)| name.contains("input_uncached"))
        .collect();
    assert_eq!(inputs.len(), 501);
    let others = inputs.iter().find(|(name, _)| name.contains("_OTHER"));
    assert_eq!(others.map(|(_, tokens)| *tokens), Some("1500000"));
}
