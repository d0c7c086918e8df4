//! Where a client's next requests belong, by the history that it was shown.

use std::sync::Arc;

use jackfield_domain::block::{Block, Content, RanBy};
use jackfield_domain::fact::{Fact, TurnEnd};
use jackfield_domain::fork;
use jackfield_domain::ids::ForkPlace;
use jackfield_domain::locate::{self, HistoryKeys, Located, ResultsRefused, SessionIndex};
use jackfield_domain::message::{Message, Role};
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::wait::WaitEnd;

use super::super::scenario::PRINCIPAL;
use super::super::{Property, World};

impl World {
    /// Where a history belongs of which the world has come so far.
    fn locate(&self, history: &[Message], steps: usize) -> Located {
        let known = SessionIndex::from_steps(self.session().clone(), &self.steps[..steps]);
        let other = SessionIndex::from_steps(self.session().clone(), &[]);
        locate::locate(
            PRINCIPAL,
            &HistoryKeys::from_history(history),
            &[other, known],
        )
    }

    /// The results that a turn waits for answer it; some of them do not.
    pub(super) fn check_answer(&mut self, history: &[Message], steps: usize) {
        let turn = self.machine.turn().id().clone();
        let results = locate::results(history);
        let located = self.locate(history, steps);
        let expected = Located::Answer {
            results: results.clone(),
            session: self.session().clone(),
            turn,
        };
        if located != expected {
            let detail = format!("{located:#?} is not {expected:#?}");
            self.violate(Property::RequestsAreFound, detail);
        }
        if results.len() > 1 {
            let mut fewer = history.to_vec();
            let last = fewer.last_mut().expect("results");
            last.blocks.pop();
            let located = self.locate(&fewer, steps);
            if !matches!(&located, Located::Refused(ResultsRefused::Missing { calls }) if calls.len() == 1)
            {
                self.violate(Property::RequestsAreFound, format!("{located:#?}"));
            }
        }
        // Nobody else finds it.
        let known = SessionIndex::from_steps(self.session().clone(), &self.steps[..steps]);
        if locate::locate(
            "somebody else",
            &HistoryKeys::from_history(history),
            &[known],
        ) != Located::New
        {
            self.violate(Property::RequestsAreFound, "another's".to_owned());
        }
    }

    /// The same results again are the same request, and others are none.
    pub(super) fn check_again(&mut self, history: &[Message], segment: u32, is_last: bool) {
        let located = self.locate(history, self.steps.len());
        let broke_off = is_last
            && matches!(
                self.machine.turn().end(),
                Some(TurnEnd::Cancelled(_) | TurnEnd::Failed(_) | TurnEnd::Interrupted(_))
            );
        let is_right = match &located {
            Located::Collect { segment: found, .. } => *found == segment && !broke_off,
            Located::Late { at, .. } => at.is_none() && (broke_off || self.has_missed()),
            _ => false,
        };
        if !is_right {
            let detail = format!("{located:#?} of {history:#?}");
            self.violate(Property::RequestsAreFound, detail);
        }
        self.check_more(history);
        let mut other = history.to_vec();
        let last = other.last_mut().expect("results");
        for block in &mut last.blocks {
            if let Content::ToolOutcome(outcome) = &mut block.content {
                let more = OutcomePart::Text("and more".into());
                Arc::make_mut(outcome).result.content.push(more);
            }
        }
        let located = self.locate(&other, self.steps.len());
        if !matches!(located, Located::Refused(ResultsRefused::Conflict { .. })) {
            self.violate(Property::RequestsAreFound, format!("{located:#?}"));
        }
    }

    /// The same results, and words beside them: they follow the results, and nothing that came behind those.
    fn check_more(&mut self, history: &[Message]) {
        let mut more = history.to_vec();
        let last = more.last_mut().expect("results");
        last.blocks.push(Block::text("and more"));
        let located = self.locate(&more, self.steps.len());
        let facts = self.steps.iter().flat_map(|step| &step.facts);
        let last_result = locate::results(history).pop();
        let follows = |at: &ForkPlace| {
            let said = fork::history_until(self.session().clone(), facts.clone(), at);
            let last = said.iter().filter_map(|said| said.messages.last());
            let mut blocks = last.flat_map(|message| &message.blocks);
            blocks.any(|block| match (&block.content, &last_result) {
                (Content::ToolOutcome(said), Some(brought)) => said.call == brought.call,
                _ => false,
            })
        };
        let is_right = match &located {
            Located::More {
                at: Some(at),
                text: words,
                ..
            } => words.to_text() == "and more" && follows(at),
            // The turn that was opened with what came too late has no such words.
            Located::Late { .. } => self.has_missed(),
            _ => false,
        };
        if !is_right {
            let detail = format!("{located:#?} of {more:#?}");
            self.violate(Property::RequestsAreFound, detail);
        }
    }

    fn has_missed(&self) -> bool {
        self.committed.iter().any(|fact| {
            matches!(fact, Fact::WaitClosed { end, .. } if !matches!(end, WaitEnd::Answered { .. }))
        })
    }

    /// What a client says next goes on with the session.
    pub(super) fn check_next(&mut self, history: &[Message]) {
        let mut next = history.to_vec();
        next.push(Message::user("and then?"));
        let located = self.locate(&next, self.steps.len());
        let ends_with_model = history
            .last()
            .is_some_and(|last| last.role == Role::Assistant);
        match located {
            Located::Continue {
                known_messages: known,
                ..
            } if known <= history.len() => {}
            // What a turn that broke off was brought last was never answered.
            _ if !ends_with_model || says_nothing(history.last()) => {}
            located => {
                let detail = format!("{located:#?} for {next:#?}");
                self.violate(Property::RequestsAreFound, detail);
            }
        }
    }
}

fn says_nothing(message: Option<&Message>) -> bool {
    message.is_none_or(|message| {
        let mut calls = message.calls();
        message.to_text().trim().is_empty() && calls.all(|call| call.ran_by == RanBy::Provider)
    })
}
