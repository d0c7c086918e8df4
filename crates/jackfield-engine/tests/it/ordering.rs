//! Commit, then act, then tell: in that order, for every fact, call and piece of news.

use std::sync::Arc;

use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::FinishReason;
use jackfield_store_memory::MemoryJournal;

use crate::fixture::{Log, Logged, OneTool, Rounds, Watched, Watcher, engine, message, options};

/// Runs a turn of three rounds with five calls each, and gives everything that happened, in order.
async fn three_rounds_of_five() -> Vec<Logged> {
    let log = Log::default();
    let model = Rounds {
        calls: 5,
        log: log.clone(),
        rounds: 3,
        tool: "box__act",
    };
    let tool = OneTool::new(&log, |run| async move {
        ToolResult::text(run.attempt.call.to_string())
    });
    let journal = Arc::new(Watched::new(&log, MemoryJournal::default()));
    let engine = engine(model, tool, journal);
    let mut watcher = Watcher(log.clone());
    let report = engine
        .send(message(options()), &mut watcher)
        .await
        .expect("a report");
    assert_eq!(report.end, TurnEnd::Answered(FinishReason::Stop));
    assert_eq!(report.calls.len(), 15);
    log.all()
}

/// Whether a fact that fits was committed before this place.
fn committed(log: &[Logged], before: usize, fits: impl Fn(&Fact) -> bool) -> bool {
    log[..before].iter().any(|logged| match logged {
        Logged::Appended(facts) => facts.iter().any(&fits),
        _ => false,
    })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_performed_before_it_is_committed() {
    let log = three_rounds_of_five().await;
    let mut calls = 0;
    for (place, logged) in log.iter().enumerate() {
        let is_committed = match logged {
            Logged::ModelCalled(round) => committed(
                &log,
                place,
                |fact| matches!(fact, Fact::ModelCallStarted { attempt, .. } if attempt.round == round + 1),
            ),
            Logged::ToolCalled(call) => committed(
                &log,
                place,
                |fact| matches!(fact, Fact::CallStarted { attempt, .. } if attempt.call.as_str() == call),
            ),
            Logged::Appended(_) | Logged::Told(_) => continue,
        };
        calls += 1;
        assert!(is_committed, "{logged:?} came before its commit");
    }
    assert_eq!(calls, 4 + 15);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_told_before_it_is_committed() {
    let log = three_rounds_of_five().await;
    let mut told = 0;
    for (place, logged) in log.iter().enumerate() {
        if let Logged::Told(news) = logged {
            told += 1;
            assert!(
                committed(&log, place, |fact| fact == news),
                "{news:?} was told too early"
            );
        }
    }
    assert!(told > 30, "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_round_of_tools_costs_two_appends() {
    let log = three_rounds_of_five().await;
    let appends = log
        .iter()
        .filter(|logged| matches!(logged, Logged::Appended(_)))
        .count();
    assert_eq!(appends, 1 + 3 * 2 + 1);
}

#[tokio::test(start_paused = true)]
async fn everything_committed_is_told_once_and_in_order() {
    let log = three_rounds_of_five().await;
    let mut committed = Vec::new();
    let mut told = Vec::new();
    for logged in log {
        match logged {
            Logged::Appended(facts) => committed.extend(facts),
            Logged::Told(fact) => told.push(fact),
            Logged::ModelCalled(_) | Logged::ToolCalled(_) => {}
        }
    }
    assert_eq!(told, committed);
}
