//! The page of a gateway whose engine ran some turns.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::price::{Money, Price, PriceList, Rates};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_domain::spending;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_engine::{
    Clock as _, Durability, EndedTurn, Engine, McpObserver, McpRequest, McpSession, McpSide,
    McpTransport, SendMessage, SessionQuery, SystemClock, TurnObserver, TurnOptions,
};
use jackfield_gateway::{EndedRequest, GatewayMetrics};
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_telemetry::Metrics;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};
use jackfield_testkit::spending::record;

pub(crate) fn journal() -> Arc<dyn Journal> {
    Arc::new(MemoryJournal::default())
}

pub(crate) fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new("1.2.3"))
}

pub(crate) fn now() -> WallTime {
    SystemClock::default().now().wall
}

/// The journal is read at this time.
pub(crate) async fn read(metrics: &Metrics, engine: &Engine, at: WallTime) {
    let read = metrics.read_journal(engine, at).await;
    read.expect("the journal can be read");
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
        currency: "USD".into(),
        date: "2026-11-01".into(),
        rates: Rates {
            cache_read: money("0.01"),
            cache_write: money("0.02"),
            ..Rates::new(money("0.02"), money("0.03"))
        },
        source: "a test".into(),
        variants: Vec::new(),
    }
}

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

pub(crate) fn ledger(page: &str) -> BTreeMap<&str, &str> {
    let mut samples = samples(page);
    samples.retain(|name, _| name.starts_with("jackfield_ledger"));
    samples
}

#[tokio::test]
async fn a_turn_is_counted_by_its_facts() {
    let (journal, metrics) = (journal(), metrics());
    let engine = engine(&journal, &metrics, 1);
    run_turn(&engine, "one").await;
    let request = EndedRequest {
        error: None,
        method: "POST",
        route: "/v1/messages",
        status: Some(200),
        took: Duration::from_millis(20),
    };
    GatewayMetrics::request_ended(&*metrics, &request);
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

/// The sums of the ledger of this page: the tokens of all models and kinds, and the cost.
pub(crate) fn totals(page: &str) -> (f64, f64) {
    let sum = |name: &str| {
        let samples = ledger(page).into_iter();
        let samples = samples.filter(|(sample, _)| sample.starts_with(name));
        samples
            .map(|(_, value)| value.parse::<f64>().expect("a number"))
            .sum()
    };
    (sum("jackfield_ledger_tokens"), sum("jackfield_ledger_cost"))
}

/// The tokens and the cost of this many turns, which are all that the journal has.
pub(crate) async fn stored(engine: &Engine, turns: usize) -> (f64, f64) {
    let query = SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    };
    let (mut found, mut usage) = (0, Usage::default());
    for row in engine.sessions(&query).await.expect("a list") {
        let loaded = engine.load(&row.session).await.expect("a session");
        for turn in spending::by_turn(&loaded.steps) {
            found += 1;
            usage += turn.usage();
        }
    }
    assert_eq!(found, turns);
    let cost = price()
        .bill(&usage)
        .expect("a usual tier")
        .amount
        .to_string();
    let tokens = u32::try_from(usage.input + usage.output).expect("a few");
    (tokens.into(), cost.parse().expect("a number"))
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
    second.record_spending(record("late", now()));
    second.flush_receipts().await;
    assert_eq!(ledger(&metrics.page(&second)), BTreeMap::new());
    read(&metrics, &second, now()).await;
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
    read(&metrics, &second, now()).await;
    assert_eq!(ledger(&metrics.page(&second)), expected);
}

/// Of several processes one shows the ledger, with what all of them wrote; another one goes on when it is gone.
#[tokio::test]
async fn the_sum_over_all_processes_is_the_ledger() {
    let journal = journal();
    let (ones, others) = (metrics(), metrics());
    let one = engine(&journal, &ones, 3);
    let other = engine(&journal, &others, 3);
    let sum = |pages: [&str; 2]| {
        let [first, second] = pages.map(totals);
        (first.0 + second.0, first.1 + second.1)
    };
    let start = now();
    run_turn(&one, "a").await;
    read(&ones, &one, start).await;
    read(&others, &other, start).await;
    run_turn(&other, "b").await;
    run_turn(&one, "a").await;
    // A session that the other process goes on with.
    run_turn(&other, "a").await;
    for _ in 0..2 {
        read(&ones, &one, start).await;
        read(&others, &other, start).await;
        let pages = [ones.page(&one), others.page(&other)];
        assert_eq!(sum([&pages[0], &pages[1]]), stored(&other, 4).await);
        assert_eq!(ledger(&pages[1]), BTreeMap::new());
    }
    // The first one is killed. Its right to show the ledger ends by itself, and until then no gateway shows it.
    run_turn(&one, "b").await;
    drop((one, ones));
    read(&others, &other, start).await;
    assert_eq!(ledger(&others.page(&other)), BTreeMap::new());
    let later = start.after(Duration::from_secs(20));
    read(&others, &other, later).await;
    run_turn(&other, "c").await;
    assert_eq!(totals(&others.page(&other)), stored(&other, 6).await);
    // One that ends in good order gives it up at once.
    others.leave_journal(&other).await;
    assert_eq!(ledger(&others.page(&other)), BTreeMap::new());
    let thirds = metrics();
    let third = engine(&journal, &thirds, 0);
    read(&thirds, &third, later).await;
    assert_eq!(totals(&thirds.page(&third)), stored(&third, 6).await);
}

