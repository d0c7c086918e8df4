//! Answers to questions that a server asks outside any turn.

use async_trait::async_trait;
use jackfield_domain::wait::{ElicitationAnswer, Question};

/// Answers the questions of a tool that is called outside any turn, or of a server during a read.
#[async_trait]
pub trait QuestionHandler: Send {
    /// The answer to a question. The time limit of a call does not run meanwhile; after 50 minutes, the
    /// question counts as dismissed. Dropping the future gives up the call.
    async fn answer(&mut self, question: &Question) -> ElicitationAnswer;
}

/// Declines all questions.
#[async_trait]
impl QuestionHandler for () {
    async fn answer(&mut self, _question: &Question) -> ElicitationAnswer {
        ElicitationAnswer::Declined
    }
}
