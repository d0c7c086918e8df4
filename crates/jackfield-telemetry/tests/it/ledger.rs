//! The ledger where the journal is read with trouble, or changes in unusual ways.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jackfield_domain::caller::tags::{Tag, TagNames};
use jackfield_domain::ids::SessionId;
use jackfield_domain::message::Message;
use jackfield_domain::price::Money;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::request::ModelRef;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::WallTime;
use jackfield_domain::usage::Usage;
use jackfield_engine::{Engine, SendMessage, TurnObserver, TurnOptions};
use jackfield_gateway::GatewayMetrics as _;
use jackfield_ports::journal::Journal;
use jackfield_store_memory::MemoryJournal;
use jackfield_telemetry::Metrics;
use jackfield_testkit::fakes::{FaultyJournal, JournalRequest, ScriptedModel, ScriptedReply};
use jackfield_testkit::server::Gate;
use jackfield_testkit::spending::record;

use crate::metrics::{engine, journal, ledger, metrics, now, read, run_turn, stored, totals};

/// Sends a message to a model without a price.
async fn send_unpriced(engine: &Engine) {
    let options = TurnOptions::new(ModelRef {
        model: "model".into(),
        provider: "provider".into(),
    });
    let message = SendMessage {
        opening: Opening::UserMessage(Arc::new(Message::user("go"))),
        options,
        session: SessionId::parse("one").expect("a valid id"),
    };
    engine.send(message, &mut ()).await.expect("an answer");
}

/// A cost that the provider says itself counts once, also while the next turn of its session is in progress.
#[tokio::test]
async fn a_billed_cost_counts_once() {
    let (journal, metrics, gate) = (journal(), metrics(), Gate::new());
    let model = ScriptedModel::new();
    let billed = |text| ReplyEnd {
        usage: Some(Usage {
            billed: Some(Money::parse(text).expect("money")),
            input: 100,
            output: 10,
            ..Usage::default()
        }),
        ..ReplyEnd::new(FinishReason::Stop)
    };
    let reply = |cost| ScriptedReply::text("done").ending(billed(cost));
    model.push_reply(reply("0.5"));
    model.push_reply(reply("0.25").held_at(&gate));
    let engine = Engine::builder(journal)
        .model("provider", model.port())
        .turn_observer(Arc::clone(&metrics) as Arc<dyn TurnObserver>)
        .build();
    send_unpriced(&engine).await;
    read(&metrics, &engine, now()).await;
    assert_eq!(totals(&metrics.page(&engine)), (110.0, 0.5));
    let second = tokio::spawn({
        let engine = engine.clone();
        async move { send_unpriced(&engine).await }
    });
    gate.reached().await;
    for _ in 0..2 {
        read(&metrics, &engine, now()).await;
        assert_eq!(totals(&metrics.page(&engine)), (110.0, 0.5));
    }
    gate.open();
    second.await.expect("an answer");
    read(&metrics, &engine, now()).await;
    assert_eq!(totals(&metrics.page(&engine)), (220.0, 0.75));
}

/// What a first reading has added before it failed is not added again.
#[tokio::test]
async fn a_first_reading_that_fails_counts_nothing() {
    let journal = Arc::new(FaultyJournal::new(journal()));
    let metrics = metrics();
    let engine = engine(&(Arc::clone(&journal) as Arc<dyn Journal>), &metrics, 1);
    let log = engine.spending().expect("a log");
    // Two pages.
    for nth in 0..600 {
        let record = record(&nth.to_string(), WallTime::from_millis(nth));
        log.record(&record).await.expect("recorded");
    }
    journal.fail_after(JournalRequest::SpendingRecords, 1);
    let failed = metrics.read_journal(&engine, now()).await;
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(ledger(&metrics.page(&engine)), BTreeMap::new());
    // This is neither lost nor counted twice.
    run_turn(&engine, "one").await;
    read(&metrics, &engine, now()).await;
    let (tokens, cost) = stored(&engine, 1).await;
    let expected = (600.0 * 1020.0 + tokens, cost);
    assert_eq!(totals(&metrics.page(&engine)), expected);
}