/// The records of other processes are found, each once, and so are those that are stored while the journal is read.
#[tokio::test]
async fn records_of_all_processes_are_counted_once() {
    let journal = journal();
    let (ones, others) = (metrics(), metrics());
    let one = engine(&journal, &ones, 0);
    let other = engine(&journal, &others, 0);
    let start = now();
    let ended = |id: &str, seconds| record(id, start.after(Duration::from_secs(seconds)));
    for (engine, id, seconds) in [
        (&one, "first", 0),
        (&other, "second", 1),
        (&one, "third", 2),
    ] {
        engine.record_spending(ended(id, seconds));
        engine.flush_receipts().await;
        read(&ones, &one, start).await;
    }
    // 1,020 tokens each. The other's second one comes after the first reading.
    assert_eq!(totals(&ones.page(&one)).0, 2.0 * 1020.0);
    for minutes in [3, 6, 9] {
        let at = start.after(Duration::from_secs(60 * minutes));
        read(&ones, &one, at).await;
        let page = ones.page(&one);
        assert_eq!(totals(&page).0, 3.0 * 1020.0, "{minutes}");
        read(&others, &other, at).await;
        assert_eq!(ledger(&others.page(&other)), BTreeMap::new());
    }
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
    read(&metrics, &engine, now()).await;
    let counted = metrics.page(&engine);
    let session = SessionId::parse("one").expect("a valid id");
    let steps = engine.load(&session).await.expect("a session").steps;
    metrics.turn_ended(&EndedTurn {
        requests: Vec::new(),
        durability: Durability::Durable,
        session,
        steps,
    });
    let reported = metrics.page(&engine);
    assert!(!ledger(&counted).is_empty(), "{counted}");
    assert_eq!(ledger(&reported), ledger(&counted));
}

/// A request to a server, with its attributes as labels.
#[tokio::test]
async fn mcp_requests_and_sessions_are_counted() {
    let (journal, metrics) = (journal(), metrics());
    let engine = engine(&journal, &metrics, 0);
    let mut call = McpRequest {
        revision: Some("2026-07-28".into()),
        server: Some("box".into()),
        tool: Some("look".into()),
        ..McpRequest::new(McpSide::Client, McpTransport::Pipe, "tools/call")
    };
    McpObserver::request_ended(&*metrics, &call);
    call.error = Some("tool_error".into());
    McpObserver::request_ended(&*metrics, &call);
    // What a client of ours calls, and is refused, may be of no tool.
    let mut refused = McpRequest {
        tool: Some("an invention".into()),
        ..McpRequest::new(McpSide::Server, McpTransport::Tcp, "tools/call")
    };
    refused.refuse(-32602);
    McpObserver::request_ended(&*metrics, &refused);
    for side in [McpSide::Client, McpSide::Server] {
        metrics.session_ended(&McpSession {
            error: None,
            revision: "2025-11-25".into(),
            server: None,
            side,
            took: Duration::from_secs(1),
            transport: McpTransport::Tcp,
        });
    }
    let page = metrics.page(&engine);
    let mut found = samples(&page);
    found.retain(|name, _| name.starts_with("mcp_"));
    let look = |error| {
        format!(
            "mcp_client_operation_duration_seconds_count{{mcp_method_name=\"tools/call\",jackfield_server=\"box\",gen_ai_tool_name=\"look\",gen_ai_prompt_name=\"\",mcp_protocol_version=\"2026-07-28\",network_transport=\"pipe\",error_type=\"{error}\",rpc_response_status_code=\"\"}}"
        )
    };
    let session = |side| {
        format!(
            "mcp_{side}_session_duration_seconds_count{{mcp_protocol_version=\"2025-11-25\",jackfield_server=\"\",network_transport=\"tcp\",error_type=\"\"}}"
        )
    };
    let expected = [
        look(""),
        look("tool_error"),
        session("client"),
        session("server"),
        "mcp_server_operation_duration_seconds_count{mcp_method_name=\"tools/call\",jackfield_server=\"\",gen_ai_tool_name=\"\",gen_ai_prompt_name=\"\",mcp_protocol_version=\"\",network_transport=\"tcp\",error_type=\"-32602\",rpc_response_status_code=\"-32602\"}".to_owned(),
    ];
    let expected: BTreeMap<&str, &str> = expected.iter().map(|name| (&**name, "1")).collect();
    assert_eq!(found, expected);
}

/// A client that names ever new models cannot raise the number of series without a bound.
#[tokio::test]
async fn the_number_of_series_is_bounded() {
    let (journal, metrics) = (journal(), metrics());
    let engine = engine(&journal, &metrics, 0);
    read(&metrics, &engine, now()).await;
    let mut record = record("", now());
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

#[tokio::test]
async fn a_configured_model_keeps_its_place_among_those_that_strangers_name() {
    let journal = journal();
    let mut record = record("", now());
    record.model.model = "configured".into();
    let metrics = Metrics::new("1.2.3").expecting(std::slice::from_ref(&record.model));
    let metrics = Arc::new(metrics);
    let engine = engine(&journal, &metrics, 0);
    read(&metrics, &engine, now()).await;
    let mut strange = record.clone();
    for n in 0..2000 {
        (strange.id, strange.model.model) = (n.to_string().into(), format!("model-{n}").into());
        metrics.record_stored(&strange);
    }
    metrics.record_stored(&record);
    let page = metrics.page(&engine);
    let inputs = ledger(&page).into_iter();
    let mut inputs = inputs.filter(|(name, _)| name.contains("input_uncached"));
    assert!(inputs.any(|(name, _)| name.contains("\"configured\"")));
}
