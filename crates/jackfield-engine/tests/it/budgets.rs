//! Budgets across turns: every model call is reserved and settled, and what the meters count is what the records say,
//! wherever a process is lost.

use std::sync::Arc;

use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::price::Money;
use jackfield_domain::quota::{Amount, MeterOperation, Quota};
use jackfield_domain::request::ModelRef;
use jackfield_domain::time::WallTime;
use jackfield_engine::{BudgetedCall, Clock as _, SystemClock, TurnOptions, TurnReport};
use jackfield_ports::journal::spending::SpendingQuery;
use jackfield_store_memory::MemoryJournal;
use jackfield_testkit::fakes::{AppendFault, FaultyJournal, Gate, JournalRequest, ScriptedReply};

use crate::budgeted::{
    ROUND, ann, answer, assert_counted, assert_equal, call, engine, engine_at, meter, tokens,
};
use crate::fixture::{Paused, message, session};
use crate::resuming::{over, resume};

fn failure(report: &TurnReport) -> &ModelFailure {
    match &report.end {
        TurnEnd::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_round_is_counted_once_and_reports_have_it_once() {
    let journal = Arc::new(MemoryJournal::new());
    let (_, engine) = engine(journal, [call(), answer()]);
    let options = ann(&engine, tokens(1_000_000)).await;
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    assert!(matches!(sent.end, TurnEnd::Answered(_)));
    assert_counted(&engine, 2).await;
    // The facts of the session have the same usage.
    let mut read = 0;
    engine
        .read_spending(None, |_| read += 1)
        .await
        .expect("read");
    assert_eq!(read, 0);
    let query = SpendingQuery {
        limit: 9,
        ..SpendingQuery::default()
    };
    let page = engine
        .spending()
        .expect("a log")
        .records(&query)
        .await
        .expect("a page");
    assert_eq!(page.records.len(), 2);
    assert!(page.records.iter().all(|record| record.repeats_facts));
    // What was spent stays spent when the session is deleted.
    engine.delete(&session()).await.expect("deleted");
    assert_counted(&engine, 2).await;
}

#[tokio::test]
async fn a_turn_that_runs_out_in_the_middle_ends_there() {
    let (model, engine) = engine(Arc::new(MemoryJournal::new()), [call(), answer()]);
    let options = ann(&engine, tokens(ROUND)).await;
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    let failure = failure(&sent);
    assert_eq!(failure.kind, ModelFailureKind::BudgetExhausted);
    assert_eq!(failure.phase, Phase::BeforeSend);
    assert!(
        matches!(failure.advice, RetryAdvice::After(_)),
        "{failure:?}"
    );
    assert_eq!(model.requests().len(), 1);
    assert_counted(&engine, 1).await;
}

/// A later round of a turn that pauses waits until the minute has room; a turn that begins then is refused.
#[tokio::test(start_paused = true)]
async fn a_later_round_waits_for_the_tokens_of_a_minute() {
    let clock = Arc::new(Paused::default());
    let replies = [call(), answer()];
    let (model, engine) = engine_at(clock, Arc::new(MemoryJournal::new()), replies);
    let quota = Quota {
        tokens_per_minute: Some(ROUND),
        ..Quota::default()
    };
    let options = ann(&engine, quota).await;
    let began = tokio::time::Instant::now();
    let pausing = TurnOptions {
        pauses: true,
        ..options.clone()
    };
    let sent = engine.send(message(pausing), &mut ()).await.expect("sent");
    assert!(matches!(sent.end, TurnEnd::Answered(_)), "{sent:?}");
    // The clock begins twenty seconds before the end of a minute.
    let took = began.elapsed().as_secs();
    assert!((20..60).contains(&took), "{took}");
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    let refused = failure(&sent);
    assert_eq!(refused.kind, ModelFailureKind::BudgetExhausted);
    assert!(
        refused.message.contains("there is room again at"),
        "{refused:?}"
    );
    let RetryAdvice::After(wait) = refused.advice else {
        panic!("{refused:?}");
    };
    // The second call counts for the minute in which it was made.
    let rest = 80 - took;
    assert!(
        (rest..=rest + 1).contains(&wait.as_secs()),
        "{wait:?} {took}"
    );
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_budget_that_is_used_up_leads_to_no_other_target_and_no_other_attempt() {
    let (model, engine) = engine(Arc::new(MemoryJournal::new()), [answer()]);
    let mut options = ann(&engine, tokens(0)).await;
    options.fallbacks = vec![ModelRef {
        model: "another".into(),
        provider: "provider".into(),
    }];
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    assert_eq!(failure(&sent).kind, ModelFailureKind::BudgetExhausted);
    assert_eq!(model.requests().len(), 0);
}

/// A budget that is full for a moment only is not tried again by the turn, either: the client gets the time to come again.
#[tokio::test]
async fn a_budget_that_others_have_reserved_ends_a_turn_at_once() {
    let (model, engine) = engine(Arc::new(MemoryJournal::new()), [answer()]);
    let options = ann(&engine, tokens(1000)).await;
    let other = BudgetedCall {
        budgets: options.budgets.clone(),
        id: "another".into(),
        input: 1000,
        model: options.model.clone(),
        output: None,
        price: None,
        tier: None,
    };
    engine.reserve_budgets(&other).await.expect("reserved");
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    let advice = failure(&sent).advice;
    assert_eq!(
        advice,
        RetryAdvice::After(std::time::Duration::from_secs(5))
    );
    let loaded = engine.load(&session()).await.expect("a session");
    let facts = loaded.steps.iter().flat_map(|step| &step.facts);
    let calls = facts.filter(|fact| matches!(fact, Fact::ModelCallStarted { .. }));
    assert_eq!((calls.count(), model.requests().len()), (1, 0));
}

/// litellm#26672: where the lookup fails, the gateway lets every request through.
#[tokio::test]
async fn where_budgets_cannot_be_asked_no_call_is_made() {
    for request in [JournalRequest::Meters, JournalRequest::Directory] {
        let faulty = FaultyJournal::new(Arc::new(MemoryJournal::new()));
        let (model, engine) = engine(Arc::new(faulty.clone()), [answer()]);
        let options = ann(&engine, tokens(1_000_000)).await;
        faulty.fail_next(request, 1);
        let sent = engine.send(message(options), &mut ()).await.expect("sent");
        assert_eq!(failure(&sent).kind, ModelFailureKind::BudgetUnavailable);
        assert_eq!(model.requests().len(), 0);
        assert_counted(&engine, 0).await;
    }
}

/// litellm#27639: reservations leak when a request dies. Here a process is lost while the model speaks, and the next one
/// settles the call with what it may have used.
#[tokio::test]
async fn a_call_that_was_lost_with_its_process_is_settled_at_recovery() {
    let journal = Arc::new(MemoryJournal::new());
    let gate = Gate::new();
    let held = ScriptedReply::text("never").held_at(&gate);
    let (_, first) = engine(Arc::clone(&journal) as _, [held]);
    let options = ann(&first, tokens(1_000_000)).await;
    let mut nobody = ();
    tokio::select! {
        sent = first.send(message(options), &mut nobody) => panic!("it ended: {sent:?}"),
        () = gate.reached() => {}
    }
    let reserved = meter(&first, "user:ann").await;
    assert_eq!((reserved.reservations.len(), reserved.day), (1, None));
    let (_, second) = engine(Arc::clone(&journal) as _, [answer()]);
    let report = over(second.resume(resume(), &mut ()).await);
    assert!(matches!(report.end, TurnEnd::Answered(_)));
    let after = meter(&second, "user:ann").await;
    assert_eq!(after.reservations, []);
    // The lost call is an estimate, and the other one was counted.
    let spent = after.day.expect("a total").spent.tokens;
    assert!(spent > ROUND && spent < 2 * ROUND, "{spent}");
    assert_equal(&second).await;
}

/// litellm#28247 and #36926: a call that is counted again by the process that takes over is twice the bill.
#[tokio::test]
async fn a_call_that_was_settled_before_its_end_was_committed_counts_once() {
    let journal = Arc::new(MemoryJournal::new());
    let faulty = FaultyJournal::new(Arc::clone(&journal) as _);
    let (_, first) = engine(Arc::new(faulty.clone()), [answer()]);
    let options = ann(&first, tokens(1_000_000)).await;
    // The turn is opened; the end of the call is lost, as another process owns the session by then.
    faulty
        .push_successes(1)
        .push_fault(AppendFault::ChangeHands);
    let lost = first.send(message(options), &mut ()).await;
    lost.expect_err("it is another's");
    assert_eq!(
        meter(&first, "user:ann")
            .await
            .day
            .map(|day| day.spent.tokens),
        Some(ROUND)
    );
    let (_, second) = engine(Arc::clone(&journal) as _, [answer()]);
    let report = over(second.resume(resume(), &mut ()).await);
    assert!(matches!(report.end, TurnEnd::Answered(_)));
    assert_counted(&second, 2).await;
}

/// litellm#28283 and #30460: counters that are several times the bill, and no way to see it.
#[tokio::test]
async fn counters_that_differ_are_found_and_set_to_the_records() {
    let (_, engine) = engine(Arc::new(MemoryJournal::new()), [answer()]);
    let options = ann(&engine, tokens(1_000_000)).await;
    engine.send(message(options), &mut ()).await.expect("sent");
    let wrong = meter(&engine, "team:t").await;
    let mut totals = [wrong.day, wrong.month];
    for total in totals.iter_mut().flatten() {
        total.spent.tokens *= 6;
    }
    let spoil = MeterOperation::Correct {
        meter: "team:t".into(),
        seen: [wrong.day, wrong.month],
        totals,
    };
    engine.perform_on_meters(&spoil).await.expect("spoiled");
    let differing = async |repairs| {
        let report = engine.check_budgets(repairs).await.expect("checked");
        let differing = report.checks.into_iter().filter(|check| !check.is_equal());
        differing
            .map(|check| (check.meter, check.is_corrected))
            .collect::<Vec<_>>()
    };
    assert_eq!(differing(false).await, [("team:t".into(), false)]);
    assert_eq!(differing(true).await, [("team:t".into(), true)]);
    assert_eq!(differing(false).await, []);
    assert_counted(&engine, 1).await;
}

#[tokio::test]
async fn what_cannot_be_settled_at_once_is_settled_a_moment_later() {
    let faulty = FaultyJournal::new(Arc::new(MemoryJournal::new()));
    let (_, engine) = engine(Arc::new(faulty.clone()), [answer()]);
    let options = ann(&engine, tokens(1_000_000)).await;
    faulty.fail_next(JournalRequest::RecordSpending, 3);
    engine.send(message(options), &mut ()).await.expect("sent");
    assert_counted(&engine, 1).await;
}

#[tokio::test]
async fn a_call_outside_of_turns_is_reserved_and_released() {
    let (_, engine) = engine(Arc::new(MemoryJournal::new()), []);
    let options = ann(&engine, tokens(1000)).await;
    let mut call = BudgetedCall {
        budgets: options.budgets.clone(),
        id: "a".into(),
        input: 10,
        model: options.model.clone(),
        output: None,
        price: None,
        tier: None,
    };
    engine.reserve_budgets(&call).await.expect("reserved");
    let reserved = meter(&engine, "user:ann").await.reservations;
    assert_eq!(
        reserved.iter().map(|one| one.amount.tokens).sum::<u64>(),
        32_010
    );
    call.id = "b".into();
    let refused = engine.reserve_budgets(&call).await.expect_err("it is full");
    assert_eq!(refused.kind, ModelFailureKind::BudgetExhausted);
    assert!(
        refused
            .message
            .contains("calls that run have reserved 32010 tokens"),
        "{refused:?}"
    );
    engine.release_budgets(&"a".into(), &options.budgets).await;
    engine.reserve_budgets(&call).await.expect("reserved");
    engine.release_budgets(&call.id, &options.budgets).await;
    assert_counted(&engine, 0).await;
}

/// An unknown price is not zero: a budget of money cannot cover such a call, and one of tokens can.
#[tokio::test]
async fn a_budget_of_money_covers_no_call_without_a_price() {
    let (model, engine) = engine(Arc::new(MemoryJournal::new()), [answer()]);
    let quota = Quota {
        cost_per_month: Some(Money::from_picos(u64::MAX)),
        ..Quota::default()
    };
    let mut options = ann(&engine, quota).await;
    options.prices = Arc::default();
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    assert_eq!(failure(&sent).kind, ModelFailureKind::Unsupported);
    assert_eq!(model.requests().len(), 0);
}

/// What cannot be stored is not committed, either: the turn is recovered, and the call is settled there.
#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_settled_is_not_committed() {
    let faulty = FaultyJournal::new(Arc::new(MemoryJournal::new()));
    let (model, engine) = engine(Arc::new(faulty.clone()), [answer(), answer()]);
    let options = ann(&engine, tokens(1_000_000)).await;
    // More than one settlement is patient for.
    faulty.fail_next(JournalRequest::RecordSpending, 7);
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    assert!(matches!(sent.end, TurnEnd::Answered(_)), "{sent:?}");
    assert_eq!(model.requests().len(), 2);
    // The first call is an estimate.
    let meter = meter(&engine, "user:ann").await;
    let spent = meter.day.expect("a total").spent.tokens;
    assert!(spent > ROUND && spent < 2 * ROUND, "{spent}");
    assert_eq!(meter.reservations, []);
    assert_equal(&engine).await;
}

/// The calls of a session that is begun again under the name of a deleted one are not free.
#[tokio::test]
async fn a_session_that_is_deleted_and_begun_again_is_counted_again() {
    let (_, engine) = engine(Arc::new(MemoryJournal::new()), [answer(), answer()]);
    let options = ann(&engine, tokens(1_000_000)).await;
    for rounds in 1..=2 {
        let sent = engine.send(message(options.clone()), &mut ()).await;
        sent.expect("sent");
        assert_counted(&engine, rounds).await;
        engine.delete(&session()).await.expect("deleted");
        // The next turn is opened in another millisecond.
        let (clock, deleted) = (SystemClock::default(), SystemClock::default().now().wall);
        while clock.now().wall <= deleted {
            tokio::task::yield_now().await;
        }
    }
}

/// One clock that is ahead does not switch budgets off: the next call of the present forgets what it counted.
#[tokio::test]
async fn a_clock_that_was_ahead_leaves_budgets_on() {
    let (_, engine) = engine(Arc::new(MemoryJournal::new()), [answer(), answer()]);
    let options = ann(&engine, tokens(2 * ROUND)).await;
    let now = SystemClock::default().now().wall;
    let ahead = now.after(std::time::Duration::from_secs(40 * 24 * 60 * 60));
    for name in ["user:ann", "team:t"] {
        let quotas = vec![(name.into(), tokens(2 * ROUND))];
        let amount = Amount {
            tokens: 3 * ROUND,
            ..Amount::default()
        };
        let reserve = MeterOperation::Reserve {
            amount,
            at: ahead,
            id: "lost".into(),
            quotas,
        };
        engine.perform_on_meters(&reserve).await.expect("reserved");
        let settle = MeterOperation::Settle {
            at: ahead,
            id: "another".into(),
            replaced: Vec::new(),
            settled: vec![(name.into(), amount)],
        };
        engine.perform_on_meters(&settle).await.expect("settled");
    }
    for round in 1..=2 {
        let sent = engine.send(message(options.clone()), &mut ()).await;
        let sent = sent.expect("sent");
        assert!(
            matches!(sent.end, TurnEnd::Answered(_)),
            "{round}: {sent:?}"
        );
    }
    let sent = engine.send(message(options), &mut ()).await.expect("sent");
    assert_eq!(failure(&sent).kind, ModelFailureKind::BudgetExhausted);
    assert_counted(&engine, 2).await;
}

/// A meter that is idle since an earlier month has no records to compare it with once retention has deleted them.
#[tokio::test]
async fn totals_of_an_earlier_month_are_no_false_alarm() {
    let (_, engine) = engine(Arc::new(MemoryJournal::new()), []);
    ann(&engine, tokens(ROUND)).await;
    let settle = MeterOperation::Settle {
        at: WallTime::from_millis(0),
        id: "old".into(),
        replaced: Vec::new(),
        settled: vec![("user:ann".into(), Amount::default())],
    };
    engine.perform_on_meters(&settle).await.expect("settled");
    let report = engine.check_budgets(false).await.expect("checked");
    assert_eq!(report.checks, []);
}
