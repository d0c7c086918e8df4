//! Ann of the team `t`, whose turns have budgets, and an engine for them.

use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{EntryKind, EntryName};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::price::{Money, Price, PriceList, Rates};
use jackfield_domain::quota::{Amount, Meter, MeterOperation, MeterOutcome, Quota};
use jackfield_domain::request::ToolRun;
use jackfield_domain::usage::Usage;
use jackfield_engine::{Clock, Engine, KeyOptions, SystemClock, TurnOptions, UserUpdate};
use jackfield_ports::journal::Journal;
use jackfield_testkit::fakes::{ScriptedModel, ScriptedReply};

use crate::fixture::{Log, OneTool, options};

/// Each reply uses 1000 tokens in and 100 out: 0.002 USD.
pub(crate) const ROUND: u64 = 1100;

fn used() -> Usage {
    Usage {
        input: 1000,
        output: 100,
        ..Usage::default()
    }
}

pub(crate) fn answer() -> ScriptedReply {
    ScriptedReply::text("done").with_usage(used())
}

pub(crate) fn call() -> ScriptedReply {
    ScriptedReply::calls([("box__act", r#"{"n":1}"#)]).with_usage(used())
}

fn prices() -> Arc<PriceList> {
    let money = |micros: u64| Money::from_picos(micros * 1_000_000);
    let price = Price {
        currency: "USD".into(),
        date: "2026-11-01".into(),
        rates: Rates {
            cache_read: money(1),
            cache_write: money(1),
            ..Rates::new(money(1), money(10))
        },
        source: "a test".into(),
        variants: Vec::new(),
    };
    let mut prices = PriceList::default();
    prices.set("provider", "model", price);
    Arc::new(prices)
}

/// An engine with a model of these replies and one tool.
pub(crate) fn engine(
    journal: Arc<dyn Journal>,
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> (ScriptedModel, Engine) {
    engine_at(Arc::new(SystemClock::default()), journal, replies)
}

/// The same, with this clock.
pub(crate) fn engine_at(
    clock: Arc<dyn Clock>,
    journal: Arc<dyn Journal>,
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> (ScriptedModel, Engine) {
    let (model, log) = (ScriptedModel::new(), Log::default());
    for reply in replies {
        model.push_reply(reply);
    }
    let tool = OneTool::new(&log, |_: ToolRun| async { ToolResult::text("did it") });
    let engine = Engine::builder(journal)
        .clock(clock)
        .model("provider", model.port())
        .toolbox(Arc::new(tool))
        .build();
    (model, engine)
}

fn name(text: &str) -> EntryName {
    EntryName::parse(text).expect("a name")
}

/// Adds Ann of the team `t`, both with this quota, and a key of hers; the options of a turn of that key.
pub(crate) async fn ann(engine: &Engine, quota: Quota) -> TurnOptions {
    let by = Arc::from("a test");
    let directory = engine.directory().expect("a directory");
    directory.add_team(&by, name("t")).await.expect("a team");
    directory
        .add_user(&by, name("ann"), Some(name("t")))
        .await
        .expect("a user");
    limit(engine, quota).await;
    let made = directory
        .create_key(&by, &name("ann"), KeyOptions::default())
        .await;
    let (_, secret) = made.expect("a key");
    let accepted = directory
        .accept(&Digest::of(secret.reveal().as_bytes()))
        .await;
    let quotas = accepted.expect("accepted").quotas;
    TurnOptions {
        budgets: quotas.into_iter().map(|(name, _)| name).collect(),
        prices: prices(),
        ..options()
    }
}

/// Limits Ann and the team.
pub(crate) async fn limit(engine: &Engine, quota: Quota) {
    let by = Arc::from("a test");
    let directory = engine.directory().expect("a directory");
    directory
        .limit(&by, EntryKind::Team, &name("t"), &quota.into())
        .await
        .expect("limited");
    let update = UserUpdate {
        quota: quota.into(),
        ..UserUpdate::default()
    };
    directory
        .update_user(&by, &name("ann"), &update)
        .await
        .expect("limited");
}

pub(crate) fn tokens(most: u64) -> Quota {
    Quota {
        tokens_per_day: Some(most),
        ..Quota::default()
    }
}

pub(crate) async fn meter(engine: &Engine, name: &str) -> Meter {
    let meters = vec![name.into()];
    let seen = engine
        .perform_on_meters(&MeterOperation::Look { meters })
        .await;
    match seen.expect("meters") {
        MeterOutcome::Seen(mut meters) => meters.pop().expect("a meter"),
        other => panic!("{other:?}"),
    }
}

/// Checks that both meters have counted so many rounds, that the records say the same, and that nothing is reserved.
pub(crate) async fn assert_counted(engine: &Engine, rounds: u64) {
    let expected = Amount {
        cost: Money::from_picos(rounds * 2_000_000_000),
        tokens: rounds * ROUND,
    };
    for name in ["user:ann", "team:t"] {
        let meter = meter(engine, name).await;
        assert_eq!(
            meter.day.map_or_else(Amount::default, |day| day.spent),
            expected,
            "{name}"
        );
        assert_eq!(meter.reservations, [], "{name}");
    }
    assert_equal(engine).await;
}

pub(crate) async fn assert_equal(engine: &Engine) {
    let report = engine.check_budgets(false).await.expect("checked");
    for check in &report.checks {
        assert!(check.is_equal(), "{check:?}");
    }
}
