//! Brings conversations along from other programs.

use axum::Json;
use axum::extract::State;
use jackfield_domain::ids::SessionId;
use jackfield_domain::time::WallTime;
use jackfield_engine::{EngineError, ImportedConversation};
use jackfield_gateway::{Gateway, Principal};
use jackfield_import::conversations::{self, Conversation};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::api::extract::{JsonBody, Requester};
use crate::api::problem::{ProblemDetails, Problems};

/// Conversations of other programs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportConversations {
    /// The conversations, as they stand in the `conversations.json` of ChatGPT or in the exported chats of Open WebUI.
    #[schema(value_type = Vec<serde_json::Map<String, serde_json::Value>>, max_items = 100)]
    conversations: Vec<Box<RawValue>>,
}

/// What became of each of the conversations, in their order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ImportReport {
    conversations: Vec<ImportOutcome>,
}

/// What became of one conversation.
#[derive(Debug, Serialize, ToSchema)]
struct ImportOutcome {
    /// Its title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// `imported`, `exists` (it was brought along before, and is as it was), or `failed`.
    status: &'static str,
    /// Its session.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutView>,
}

/// Parts of a conversation that are left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeftOut)]
struct LeftOutView {
    /// `file`, `hidden_message`, `instructions`, `other_version` (a message that is not on the branch that was shown
    /// last), `picture`, `reasoning`, `recording`, `tool_call`, `tool_result` or `unknown`.
    kind: &'static str,
    /// How many.
    count: usize,
}

/// Begins a session with each of these conversations: their text, without pictures, files and calls of tools. A
/// conversation that was brought along before stays as it is.
#[utoipa::path(
    post, path = "/sessions/import", tag = "sessions", operation_id = "import_sessions",
    request_body = ImportConversations,
    responses((status = 200, description = "What became of each.", body = ImportReport), Problems)
)]
pub(crate) async fn import(
    Requester(client): Requester,
    State(gateway): State<Gateway>,
    JsonBody { value: asked, .. }: JsonBody<ImportConversations>,
) -> Result<Json<ImportReport>, ProblemDetails> {
    if asked.conversations.len() > MAX_CONVERSATIONS {
        let why = format!("at most {MAX_CONVERSATIONS} conversations are expected");
        return Err(ProblemDetails::field("/conversations", why));
    }
    let mut outcomes = Vec::new();
    for raw in asked.conversations {
        outcomes.push(match conversations::read(raw.get()) {
            Ok(read) => import_one(&gateway, &client, read).await?,
            Err(unread) => ImportOutcome {
                status: "failed",
                session: None,
                why: Some(unread.to_string()),
                left_out: Vec::new(),
                title: unread.title,
            },
        });
    }
    Ok(Json(ImportReport {
        conversations: outcomes,
    }))
}

async fn import_one(
    gateway: &Gateway,
    client: &Principal,
    read: Conversation,
) -> Result<ImportOutcome, ProblemDetails> {
    let source = read.source.as_str();
    let session = SessionId::imported(&client.principal, source, &read.id);
    let imported = ImportedConversation {
        created: read.created.map(WallTime::from_millis),
        messages: read.to_messages(),
        source: source.into(),
        title: read.title.clone(),
    };
    let (status, why) = match gateway.engine().import(&session, imported).await {
        Ok(()) => ("imported", None),
        Err(EngineError::Exists { .. }) => ("exists", None),
        Err(error @ EngineError::InvalidConversation(_)) => {
            ("failed", Some(jackfield_engine::chain(&error)))
        }
        Err(error) => return Err(error.into()),
    };
    let left_out = read.left_out.iter().map(|(what, count)| LeftOutView {
        kind: what.as_str(),
        count: *count,
    });
    Ok(ImportOutcome {
        status,
        session: why.is_none().then(|| session.to_string()),
        why,
        left_out: left_out.collect(),
        title: read.title,
    })
}

/// How many conversations one request may have.
const MAX_CONVERSATIONS: usize = 100;
