//! The resources and prompts of a server.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::context_source::{
    Completion, CompletionRequest, CompletionSubject, ContextChanges, ContextError,
    ContextErrorKind, ContextSource, PromptArguments, PromptMessages, PromptSpec, ResourceContents,
    ResourceList, ResourceSpec, ResourceTemplate,
};
use jackfield_ports::question_handler::QuestionHandler;
use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext,
    ErrorCode, GetPromptRequest, GetPromptRequestParams, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, PaginatedRequestParams,
    ReadResourceRequest, ReadResourceRequestParams, Reference, RequestMetaObject,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::answer::RequestError;
use crate::clock::after;
use crate::connection::ServerConnection;
use crate::context::input::ContextInput;
use crate::mapping::context::{self as mapping, Items};
use crate::toolbox::McpToolbox;

mod input;
mod watch;

#[async_trait]
impl ContextSource for McpToolbox {
    async fn resources(&self) -> Result<ResourceList, ContextError> {
        let connection = self.context_connection().await?;
        if !connection.has_resources() {
            return Ok(ResourceList::default());
        }
        let mut resources = Items::new("resources", |one: &ResourceSpec| Arc::clone(&one.uri));
        self.pages(&connection, RESOURCES, |page| {
            resources.add(page, "resources", mapping::resource)
        })
        .await?;
        let mut templates = Items::new("templates", |one: &ResourceTemplate| {
            Arc::clone(&one.uri_template)
        });
        let listed = self.pages(&connection, TEMPLATES, |page| {
            templates.add(page, "resourceTemplates", mapping::template)
        });
        match listed.await {
            // Many servers with resources do not know templates.
            Err(error) if error.kind == ContextErrorKind::Unsupported => {}
            listed => listed?,
        }
        let (resources, mut problems) = resources.finish();
        let (templates, more) = templates.finish();
        problems.extend(more);
        Ok(ResourceList {
            problems,
            resources,
            templates,
        })
    }

    async fn read(
        &self,
        uri: &str,
        max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<ResourceContents, ContextError> {
        let connection = self.context_connection().await?;
        if !connection.has_resources() {
            return Err(self.context_error(ContextErrorKind::Unsupported, "it has no resources"));
        }
        let request = |input: ContextInput| {
            let mut params = ReadResourceRequestParams::new(uri);
            params.input_responses = input.responses;
            params.request_state = input.state;
            ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
        };
        let answer = self.answer_asking(&connection, &request, max_bytes, questions);
        let answer = answer.await;
        let answer = answer.map_err(|mut error| {
            // The newest revision has no code of its own for an unknown URI, which is the only parameter.
            if error.kind == ContextErrorKind::InvalidArguments {
                error.kind = ContextErrorKind::NotFound;
            }
            error
        })?;
        mapping::contents(&answer).ok_or_else(|| self.unreadable("the contents of a resource"))
    }

    async fn prompts(&self) -> Result<Vec<PromptSpec>, ContextError> {
        let connection = self.context_connection().await?;
        if !connection.has_prompts() {
            return Ok(Vec::new());
        }
        let mut prompts = Items::new("prompts", |one: &PromptSpec| Arc::clone(&one.name));
        self.pages(&connection, PROMPTS, |page| {
            prompts.add(page, "prompts", mapping::prompt)
        })
        .await?;
        Ok(prompts.finish().0)
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &PromptArguments,
        max_bytes: usize,
        questions: &mut dyn QuestionHandler,
    ) -> Result<PromptMessages, ContextError> {
        let connection = self.context_connection().await?;
        if !connection.has_prompts() {
            return Err(self.context_error(ContextErrorKind::Unsupported, "it has no prompts"));
        }
        let request = |input: ContextInput| {
            let mut params = GetPromptRequestParams::new(name);
            if !arguments.is_empty() {
                let given = arguments.iter();
                let given = given.map(|(name, value)| (name.clone(), value.as_str().into()));
                params = params.with_arguments(given.collect());
            }
            params.input_responses = input.responses;
            params.request_state = input.state;
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        };
        let answer = self.answer_asking(&connection, &request, max_bytes, questions);
        let answer = answer.await?;
        mapping::messages(&answer).ok_or_else(|| self.unreadable("a prompt"))
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ContextError> {
        let connection = self.context_connection().await?;
        if connection.info.capabilities.completions.is_none() {
            return Err(self.context_error(ContextErrorKind::Unsupported, "it completes nothing"));
        }
        let subject = match &request.subject {
            CompletionSubject::Prompt(name) => Reference::for_prompt(name),
            CompletionSubject::Template(template) => Reference::for_resource(template),
        };
        let argument = ArgumentInfo::new(&request.argument, &request.value);
        let mut params = CompleteRequestParams::new(subject, argument);
        if !request.known.is_empty() {
            let known: HashMap<_, _> = request.known.clone().into_iter().collect();
            params.context = Some(CompletionContext::with_arguments(known));
        }
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        let answer = self.answer(&connection, request, MAX_COMPLETION).await?;
        mapping::completion(&answer).ok_or_else(|| self.unreadable("a completion"))
    }

    async fn watch(&self, uris: &[Arc<str>], changes: &mut dyn ContextChanges) -> ContextError {
        match self.follow(uris, changes).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        }
    }
}

impl McpToolbox {
    async fn context_connection(&self) -> Result<Arc<ServerConnection>, ContextError> {
        let opened = self.open_connection(None).await;
        opened.map_err(|fault| {
            ContextError::new(ContextErrorKind::Unavailable, self.down_message(&fault))
        })
    }

