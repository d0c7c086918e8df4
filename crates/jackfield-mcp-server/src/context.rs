//! Resources and prompts of an engine's servers under one endpoint: which names and URIs they have here, and which
//! server a name or URI belongs to.

use std::collections::BTreeSet;

use jackfield_domain::ids::ToolboxId;
use jackfield_domain::naming::{prefixed_tool_name, tool_name};
use jackfield_engine::{
    CompletionRequest, CompletionSubject, ContextError, ContextErrorKind, Engine, OfferedContext,
    PromptArguments, QuestionHandler, TurnOptions,
};
use rmcp::model::{
    ArgumentInfo, CompletionInfo, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Prompt, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, Resource, ResourceTemplate,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::questions::{Asker, AskingReply, SentAgain, WorkResult};

/// The resources and prompts that a client may use.
pub(crate) struct Library<'a> {
    pub(crate) engine: &'a Engine,
    /// Whether the client speaks a revision with a handshake.
    pub(crate) legacy: bool,
    pub(crate) options: &'a TurnOptions,
}

/// The resources and prompts for work that goes on after its request.
struct OwnedLibrary {
    engine: Engine,
    legacy: bool,
    options: TurnOptions,
}

impl OwnedLibrary {
    const fn library(&self) -> Library<'_> {
        Library {
            engine: &self.engine,
            legacy: self.legacy,
            options: &self.options,
        }
    }
}

