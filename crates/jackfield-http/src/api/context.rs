//! Resources and prompts of the MCP servers that a token may use.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use jackfield_domain::block::Block;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::message::{Message, Role};
use jackfield_engine::{
    CompletionRequest, CompletionSubject, ContextError, ContextErrorKind, TurnOptions, block_size,
    resource_blocks,
};
use jackfield_gateway::{Gateway, Principal};
use tokio::time::timeout;

use super::extract::{JsonBody, Parameters, Requester, ServerPath};
use super::problem::{ProblemDetails, ProblemKind, Problems};
use super::wire::context::{
    CompleteGiven, CompletionView, PromptGiven, PromptView, ResourceQuery, ResourceView,
    ServerPrompts, ServerResources,
};
use super::wire::parts::MessagePart;

/// Lists the resources of an MCP server and the templates of further ones, as it defines them.
///
/// A token may use a server's resources and prompts if it may use all of its tools.
#[utoipa::path(
    get, path = "/servers/{server}/resources", tag = "tools", operation_id = "list_resources",
    params(("server" = String, Path)),
    responses((status = 200, description = "The resources.", body = ServerResources), Problems)
)]
pub(crate) async fn resources(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
) -> Result<Json<ServerResources>, ProblemDetails> {
    let _slot = gateway.acquire_slot(&client)?;
    let (server, options) = asked(&gateway, &client, &server)?;
    let listed = gateway.engine().resources_of(&options, &server).await?;
    let resources = listed.resources.iter().map(|one| &*one.original);
    let templates = listed.templates.iter().map(|one| &*one.original);
    Ok(Json(ServerResources {
        resources: resources.cloned().collect(),
        templates: templates.cloned().collect(),
        problems: listed.problems,
    }))
}

/// Reads a resource of an MCP server. It need not be in the list: it may follow from a template.
#[utoipa::path(
    get, path = "/servers/{server}/resources/contents", tag = "tools", operation_id = "read_resource",
    params(("server" = String, Path), ResourceQuery),
    responses((status = 200, description = "Its contents.", body = ResourceView), Problems)
)]
pub(crate) async fn read(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
    Parameters(query): Parameters<ResourceQuery>,
) -> Result<Json<ResourceView>, ProblemDetails> {
    let _slot = gateway.acquire_slot(&client)?;
    let (server, options) = asked(&gateway, &client, &server)?;
    let engine = gateway.engine();
    let read = engine
        .read_resource(&options, &server, &query.uri, None)
        .await?;
    Ok(Json(ResourceView {
        contents: read.original,
    }))
}

/// Lists the prompts of an MCP server, as it defines them.
#[utoipa::path(
    get, path = "/servers/{server}/prompts", tag = "tools", operation_id = "list_prompts",
    params(("server" = String, Path)),
    responses((status = 200, description = "The prompts.", body = ServerPrompts), Problems)
)]
pub(crate) async fn prompts(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
) -> Result<Json<ServerPrompts>, ProblemDetails> {
    let _slot = gateway.acquire_slot(&client)?;
    let (server, options) = asked(&gateway, &client, &server)?;
    let listed = gateway.engine().prompts_of(&options, &server).await?;
    let prompts = listed.iter().map(|one| &*one.original);
    Ok(Json(ServerPrompts {
        prompts: prompts.cloned().collect(),
    }))
}

/// Makes a prompt of an MCP server with its arguments: messages for a conversation. Nothing is sent to a model.
#[utoipa::path(
    post, path = "/servers/{server}/prompts", tag = "tools", operation_id = "get_prompt",
    params(("server" = String, Path)), request_body = PromptGiven,
    responses((status = 200, description = "Its messages.", body = PromptView), Problems)
)]
pub(crate) async fn prompt(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<PromptGiven>,
) -> Result<Json<PromptView>, ProblemDetails> {
    let (server, options) = asked(&gateway, &client, &server)?;
    let engine = gateway.engine();
    let arguments = value.arguments.into_iter();
    let arguments = arguments.filter_map(|(name, value)| Some((name, value?)));
    let arguments = arguments.collect();
    let made = engine.prompt(&options, &server, &value.name, &arguments, None);
    let made = made.await?;
    Ok(Json(PromptView {
        description: made.description.map(|text| text.to_string()),
        messages: made.original,
    }))
}