    async fn pages(
        &self,
        connection: &Arc<ServerConnection>,
        (request, what): (ListRequest, &str),
        mut add: impl FnMut(&Value) -> bool + Send,
    ) -> Result<(), ContextError> {
        let settings = &self.shared.settings;
        let deadline = after(settings.list_limit);
        let mut cursors = HashSet::new();
        let mut cursor: Option<String> = None;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let why = format!("it did not list its {what} in time");
                return Err(self.context_error(ContextErrorKind::Timeout, &why));
            }
            let page = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = self
                .answer(connection, request(page), settings.max_message)
                .await?;
            if !add(&page) {
                return Ok(());
            }
            // An empty cursor is valid.
            let next = page.get("nextCursor").and_then(Value::as_str);
            let Some(next) = next.map(str::to_owned) else {
                return Ok(());
            };
            // A list that goes round in a circle ends where it began again.
            if cursors.len() >= settings.most_pages || !cursors.insert(next.clone()) {
                return Ok(());
            }
            cursor = Some(next);
        }
    }

    /// The result of a request that may be repeated: in a new session, if the server has forgotten the present one.
    pub(crate) async fn answer(
        &self,
        connection: &Arc<ServerConnection>,
        request: ClientRequest,
        max_bytes: usize,
    ) -> Result<Value, ContextError> {
        self.answer_with(connection, request, None, max_bytes).await
    }

    /// The same of a request with this metadata.
    async fn answer_with(
        &self,
        connection: &Arc<ServerConnection>,
        request: ClientRequest,
        meta: Option<RequestMetaObject>,
        max_bytes: usize,
    ) -> Result<Value, ContextError> {
        let limit = self.shared.config.call_limit;
        let ask = async |connection: &ServerConnection| {
            let (request, meta) = (request.clone(), meta.clone());
            let asked = connection.request_in(request, meta, limit, CallContext::default());
            asked.await
        };
        let mut answered = ask(connection).await;
        let is_unanswered = matches!(
            answered,
            Err(RequestError::Closed | RequestError::Failed(_))
        );
        if is_unanswered && connection.has_lost_session() {
            let again = self.context_connection().await?;
            answered = ask(&again).await;
        }
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => return Err(self.request_error(connection, error).await),
        };
        let too_large = |size: usize| {
            let why = format!("its answer is too long: {size} bytes");
            self.context_error(ContextErrorKind::TooLarge, &why)
        };
        if let Some(size) = answer.cut_from {
            return Err(too_large(size));
        }
        if answer.text.len() > max_bytes {
            return Err(too_large(answer.text.len()));
        }
        let result: Value =
            serde_json::from_str(&answer.text).map_err(|_| self.unreadable("its answer"))?;
        Ok(result)
    }

    async fn request_error(
        &self,
        connection: &ServerConnection,
        error: RequestError,
    ) -> ContextError {
        use ContextErrorKind as Kind;
        let (kind, why) = match error {
            RequestError::Closed => (Kind::Unavailable, connection.exit_reason().await),
            RequestError::Failed(failure) => (Kind::Unavailable, failure.to_string()),
            RequestError::Late => (Kind::Timeout, error.to_string()),
            RequestError::Refused(ref refused) => {
                let kind = match refused.code {
                    ErrorCode::METHOD_NOT_FOUND => Kind::Unsupported,
                    // Until 2025-11-25, a code of its own.
                    ErrorCode::RESOURCE_NOT_FOUND => Kind::NotFound,
                    ErrorCode::INVALID_PARAMS => Kind::InvalidArguments,
                    _ => Kind::Unavailable,
                };
                (kind, format!("it refuses: {error}"))
            }
            RequestError::Unreadable(_) => (Kind::ProtocolViolation, error.to_string()),
        };
        self.context_error(kind, &why)
    }

    pub(crate) fn context_error(&self, kind: ContextErrorKind, why: &str) -> ContextError {
        ContextError::new(
            kind,
            format!("the server `{}`: {why}", self.shared.config.id),
        )
    }

    pub(crate) fn unreadable(&self, what: &str) -> ContextError {
        let why = format!("{what} cannot be read");
        self.context_error(ContextErrorKind::ProtocolViolation, &why)
    }
}

type ListRequest = fn(PaginatedRequestParams) -> ClientRequest;

const PROMPTS: (ListRequest, &str) = (
    |page| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page)),
    "prompts",
);
const RESOURCES: (ListRequest, &str) = (
    |page| ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page)),
    "resources",
);
const TEMPLATES: (ListRequest, &str) = (
    |page| {
        ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(page))
    },
    "resource templates",
);
/// The maximum length of a completion, in bytes.
const MAX_COMPLETION: usize = 1 << 20;