/// A process that reads for longer than the right to show the ledger holds keeps the right, and shows it then.
#[tokio::test(start_paused = true)]
async fn the_right_is_renewed_during_a_long_reading() {
    let (journal, gate) = (journal(), Gate::new());
    let slow = Arc::new(FaultyJournal::new(Arc::clone(&journal)));
    let (ones, others) = (metrics(), metrics());
    let one = engine(&(Arc::clone(&slow) as Arc<dyn Journal>), &ones, 0);
    let other = engine(&journal, &others, 1);
    run_turn(&other, "a").await;
    slow.hold_next_load(&gate);
    // By the time of the pages, the first right is over.
    let start = WallTime::from_millis(now().as_millis() - 12_000);
    let first = tokio::spawn({
        let (ones, one) = (Arc::clone(&ones), one.clone());
        async move { read(&ones, &one, start).await }
    });
    gate.reached().await;
    tokio::time::sleep(Duration::from_secs(13)).await;
    read(&others, &other, start.after(Duration::from_secs(13))).await;
    assert_eq!(ledger(&others.page(&other)), BTreeMap::new());
    gate.open();
    first.await.expect("it ends");
    assert_eq!(totals(&ones.page(&one)), stored(&one, 1).await);
}

/// A session that gets the id of one that was deleted is another one.
#[tokio::test]
async fn a_session_of_a_used_id_counts() {
    let time = AtomicI64::new(1_000);
    let clock = move || WallTime::from_millis(time.fetch_add(1, Ordering::Relaxed));
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::with_clock(clock));
    let metrics = metrics();
    let engine = engine(&journal, &metrics, 3);
    run_turn(&engine, "one").await;
    run_turn(&engine, "one").await;
    read(&metrics, &engine, now()).await;
    let before = totals(&metrics.page(&engine));
    assert_eq!(before, stored(&engine, 2).await);
    let session = SessionId::parse("one").expect("a valid id");
    journal.delete(&session).await.expect("deleted");
    run_turn(&engine, "one").await;
    for _ in 0..2 {
        read(&metrics, &engine, now()).await;
        let (tokens, cost) = stored(&engine, 1).await;
        let expected = (before.0 + tokens, before.1 + cost);
        assert_eq!(totals(&metrics.page(&engine)), expected);
    }
}

/// Of 2000 sessions, 500 have a series, and the others have one together; what is not listed has none.
#[tokio::test]
async fn values_of_tags_have_a_bound_and_sum_to_what_was_tagged() {
    let listed = TagNames::parse(["session", "team"]).expect("names");
    let metrics = Arc::new(Metrics::new("1.2.3").by_tags(&listed));
    let engine = engine(&journal(), &metrics, 0);
    read(&metrics, &engine, now()).await;
    let tag = |name: &str, value: String| Tag {
        name: name.into(),
        value: value.into(),
    };
    for nth in 0..2000 {
        let mut record = record(&nth.to_string(), now());
        let session = tag("session", format!("s{nth}"));
        record.tags = vec![tag("old", "x".to_owned()), session];
        metrics.record_stored(&record);
    }
    let page = metrics.page(&engine);
    let series: Vec<(&str, f64)> = ledger(&page)
        .into_iter()
        .filter(|(name, _)| name.starts_with("jackfield_ledger_tag_tokens_total"))
        .filter(|(name, _)| name.contains("input_uncached"))
        .map(|(name, value)| (name, value.parse().expect("a number")))
        .collect();
    assert_eq!(series.len(), 501);
    assert!(
        series
            .iter()
            .all(|(name, _)| name.contains("tag=\"session\""))
    );
    let all: f64 = series.iter().map(|(_, tokens)| tokens).sum();
    assert_eq!(all, 2_000_000.0);
    let others = series.iter().find(|(name, _)| name.contains("_OTHER"));
    assert_eq!(others.map(|(_, tokens)| *tokens), Some(1_500_000.0));
}
