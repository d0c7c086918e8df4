//! Locating: results that were brought before, with words beside them.

use std::sync::Arc;

use jackfield_domain::block::Content;
use jackfield_domain::fact::Fact;
use jackfield_domain::locate::{HistoryKeys, Located, ResultsRefused, locate, locate_in, results};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::wait::{Answer, WaitEnd};

use crate::locating::simple;
use crate::talk::{ANN, Part, Talk};

fn located(history: &[Message], talk: &Talk) -> Located {
    locate(ANN, &HistoryKeys::from_history(history), &[talk.known()])
}

#[test]
fn words_beside_results_that_were_brought_before_go_on_behind_the_results() {
    let mut talk = simple("s");
    let asks = vec![
        Part::Client("{\"n\":1}".into()),
        Part::Client("{\"n\":2}".into()),
    ];
    talk.say("count", &[asks, vec![Part::Text("Two.".into())]]);
    // The reply to the results was broken off, and is not in the history.
    let history = talk.history[..talk.history.len() - 1].to_vec();
    let then = |words: &[&str]| {
        let mut history = history.clone();
        history.extend(words.iter().map(|words| Message::user(*words)));
        history
    };
    let more = |located: Located| match located {
        Located::More {
            at,
            session,
            text: words,
        } => {
            assert_eq!(session.as_str(), "s");
            (at.map(|at| (at.ordinal, at.round)), words.to_text())
        }
        located => panic!("{located:?}"),
    };
    let stop = then(&["stop", "count down"]);
    let behind = Some((2, Some(1)));
    assert_eq!(
        more(located(&stop, &talk)),
        (behind, "stop\n\ncount down".to_owned())
    );
    // Whoever names the session goes on with it, whatever was said in it meanwhile.
    let named = locate_in(&stop, &talk.known());
    assert_eq!(more(named), (None, "stop\n\ncount down".to_owned()));
    // What says nothing is nothing more.
    assert!(matches!(
        located(&then(&[" "]), &talk),
        Located::Collect { segment: 1, .. }
    ));
    // What was said beside the results in the first place is not said again.
    let brought = results(&then(&["stop"])).pop().expect("a result");
    for fact in talk.steps.iter_mut().flat_map(|step| &mut step.facts) {
        if let Fact::WaitClosed { end, .. } = fact
            && let WaitEnd::Answered { answer, .. } = end
            && let Answer::ClientResult(given) = answer
        {
            given.result = brought.result.clone();
        }
    }
    let one = |words: &[&str]| {
        let mut history = then(words);
        let results = history
            .iter_mut()
            .rev()
            .find(|said| said.role == Role::Tool);
        // Both calls have the result of the last one by now.
        let blocks = &mut results.expect("results").blocks;
        blocks.retain(|block| match &block.content {
            Content::ToolOutcome(outcome) => outcome.call == brought.call,
            _ => false,
        });
        history
    };
    let again = one(&["stop", "count down"]);
    assert_eq!(
        more(located(&again, &talk)),
        (behind, "count down".to_owned())
    );
    // What was said then, and is other words now, is an edited conversation: it parts behind the turn before.
    for edited in [
        located(&one(&["go"]), &talk),
        located(&one(&[]), &talk),
        locate_in(&one(&["go"]), &talk.known()),
    ] {
        let Located::Fork {
            at,
            known_messages: known,
            session,
        } = edited
        else {
            panic!("{edited:?}");
        };
        assert_eq!((at.ordinal, at.round, session.as_str()), (1, None, "s"));
        assert_eq!(known, 2);
    }
    // Another result is another one, with whatever words.
    let mut other = one(&["go"]);
    let said = other.iter_mut().rev().find(|said| said.role == Role::Tool);
    for block in &mut said.expect("results").blocks {
        if let Content::ToolOutcome(outcome) = &mut block.content {
            Arc::make_mut(outcome).result = ToolResult::text("another");
        }
    }
    let refused = located(&other, &talk);
    assert!(
        matches!(refused, Located::Refused(ResultsRefused::Conflict { .. })),
        "{refused:?}"
    );
}
