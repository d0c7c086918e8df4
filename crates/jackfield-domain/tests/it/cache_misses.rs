//! Rounds that read nothing from the cache, although the round before used it.

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::ToolAttempt;
use jackfield_domain::limits::Limits;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::reply::{FinishReason, ReplyEnd};
use jackfield_domain::tool_loop::{Action, Input, Restrictions};
use jackfield_domain::usage::Usage;

use crate::recovery::{Hand, read};

/// The paths of the notes on each reply to a turn whose replies have these reads and writes; after the last, a limit
/// takes the tools away. The process crashes in the round with this number.
fn missed(used: &[(u64, u64)], crash: Option<u32>) -> Vec<Vec<String>> {
    let rounds = u32::try_from(used.len()).expect("few");
    let (mut hand, _) = Hand::begin(Limits {
        rounds,
        ..Limits::default()
    });
    for (round, (cache_read, cache_write)) in (1..).zip(used) {
        let attempt = hand.machine.calling().expect("a model call");
        let is_last = round == rounds;
        let deltas = read(round).into_iter().filter(|_| !is_last);
        for delta in deltas {
            let _none = hand.feed(Input::ReplyDelta { attempt, delta });
        }
        let finish = if is_last {
            FinishReason::Stop
        } else {
            FinishReason::ToolCalls
        };
        let mut end = ReplyEnd::new(finish);
        end.usage = Some(Usage {
            cache_read: *cache_read,
            cache_write: *cache_write,
            input: 1000,
            output: 10,
            ..Usage::default()
        });
        let end = Box::new(end);
        let actions = hand.feed(Input::ReplyEnded { attempt, end });
        let call = actions.iter().find_map(|action| match action {
            Action::RunTool(run) => Some(run.attempt.call.clone()),
            _ => None,
        });
        let Some(call) = call else { continue };
        let is_lost = crash == Some(round);
        if is_lost {
            let _resumed = hand.crash(Restrictions::default());
        }
        let attempt = ToolAttempt {
            attempt: if is_lost { 2 } else { 1 },
            call,
        };
        let result = ToolResult::text(round.to_string());
        let _next = hand.feed(Input::ToolFinished { attempt, result });
    }
    let replies = hand.facts.iter().filter_map(|fact| match fact {
        Fact::ReplyReceived { reply, .. } => Some(&reply.end.notes),
        _ => None,
    });
    let paths = replies.map(|notes| {
        let notes = notes.iter().filter(|note| note.code == "cache_missed");
        notes.map(|note| note.path.clone()).collect()
    });
    paths.collect()
}

#[test]
fn a_round_that_misses_what_the_one_before_wrote_or_read_is_noted() {
    let none: Vec<String> = Vec::new();
    let request = vec!["request".to_owned()];
    // Nothing has changed between the second and the third round.
    let used = [(0, 900), (900, 50), (0, 0), (0, 0), (0, 0)];
    let expected = [&none, &none, &request, &none, &none];
    assert_eq!(missed(&used, None).iter().collect::<Vec<_>>(), expected);
    // It is written again, and missed again: it is noted once.
    let used = [(0, 900), (0, 900), (0, 900), (0, 900), (900, 0)];
    let expected = [&none, &request, &none, &none, &none];
    assert_eq!(missed(&used, None).iter().collect::<Vec<_>>(), expected);
}

#[test]
fn the_note_names_the_first_part_that_has_changed() {
    let used = [(0, 900), (900, 0), (0, 0)];
    let last = missed(&used, None).pop().expect("a reply");
    assert_eq!(last, ["choice"]);
}

#[test]
fn a_miss_after_a_crash_is_noted_without_the_part_that_has_changed() {
    let none: Vec<String> = Vec::new();
    let unknown = vec!["unknown".to_owned()];
    let used = [(0, 900), (0, 900), (900, 0)];
    let expected = [none.clone(), unknown, none.clone()];
    assert_eq!(missed(&used, Some(1)), expected);
    // The reply before the crash used no cache, or the one after it read from it.
    for used in [
        [(0, 0), (0, 900), (900, 0)],
        [(0, 900), (900, 50), (900, 0)],
    ] {
        assert_eq!(
            missed(&used, Some(1)),
            [none.clone(), none.clone(), none.clone()]
        );
    }
}
