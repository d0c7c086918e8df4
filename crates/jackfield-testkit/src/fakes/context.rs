//! The resources of a scripted toolbox.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::outcome::OutcomePart;
use jackfield_domain::wait::{ElicitationAnswer, Question};
use jackfield_ports::context_source::{
    Completion, CompletionRequest, ContextChanges, ContextError, ContextErrorKind, ContextSource,
    PromptArguments, PromptMessages, PromptSpec, ResourceContents, ResourceList,
};
use jackfield_ports::question_handler::QuestionHandler;
use serde_json::json;

/// One resource, which asks before each read.
#[derive(Clone, Debug)]
pub(super) struct AskingResource {
    pub(super) question: Question,
    pub(super) uri: String,
}

#[async_trait]
impl ContextSource for AskingResource {
    async fn resources(&self) -> Result<ResourceList, ContextError> {
        Ok(ResourceList::default())
    }

    async fn read(
        &self,
        uri: &str,
        _max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<ResourceContents, ContextError> {
        if uri != self.uri {
            return Err(none());
        }
        match questions.answer(&self.question).await {
            ElicitationAnswer::Accepted(content) => Ok(ResourceContents {
                original: vec![json!({ "uri": uri, "text": content.to_string() })],
                parts: vec![OutcomePart::Text(content.to_string().into())],
            }),
            ElicitationAnswer::Declined | ElicitationAnswer::Dismissed => Err(ContextError::new(
                ContextErrorKind::Unavailable,
                "it asked, and got no answer",
            )),
        }
    }

    async fn prompts(&self) -> Result<Vec<PromptSpec>, ContextError> {
        Ok(Vec::new())
    }

    async fn prompt(
        &self,
        _name: &str,
        _arguments: &PromptArguments,
        _max_bytes: usize,
        _questions: &mut dyn QuestionHandler,
    ) -> Result<PromptMessages, ContextError> {
        Err(none())
    }

    async fn complete(&self, _request: &CompletionRequest) -> Result<Completion, ContextError> {
        Ok(Completion::default())
    }

    async fn watch(&self, _uris: &[Arc<str>], _changes: &mut dyn ContextChanges) -> ContextError {
        ContextError::new(
            ContextErrorKind::Unsupported,
            "it announces no changes of resources",
        )
    }
}

fn none() -> ContextError {
    ContextError::new(ContextErrorKind::NotFound, "there is none")
}