impl Library<'_> {
    fn owned(&self) -> OwnedLibrary {
        OwnedLibrary {
            engine: self.engine.clone(),
            legacy: self.legacy,
            options: self.options.clone(),
        }
    }

    /// The contents of a resource, or a question before.
    pub(crate) async fn answer_read(
        &self,
        request: ReadResourceRequestParams,
        asker: Asker<'_>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let ReadResourceRequestParams {
            uri,
            input_responses: responses,
            request_state: state,
            ..
        } = request;
        let subject = format!("resources/read {uri}");
        let owned = self.owned();
        let work = |questions| async move {
            WorkResult::Read(owned.library().read(&uri, questions).await)
        };
        match asker
            .run(&subject, SentAgain { responses, state }, work)
            .await?
        {
            AskingReply::Asked(asked) => Ok(ReadResourceResponse::InputRequired(*asked)),
            AskingReply::Ended(WorkResult::Read(read)) => {
                let read = serde_json::from_value::<ReadResourceResult>(read?);
                read.map(Into::into).map_err(|_| {
                    let message = "the contents of the resource are of no known form";
                    ErrorData::internal_error(message, None)
                })
            }
            AskingReply::Ended(WorkResult::Call(_) | WorkResult::Prompt(_)) => {
                Err(ErrorData::internal_error(OTHER_WORK, None))
            }
        }
    }

    /// A prompt, or a question before.
    pub(crate) async fn answer_prompt(
        &self,
        request: GetPromptRequestParams,
        asker: Asker<'_>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let GetPromptRequestParams {
            name,
            arguments,
            input_responses: responses,
            request_state: state,
            ..
        } = request;
        let subject = format!("prompts/get {name}");
        let owned = self.owned();
        let work = |questions| async move {
            WorkResult::Prompt(owned.library().prompt(&name, arguments, questions).await)
        };
        match asker
            .run(&subject, SentAgain { responses, state }, work)
            .await?
        {
            AskingReply::Asked(asked) => Ok(GetPromptResponse::InputRequired(*asked)),
            AskingReply::Ended(WorkResult::Prompt(made)) => Ok(made?.into()),
            AskingReply::Ended(WorkResult::Call(_) | WorkResult::Read(_)) => {
                Err(ErrorData::internal_error(OTHER_WORK, None))
            }
        }
    }

    /// The resources of all servers, each URI once.
    pub(crate) async fn resources(&self) -> Vec<Resource> {
        let offer = self.engine.resources(self.options).await;
        let all = offer.offered.iter().flat_map(|one| {
            let resources = one.list.resources.iter();
            resources.map(move |resource| {
                let uri = exposed_uri(one, &resource.uri);
                (uri, &*resource.original)
            })
        });
        each_once(all, "uri")
    }

    /// The templates of all servers.
    pub(crate) async fn templates(&self) -> Vec<ResourceTemplate> {
        let offer = self.engine.resources(self.options).await;
        let all = offer.offered.iter().flat_map(|one| {
            let templates = one.list.templates.iter();
            templates.map(move |template| {
                let uri = exposed_uri(one, &template.uri_template);
                (uri, &*template.original)
            })
        });
        each_once(all, "uriTemplate")
    }

    /// The prompts of all servers, each name once.
    pub(crate) async fn prompts(&self) -> Vec<Prompt> {
        let offer = self.engine.prompts(self.options).await;
        let all = offer.offered.iter().flat_map(|one| {
            let prompts = one.list.iter();
            prompts.map(move |prompt| (exposed_name(one, &prompt.name), &*prompt.original))
        });
        each_once(all, "name")
    }

    /// The contents of a resource, with the URIs that they have here.
    async fn read(
        &self,
        uri: &str,
        mut questions: Option<Box<dyn QuestionHandler>>,
    ) -> Result<Value, ErrorData> {
        let mut failed = None;
        for (toolbox, own) in self.owners(uri).await {
            match self
                .engine
                .read_resource(self.options, &toolbox, &own, handler(&mut questions))
                .await
            {
                Ok(mut read) => {
                    for content in &mut read.original {
                        let said = content.get("uri").and_then(Value::as_str);
                        if said == Some(&*own) && own != uri {
                            content["uri"] = uri.into();
                        }
                    }
                    return Ok(json!({ "contents": read.original }));
                }
                Err(error)
                    if matches!(
                        error.kind,
                        ContextErrorKind::NotFound | ContextErrorKind::Unsupported
                    ) =>
                {
                    failed = Some(error);
                }
                Err(error) => return Err(self.resource_error(&error, uri)),
            }
        }
        let failed = failed.unwrap_or_else(|| Self::no_resource(uri));
        Err(self.resource_error(&failed, uri))
    }

    pub(crate) fn no_resource(uri: &str) -> ContextError {
        let message = format!("there is no resource `{}`", shortened(uri));
        ContextError::new(ContextErrorKind::NotFound, message)
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
        mut questions: Option<Box<dyn QuestionHandler>>,
    ) -> Result<GetPromptResult, ErrorData> {
        let (toolbox, own) = self.owner_of_prompt(name).await?;
        let arguments = arguments.into_iter().flatten();
        let arguments = arguments.filter_map(|(name, value)| match value {
            // As good as missing.
            Value::Null => None,
            Value::String(text) => Some((name, text)),
            other @ (Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
                Some((name, other.to_string()))
            }
        });
        let arguments: PromptArguments = arguments.collect();
        let made = self
            .engine
            .prompt(
                self.options,
                &toolbox,
                &own,
                &arguments,
                handler(&mut questions),
            )
            .await
            .map_err(|error| request_error(&error))?;
        let result = json!({ "description": made.description, "messages": made.original });
        serde_json::from_value(result).map_err(|_| {
            let message = format!(
                "the messages of the prompt `{}` are of no known form",
                shortened(name)
            );
            ErrorData::internal_error(message, None)
        })
    }

    /// The values of an argument.
    pub(crate) async fn complete(
        &self,
        reference: &Reference,
        argument: ArgumentInfo,
        known: PromptArguments,
    ) -> Result<CompletionInfo, ErrorData> {
        let (owners, is_prompt) = match reference {
            Reference::Prompt(prompt) => (vec![self.owner_of_prompt(&prompt.name).await?], true),
            Reference::Resource(template) => (self.owners(&template.uri).await, false),
            // The enum may grow.
            _ => return Ok(CompletionInfo::default()),
        };
        for (toolbox, own) in owners {
            let request = CompletionRequest {
                argument: argument.name.clone(),
                known: known.clone(),
                subject: if is_prompt {
                    CompletionSubject::Prompt(own)
                } else {
                    CompletionSubject::Template(own)
                },
                value: argument.value.clone(),
            };
            match self.engine.complete(self.options, &toolbox, &request).await {
                Ok(found) => {
                    let mut info = CompletionInfo::new(found.values).unwrap_or_default();
                    info.has_more = Some(found.has_more);
                    info.total = found.total.and_then(|total| u32::try_from(total).ok());
                    return Ok(info);
                }
                // Servers need not complete anything.
                Err(error) if error.kind == ContextErrorKind::Unsupported => {}
                Err(error) if is_unknown(&error) => {}
                Err(error) => return Err(request_error(&error)),
            }
        }
        Ok(CompletionInfo::default())
    }

    /// The servers that a URI may belong to, each with the URI that it has there.
    pub(crate) async fn owners(&self, uri: &str) -> Vec<(ToolboxId, String)> {
        let all = self.engine.context_toolboxes(self.options).await;
        let is_bare = |prefix: &Option<_>| prefix.as_deref() == Some("");
        let named = |fits: &dyn Fn(&str, &str) -> bool| -> Vec<(ToolboxId, String)> {
            let prefixed = all.iter().filter(|(_, prefix)| !is_bare(prefix));
            let found = prefixed.filter_map(|(toolbox, _)| {
                let scheme = format!("{}+", scheme(toolbox));
                let begin = uri.get(..scheme.len())?;
                fits(begin, &scheme).then(|| (toolbox.clone(), uri[scheme.len()..].to_owned()))
            });
            found.collect()
        };
        // Some clients write schemes in small letters.
        let exact = named(&|begin, scheme| begin == scheme);
        let similar = named(&|begin, scheme| begin.eq_ignore_ascii_case(scheme));
        for found in [exact, similar] {
            if found.len() == 1 {
                return found;
            }
        }
        let bare = all.iter().filter(|(_, prefix)| is_bare(prefix));
        let bare = bare.map(|(toolbox, _)| toolbox.clone());
        let mut owners: Vec<ToolboxId> = bare.collect();
        // What they have is exposed as it is, so they come before servers whose results have such a link.
        if owners.len() != all.len() {
            // A link in a result has the URI of its server.
            let offer = self.engine.resources(self.options).await;
            let listing = offer.offered.iter().filter(|one| {
                one.list
                    .resources
                    .iter()
                    .any(|resource| *resource.uri == *uri)
            });
            let listing = listing.map(|one| one.toolbox.clone());
            let links = listing.filter(|id| !owners.contains(id));
            let links: Vec<ToolboxId> = links.collect();
            owners.extend(links);
        }
        let owners = owners.into_iter();
        owners.map(|toolbox| (toolbox, uri.to_owned())).collect()
    }

    async fn owner_of_prompt(&self, name: &str) -> Result<(ToolboxId, String), ErrorData> {
        let offer = self.engine.prompts(self.options).await;
        let found = offer.offered.iter().find_map(|one| {
            let mut prompts = one.list.iter();
            let found = prompts.find(|prompt| exposed_name(one, &prompt.name) == name)?;
            Some((one.toolbox.clone(), found.name.to_string()))
        });
        found.ok_or_else(|| {
            let message = format!("there is no prompt `{}`", shortened(name));
            ErrorData::invalid_params(message, None)
        })
    }

    /// The error of a read.
    pub(crate) fn resource_error(&self, error: &ContextError, uri: &str) -> ErrorData {
        let mut data = request_error(error);
        if error.kind == ContextErrorKind::NotFound && self.legacy {
            data.code = ErrorCode::RESOURCE_NOT_FOUND;
        }
        data.data = is_unknown(error).then(|| json!({ "uri": uri }));
        data
    }
}

