//! Answers to questions that a server asks outside any turn.

use async_trait::async_trait;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use serde_json::Value;

/// Answers the questions of a tool that is called outside any turn, or of a server during a read.
#[async_trait]
pub trait QuestionHandler: Send {
    /// What it answers. Servers are told so where they can be, and other questions are refused without it. By default,
    /// what a person answers.
    fn askable(&self) -> Askable {
        Askable::PERSON
    }

    /// The answer to a question. The time limit of a call does not run meanwhile; after 50 minutes, the
    /// question counts as dismissed. Dropping the future gives up the call.
    ///
    /// To a request for a message of a model, [`Accepted`](ElicitationAnswer::Accepted) is the message, as the protocol
    /// writes it; `Declined` means that a person refused it, and `Dismissed` that there is none.
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer;

    /// The folders that the server should work in, as the protocol writes them; none by default.
    async fn roots(&mut self) -> Vec<Value> {
        Vec::new()
    }
}

/// Declines all questions.
#[async_trait]
impl QuestionHandler for () {
    fn askable(&self) -> Askable {
        Askable::NOTHING
    }

    async fn answer(&mut self, _question: &Question) -> ElicitationAnswer {
        ElicitationAnswer::Declined
    }
}

/// What the caller of a tool, or of a read, can be asked by its server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Askable {
    /// Forms to fill in.
    pub forms: bool,
    /// Messages of a model.
    pub messages: bool,
    /// Pages to open.
    pub pages: bool,
    /// The folders that the server should work in.
    pub roots: bool,
}

impl Askable {
    /// Nothing: there is no person and no model.
    pub const NOTHING: Self = Self {
        forms: false,
        messages: false,
        pages: false,
        roots: false,
    };
    /// What a person answers.
    pub const PERSON: Self = Self {
        forms: true,
        pages: true,
        ..Self::NOTHING
    };
    /// What a turn with a person answers.
    pub const TURN: Self = Self {
        messages: true,
        ..Self::PERSON
    };
}
