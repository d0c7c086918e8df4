//! A toolbox that asks its caller for all that can be asked.

use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::message::Role;
use jackfield_domain::outcome::{OutcomePart, ToolResult};
use jackfield_domain::request::ToolRun;
use jackfield_domain::tool::{InputFormat, Safety, ToolSpec};
use jackfield_domain::wait::{ElicitationAnswer, JobHandle, Question};
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::{
    Completion, CompletionRequest, ContextChanges, ContextError, ContextErrorKind, ContextSource,
    PromptArgument, PromptArguments, PromptMessages, PromptSpec, ResourceContents, ResourceList,
};
use jackfield_ports::question_handler::QuestionHandler;
use jackfield_ports::server_log::{LogLevel, ServerLogMessage};
use jackfield_ports::toolbox::{ToolEnd, ToolError, ToolEvents, Toolbox};
use serde_json::{Value, json};

/// A toolbox of one tool, `wonder`, whose argument `about` says what it asks for and tells: `message`, `roots` or `log`.
/// Its prompt `greet` and all its resources ask for a day, and tell the answer.
#[derive(Clone, Debug)]
pub struct CuriousToolbox(ToolboxId);

impl CuriousToolbox {
    /// The toolbox of this id.
    #[must_use]
    pub fn port(id: ToolboxId) -> Arc<dyn Toolbox> {
        Arc::new(Self(id))
    }

    /// The request for a message, with fields that are not for another client.
    #[must_use]
    pub fn message_request() -> Value {
        let content = json!({ "type": "text", "text": "Is this spam?" });
        json!({
            "_meta": { "progressToken": 3 },
            "includeContext": "thisServer",
            "maxTokens": 50,
            "messages": [{ "role": "user", "content": content }],
            "systemPrompt": "Say yes or no.",
        })
    }
}

fn question(sampling: Option<Value>) -> Question {
    Question {
        message: "Which day?".into(),
        schema: sampling.is_none().then(|| Arc::new(schema())),
        sampling: sampling.map(Arc::new),
        url: None,
    }
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "day": { "type": "string" } } })
}

#[async_trait]
impl Toolbox for CuriousToolbox {
    fn id(&self) -> &ToolboxId {
        &self.0
    }

    async fn list(&self) -> Result<Vec<ToolSpec>, ToolError> {
        Ok(vec![ToolSpec {
            description: "Asks.".into(),
            icon: None,
            input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
            name: "wonder".into(),
            output: None,
            safety: Safety::ReadOnly,
            time_limit: None,
            title: None,
        }])
    }

    fn context(&self) -> Option<&dyn ContextSource> {
        Some(self)
    }

    async fn call(
        &self,
        run: &ToolRun,
        _call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let about = run.arguments().and_then(|fields| fields.get("about"));
        let text = match about.and_then(Value::as_str) {
            Some("message") if events.askable().messages => {
                return Ok(ToolEnd::Asked {
                    handle: JobHandle(Arc::new(json!(1))),
                    question: question(Some(Self::message_request())),
                });
            }
            Some("message") => {
                events.on_missing_capabilities(&json!({ "sampling": {} }));
                return Ok(ToolEnd::Finished(ToolResult::error("it needs a model")));
            }
            Some("roots") if events.askable().roots => json!(events.roots().await).to_string(),
            Some("log") => {
                let wanted = events.log_level();
                for level in LogLevel::ALL
                    .into_iter()
                    .filter(|level| Some(*level) >= wanted)
                {
                    events.on_log(ServerLogMessage {
                        data: json!({ "said": level.as_str() }),
                        level,
                        logger: Some("parts".to_owned()),
                    });
                }
                format!("{wanted:?}")
            }
            _ => "nobody can be asked".to_owned(),
        };
        Ok(ToolEnd::Finished(ToolResult::text(text)))
    }

    async fn resume(
        &self,
        _handle: &JobHandle,
        answer: Option<&ElicitationAnswer>,
        _call: &CallContext,
        events: &mut dyn ToolEvents,
    ) -> Result<ToolEnd, ToolError> {
        let text = match answer {
            Some(ElicitationAnswer::Accepted(_)) => json!(events.given_message()).to_string(),
            other => format!("{other:?}"),
        };
        Ok(ToolEnd::Finished(ToolResult::text(text)))
    }
}

fn none() -> ContextError {
    ContextError::new(ContextErrorKind::NotFound, "there is none")
}

#[async_trait]
impl ContextSource for CuriousToolbox {
    async fn resources(&self) -> Result<ResourceList, ContextError> {
        Ok(ResourceList::default())
    }

    async fn read(
        &self,
        uri: &str,
        _max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<ResourceContents, ContextError> {
        let answer = format!("{:?}", questions.answer(&question(None)).await);
        Ok(ResourceContents {
            original: vec![json!({ "uri": uri, "text": answer })],
            parts: vec![OutcomePart::Text(answer.into())],
        })
    }

    async fn prompts(&self) -> Result<Vec<PromptSpec>, ContextError> {
        let argument = |name: &str| PromptArgument {
            description: None,
            name: name.into(),
            required: false,
        };
        Ok(vec![PromptSpec {
            arguments: vec![argument("who"), argument("where")],
            description: None,
            name: "greet".into(),
            original: Arc::new(json!({ "name": "greet" })),
            title: None,
        }])
    }

    async fn prompt(
        &self,
        _name: &str,
        arguments: &PromptArguments,
        _max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<PromptMessages, ContextError> {
        let answer = questions.answer(&question(None)).await;
        let text = format!("{arguments:?} {answer:?}");
        let content = json!({ "type": "text", "text": text });
        Ok(PromptMessages {
            description: None,
            messages: vec![(Role::User, vec![OutcomePart::Text(text.into())])],
            original: vec![json!({ "role": "user", "content": content })],
        })
    }

    async fn complete(&self, _request: &CompletionRequest) -> Result<Completion, ContextError> {
        Err(none())
    }

    async fn watch(&self, _uris: &[Arc<str>], _changes: &mut dyn ContextChanges) -> ContextError {
        none()
    }
}