fn handler(questions: &mut Option<Box<dyn QuestionHandler>>) -> Option<&mut dyn QuestionHandler> {
    match questions {
        Some(questions) => Some(&mut **questions),
        None => None,
    }
}

fn request_error(error: &ContextError) -> ErrorData {
    let code = match error.kind {
        ContextErrorKind::InvalidArguments
        | ContextErrorKind::NotFound
        | ContextErrorKind::TooLarge
        | ContextErrorKind::Unsupported => ErrorCode::INVALID_PARAMS,
        ContextErrorKind::ProtocolViolation
        | ContextErrorKind::Timeout
        | ContextErrorKind::Unavailable => ErrorCode::INTERNAL_ERROR,
    };
    ErrorData::new(code, error.message.clone(), None)
}

/// Whether a server does not know what it was asked for. The newest revision has no code of its own for that.
fn is_unknown(error: &ContextError) -> bool {
    matches!(
        error.kind,
        ContextErrorKind::InvalidArguments | ContextErrorKind::NotFound
    )
}

/// The definitions under their names here, of which the first of each name counts.
fn each_once<'a, T: DeserializeOwned>(
    all: impl Iterator<Item = (String, &'a Value)>,
    field: &str,
) -> Vec<T> {
    let mut names = BTreeSet::new();
    let named = all.filter_map(|(name, original)| {
        if !names.insert(name.clone()) {
            return None;
        }
        let mut definition = original.clone();
        definition[field] = name.into();
        serde_json::from_value(definition).ok()
    });
    named.collect()
}

/// The URI of a resource or a template here: that of its server, behind the server's name, unless its prefix is empty.
fn exposed_uri<T>(offered: &OfferedContext<T>, uri: &str) -> String {
    match offered.prefix.as_deref() {
        Some("") => uri.to_owned(),
        Some(_) | None => format!("{}+{uri}", scheme(&offered.toolbox)),
    }
}

/// The name of a prompt here, by the rules of tools.
fn exposed_name<T>(offered: &OfferedContext<T>, name: &str) -> String {
    let toolbox = &offered.toolbox;
    let name = match &offered.prefix {
        Some(prefix) => prefixed_tool_name(prefix, toolbox, name),
        None => tool_name(toolbox, name),
    };
    name.to_string()
}

/// The id of a server as the beginning of a URI's scheme (RFC 3986, section 3.1): a letter first, and no `_`.
fn scheme(toolbox: &ToolboxId) -> String {
    let id = toolbox.as_str().replace('_', ".");
    if id.starts_with(|first: char| first.is_ascii_alphabetic()) {
        id
    } else {
        format!("s.{id}")
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

/// The error for a state that belongs to a request of another kind, which its subject excludes.
const OTHER_WORK: &str = "another request waits under this state";
/// How much of a name is shown, in characters.
const MAX_SHOWN: usize = 200;