/// The values that an argument of a prompt or of a template may have.
#[utoipa::path(
    post, path = "/servers/{server}/complete", tag = "tools", operation_id = "complete_argument",
    params(("server" = String, Path)), request_body = CompleteGiven,
    responses((status = 200, description = "The values.", body = CompletionView), Problems)
)]
pub(crate) async fn complete(
    Requester(client): Requester,
    ServerPath(server): ServerPath,
    State(gateway): State<Gateway>,
    JsonBody { value, .. }: JsonBody<CompleteGiven>,
) -> Result<Json<CompletionView>, ProblemDetails> {
    let (server, options) = asked(&gateway, &client, &server)?;
    let subject = match (value.prompt, value.template) {
        (Some(prompt), None) => CompletionSubject::Prompt(prompt),
        (None, Some(template)) => CompletionSubject::Template(template),
        (Some(_), Some(_)) | (None, None) => {
            let why = "name a `prompt`, or else a `template`";
            return Err(ProblemDetails::field("/prompt", why));
        }
    };
    let request = CompletionRequest {
        argument: value.argument,
        known: value.known,
        subject,
        value: value.value,
    };
    let completed = gateway.engine().complete(&options, &server, &request);
    let completed = completed.await?;
    Ok(Json(CompletionView {
        values: completed.values,
        has_more: completed.has_more,
        total: completed.total,
    }))
}

/// A message of these parts, with the contents of its resources.
///
/// # Errors
///
/// [`ProblemDetails`] if one cannot be read, or is nothing that models read.
pub(crate) async fn message(
    gateway: &Gateway,
    client: &Principal,
    parts: Vec<MessagePart>,
) -> Result<Message, ProblemDetails> {
    let resources = parts
        .iter()
        .filter(|part| matches!(part, MessagePart::Resource { .. }));
    if resources.count() > MAX_RESOURCES {
        let detail = format!("a message has at most {MAX_RESOURCES} resources");
        return Err(ProblemDetails::new(ProblemKind::TooLarge, detail));
    }
    let blocks = timeout(READ_TIME, read_all(gateway, client, parts)).await;
    let blocks = blocks.map_err(|_| {
        let detail = format!(
            "the resources did not come within {} s",
            READ_TIME.as_secs()
        );
        ProblemDetails::new(ProblemKind::Unavailable, detail)
    })?;
    Ok(Message::new(Role::User, blocks?))
}

async fn read_all(
    gateway: &Gateway,
    client: &Principal,
    parts: Vec<MessagePart>,
) -> Result<Vec<Block>, ProblemDetails> {
    let (mut blocks, mut left) = (Vec::new(), MAX_BYTES);
    for part in parts {
        match part {
            MessagePart::Block(block) => blocks.push(block),
            MessagePart::Resource { server, uri } => {
                let (server, options) = asked(gateway, client, &server)?;
                let engine = gateway.engine();
                let read = engine.read_resource(&options, &server, &uri, None).await?;
                let of_resource = resource_blocks(&uri, &read)?;
                let size = of_resource.iter().map(block_size).sum();
                left = usize::checked_sub(left, size).ok_or_else(|| {
                    let most = MAX_BYTES / 1_000_000;
                    let detail = format!("the resources are larger than {most} MB together");
                    ProblemDetails::new(ProblemKind::TooLarge, detail)
                })?;
                blocks.extend(of_resource);
            }
        }
    }
    Ok(blocks)
}

/// The server of this name, and the options of the client's tools.
pub(crate) fn asked(
    gateway: &Gateway,
    client: &Principal,
    server: &str,
) -> Result<(ToolboxId, TurnOptions), ProblemDetails> {
    let id = ToolboxId::parse(server).map_err(|_| {
        let server: String = server.chars().take(MAX_NAME).collect();
        let detail = format!("there is no MCP server `{server}`; `GET /api/v1/servers` lists them");
        ProblemDetails::new(ProblemKind::NotFound, detail)
    })?;
    Ok((id, gateway.tool_options(client, None)))
}

impl From<ContextError> for ProblemDetails {
    fn from(error: ContextError) -> Self {
        let kind = match error.kind {
            ContextErrorKind::InvalidArguments | ContextErrorKind::Unsupported => {
                ProblemKind::Invalid
            }
            ContextErrorKind::NotFound => ProblemKind::NotFound,
            ContextErrorKind::ProtocolViolation
            | ContextErrorKind::Timeout
            | ContextErrorKind::Unavailable => ProblemKind::Unavailable,
            ContextErrorKind::TooLarge => ProblemKind::TooLarge,
        };
        Self::new(kind, error.message)
    }
}

/// The maximum size of the resources of a message together, in bytes, as for attached files.
const MAX_BYTES: usize = 23_000_000;
/// The maximum number of resources of a message.
const MAX_RESOURCES: usize = 32;
/// The time limit of reading all resources of a message.
const READ_TIME: Duration = Duration::from_secs(60);
/// The maximum length of a name in an error, in characters.
const MAX_NAME: usize = 80;
