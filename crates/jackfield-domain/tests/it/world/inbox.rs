//! The inbox of the world's session: what a journal takes into it, and when the loop is told.

use jackfield_domain::fact::Fact;
use jackfield_domain::ids::{DeliveryId, WaitId};
use jackfield_domain::late;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool_loop::{Input, Step};
use jackfield_domain::wait::{Delivery, DeliveryBody};

use super::{Class, World, pick_from};

impl World {
    pub(crate) fn deliver(&mut self, body: DeliveryBody, consumed: bool) {
        self.deliveries += 1;
        let id = DeliveryId::parse(&format!("d{}", self.deliveries)).expect("a valid id");
        let accepted = match &body {
            DeliveryBody::Cancel { .. }
            | DeliveryBody::Late { .. }
            | DeliveryBody::Withdrawn { .. }
            | DeliveryBody::Written { .. } => true,
            DeliveryBody::Answer { wait, .. } => self.journal_takes(wait),
        };
        if !accepted {
            return;
        }
        self.inbox.push(Delivery {
            at: self.now.wall,
            body,
            by: "somebody".into(),
            id,
        });
        if consumed {
            self.consume();
        } else {
            self.classes.insert(Class::LeftInTheInbox);
        }
    }

    /// What a journal's row for the wait says: open, in time, and not answered yet.
    fn journal_takes(&self, id: &WaitId) -> bool {
        let mut deadline = None;
        for fact in &self.committed {
            match fact {
                Fact::WaitOpened { wait } if wait.id == *id => deadline = Some(wait.deadline),
                Fact::WaitClosed { wait, .. } if wait == id => return false,
                _ => {}
            }
        }
        let answered = self
            .inbox
            .iter()
            .any(|known| matches!(&known.body, DeliveryBody::Answer { wait, .. } if wait == id));
        deadline.is_some_and(|deadline| self.now.wall <= deadline) && !answered
    }

    pub(super) fn consume(&mut self) {
        while let Some(delivery) = self.inbox.get(self.seen).cloned() {
            self.seen += 1;
            self.feed(Input::Delivered(delivery));
        }
    }

    /// Whether the step closes a wait otherwise than by the answer that lies unread in the inbox.
    pub(super) fn is_answered(&self, step: &Step) -> bool {
        let unseen = self.inbox.get(self.seen..).unwrap_or_default();
        step.facts.iter().any(|fact| match fact {
            Fact::WaitClosed { wait, .. } => unseen.iter().any(
                |known| matches!(&known.body, DeliveryBody::Answer { wait: w, .. } if w == wait),
            ),
            _ => false,
        })
    }

    /// What a try came to that nobody waits for any more; it lies in the inbox, or is heard at once.
    pub(super) fn hear_late(&mut self, pick: u16) {
        let given_up = |fact: &Fact| match fact {
            Fact::CallLost { attempt, .. } => Some(attempt.clone()),
            _ => None,
        };
        let given_up: Vec<_> = self.committed.iter().filter_map(given_up).collect();
        if let Some(attempt) = pick_from(&given_up, pick).cloned() {
            self.classes.insert(Class::LateDelivery);
            let body = late::delivery(attempt, &ToolResult::text("after all"));
            self.deliver(body, pick.is_multiple_of(2));
        }
    }
}
