//! Handles the requests of a client: lists, calls, resources and prompts.
#![expect(
    deprecated,
    reason = "rmcp marks log messages so (SEP-2577), and clients ask for them"
)]

use std::sync::Arc;

use http::HeaderMap;
use jackfield_domain::digest::Digest;
use jackfield_domain::tool::CatalogEntry;
use jackfield_engine::{Engine, TurnOptions};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, DiscoverResult, ErrorCode, ErrorData,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ResultType,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SetLevelRequestParams,
    SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestMethod,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSendError};
use rmcp::{RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use crate::changes::{ClientChange, ContextWatches, MAX_WATCHED, SubscribedResources};
use crate::context::Library;
use crate::life::ConnectionLife;
use crate::log_level::ChosenLogLevel;
use crate::offer::{Offer, ToolSelection};
use crate::own_tool::OwnTool;
use crate::questions::{Asker, WaitingRequests};
use crate::revision::Revision;
use crate::settings::ServerSettings;
use crate::writer::LossLog;
use crate::{capabilities, definition};

/// Handles the requests of one client.
pub(crate) struct RequestHandler {
    /// Whether the client can learn of changed tools: over HTTP alone.
    pub(crate) announces_changes: bool,
    /// Ends streams of changes in good order.
    pub(crate) closing: Option<ConnectionLife>,
    pub(crate) engine: Engine,
    /// The headers of the request, where they repeat arguments.
    pub(crate) headers: Option<HeaderMap>,
    pub(crate) log_level: Arc<ChosenLogLevel>,
    pub(crate) loss_log: LossLog,
    pub(crate) life: ConnectionLife,
    pub(crate) options: TurnOptions,
    pub(crate) choice: ToolSelection,
    /// The owner of waiting requests, where one handler is for one request; else empty.
    pub(crate) client: Arc<str>,
    pub(crate) own_tools: Arc<[Arc<dyn OwnTool>]>,
    /// Whether the client reads requests of the server during a call.
    pub(crate) reads_questions: bool,
    pub(crate) settings: ServerSettings,
    /// What the client has subscribed to, in a session over HTTP.
    pub(crate) subscribed: Option<Arc<SubscribedResources>>,
    /// One permit for each concurrent call.
    pub(crate) turns: Arc<Semaphore>,
    /// What waits for answers of clients of the newer era.
    pub(crate) waiting: Arc<WaitingRequests>,
}

impl RequestHandler {
    pub(crate) async fn offer(&self) -> Offer {
        self.choice.offer(self.engine.tools(&self.options).await)
    }

    /// Waits until the offered tools differ from the known ones. Without known ones, the present ones are known.
    pub(crate) async fn changed(&self, known: &mut Option<Digest>) {
        loop {
            let present = self.offer().await.fingerprint();
            let before = known.replace(present);
            if before.is_some_and(|before| before != present) {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(self.settings.change_check) => {}
                () = self.engine.toolboxes_changed() => {}
            }
        }
    }

    /// A note on the tools of a selection that are left out; `None` if there are none.
    async fn instructions(&self) -> Option<String> {
        if !self.choice.is_selection() {
            return None;
        }
        let withheld = self.offer().await.withheld;
        let notes = withheld.iter().map(|tool| {
            tracing::debug!(tool = tool.name, why = tool.reason, "a tool is left out");
            format!("The tool `{}` is left out: {}.", tool.name, tool.reason)
        });
        let notes: Vec<String> = notes.collect();
        (!notes.is_empty()).then(|| notes.join("\n"))
    }

    /// Whether there is a server that may have resources and prompts. Where the tools were named one by one, there is
    /// none.
    async fn has_library(&self) -> bool {
        let toolboxes = self.engine.context_toolboxes(&self.options);
        !self.choice.is_selection() && !toolboxes.await.is_empty()
    }

    /// The resources and prompts for this request, if there may be some.
    async fn library(&self, context: &RequestContext<RoleServer>) -> Option<Library<'_>> {
        self.has_library().await.then(|| Library {
            engine: &self.engine,
            legacy: Revision::of(context.protocol_version().as_ref()).legacy,
            options: &self.options,
        })
    }

    /// Takes the capabilities of servers away if there are none: for resources, prompts and log messages.
    async fn settle_library(&self, capabilities: &mut ServerCapabilities) {
        if !self.has_library().await {
            capabilities::remove_those_of_servers(capabilities);
        }
    }

    /// How the client of this request is asked.
    pub(crate) fn asker(&self, context: &RequestContext<RoleServer>) -> Asker<'_> {
        let waiting = (&*self.client, &*self.waiting);
        let asks_people = self.settings.asks_people;
        Asker::of(context, self.reads_questions, asks_people, waiting)
    }

    /// Waits for an answer until the request or the connection ends.
    async fn until_ended<T>(
        &self,
        context: &RequestContext<RoleServer>,
        answering: impl Future<Output = Result<T, ErrorData>>,
    ) -> Result<T, ErrorData> {
        tokio::select! {
            answer = answering => answer,
            () = self.life.grace_expired(self.settings.grace) => Err(ending_error()),
            () = context.ct.cancelled() => Err(cancelled_error()),
        }
    }

    /// The server info in results, for revisions without a handshake.
    pub(crate) fn meta(&self, legacy: bool) -> Option<MetaObject> {
        let server = serde_json::to_value(self.implementation()).ok()?;
        (!legacy).then(|| {
            let mut meta = MetaObject::new();
            meta.insert(SERVER_INFO.to_owned(), server);
            meta
        })
    }

    fn implementation(&self) -> Implementation {
        Implementation::new(self.settings.name.clone(), self.settings.version.clone())
    }
}

impl ServerHandler for RequestHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = capabilities::all(self.announces_changes);
        let mut info = ServerConfig::new(capabilities).with_server_info(self.implementation());
        info.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        info
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        // From here on, the negotiated revision counts instead of the requested one.
        request.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(request);
        result.instructions = self.instructions().await;
        self.settle_library(&mut result.capabilities).await;
        Ok(result)
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut info = self.get_info();
        info.instructions = self.instructions().await;
        self.settle_library(&mut info.capabilities).await;
        Ok(DiscoverResult::from_server_info(versions, info).with_ttl_ms(DISCOVER_TTL))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request.as_ref())?;
        let legacy = Revision::of(context.protocol_version().as_ref()).legacy;
        let offer = tokio::select! {
            offer = self.offer() => offer,
            () = self.life.grace_expired(self.settings.grace) => return Err(ending_error()),
            () = context.ct.cancelled() => return Err(cancelled_error()),
        };
        let hints = self.engine.hints(&self.options).await;
        let own_tools = self.own_tools.iter().map(|own| &own.entry().0);
        let is_hidden = |tool: &&CatalogEntry| {
            let mut own_tools = self.own_tools.iter();
            own_tools.any(|own| own.entry().name() == tool.definition.name.as_str())
        };
        let tools = offer.tools.iter().filter(|tool| !is_hidden(tool));
        let tools = own_tools.chain(tools);
        let tools = tools.map(|tool| definition::tool(tool, hints.get(&tool.origin), legacy));
        let tools = tools.collect();
        let mut result = ListToolsResult::with_all_items(tools);
        if !legacy {
            result.cache_scope = Some(CacheScope::Private);
            result.ttl_ms = Some(LIST_TTL);
            result.meta = self.meta(legacy);
        }
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tokio::select! {
            answer = self.call(request, &context) => answer,
            // Dropping the call aborts the tool.
            () = self.life.grace_expired(self.settings.grace) => Err(ending_error()),
            () = context.ct.cancelled() => Err(cancelled_error()),
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut filter = SubscriptionFilter::builder().tools_list_changed();
        if !self.choice.is_selection() {
            let uris = requested.resource_subscriptions.iter().flatten();
            filter = filter
                .prompts_list_changed()
                .resources_list_changed()
                .resource_subscriptions(uris.take(MAX_WATCHED));
        }
        self.announces_changes.then(|| filter.build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let closing = self.closing.clone().unwrap_or_default();
        let (accepted, sink) = (context.accepted(), context.sink());
        let tools = async {
            // Without this filter, the stream only stays open.
            if accepted.tools_list_changed != Some(true) {
                std::future::pending::<()>().await;
            }
            let mut known = None;
            loop {
                self.changed(&mut known).await;
                if sink.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        };
        let changes = async {
            let (mut watches, mut changes) = ContextWatches::new(&self.engine, &self.options);
            if accepted.prompts_list_changed == Some(true)
                || accepted.resources_list_changed == Some(true)
            {
                watches.watch_lists();
            }
            let uris = accepted.resource_subscriptions.iter().flatten().cloned();
            watches.set(&uris.collect());
            while let Some(change) = changes.recv().await {
                let sent = match change {
                    ClientChange::Prompts => sink.notify_prompt_list_changed().await,
                    ClientChange::Resource(uri) => sink.notify_resource_updated(uri).await,
                    ClientChange::Resources => sink.notify_resource_list_changed().await,
                };
                match sent {
                    Ok(()) | Err(SubscriptionSendError::NotificationNotAccepted(_)) => {}
                    Err(_) => return,
                }
            }
        };
        tokio::select! {
            () = tools => {}
            () = changes => {}
            () = closing.closed() => {}
            () = context.cancelled() => {}
            () = self.life.closed() => {}
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (Some(library), Some(subscribed)) = (self.library(&context).await, &self.subscribed)
        else {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        };
        let subscribing = subscribed.subscribe(&library, &request.uri);
        self.until_ended(&context, subscribing).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Some(subscribed) = &self.subscribed else {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        };
        subscribed.unsubscribe(&request.uri);
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let Some(library) = self.library(&context).await else {
            return Err(ErrorData::method_not_found::<CompleteRequestMethod>());
        };
        let known = request.context.and_then(|context| context.arguments);
        let known = known.into_iter().flatten().collect();
        let completing = library.complete(&request.r#ref, request.argument, known);
        let completed = self.until_ended(&context, completing).await?;
        let mut result = CompleteResult::new(completed);
        result.meta = self.meta(library.legacy);
        Ok(result)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match self.library(&context).await {
            Some(library) if library.legacy => {
                self.log_level.set(request.level);
                Ok(())
            }
            // The newest revision has a level in each request.
            Some(_) | None => Err(ErrorData::method_not_found::<SetLevelRequestMethod>()),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let Some(library) = self.library(&context).await else {
            return Err(ErrorData::method_not_found::<GetPromptRequestMethod>());
        };
        let making = library.answer_prompt(request, self.asker(&context));
        let mut response = self.until_ended(&context, making).await?;
        match &mut response {
            GetPromptResponse::Complete(result) => {
                result.meta = self.meta(library.legacy);
                result.result_type = (!library.legacy).then_some(ResultType::COMPLETE);
            }
            GetPromptResponse::InputRequired(asked) => asked.meta = self.meta(false),
            // The enum may grow.
            _ => {}
        }
        Ok(response)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let Some(library) = self.library(&context).await else {
            return Err(ErrorData::method_not_found::<ListPromptsRequestMethod>());
        };
        one_page(request.as_ref())?;
        let listing = async { Ok(library.prompts().await) };
        let prompts = self.until_ended(&context, listing).await?;
        let mut result = ListPromptsResult::with_all_items(prompts);
        if !library.legacy {
            result.cache_scope = Some(CacheScope::Private);
            result.ttl_ms = Some(CONTEXT_TTL);
            result.meta = self.meta(false);
        }
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let Some(library) = self.library(&context).await else {
            return Err(ErrorData::method_not_found::<
                ListResourceTemplatesRequestMethod,
            >());
        };
        one_page(request.as_ref())?;
        let listing = async { Ok(library.templates().await) };
        let templates = self.until_ended(&context, listing).await?;
        let mut result = ListResourceTemplatesResult::with_all_items(templates);
        if !library.legacy {
            result.cache_scope = Some(CacheScope::Private);
            result.ttl_ms = Some(CONTEXT_TTL);
            result.meta = self.meta(false);
        }
        Ok(result)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let Some(library) = self.library(&context).await else {
            return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
        };
        one_page(request.as_ref())?;
        let listing = async { Ok(library.resources().await) };
        let resources = self.until_ended(&context, listing).await?;
        let mut result = ListResourcesResult::with_all_items(resources);
        if !library.legacy {
            result.cache_scope = Some(CacheScope::Private);
            result.ttl_ms = Some(CONTEXT_TTL);
            result.meta = self.meta(false);
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(library) = self.library(&context).await else {
            return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
        };
        let reading = library.answer_read(request, self.asker(&context));
        let mut response = self.until_ended(&context, reading).await?;
        match &mut response {
            ReadResourceResponse::Complete(result) if !library.legacy => {
                result.cache_scope = Some(CacheScope::Private);
                result.ttl_ms = Some(CONTEXT_TTL);
                result.meta = self.meta(false);
                result.result_type = Some(ResultType::COMPLETE);
            }
            ReadResourceResponse::InputRequired(asked) => asked.meta = self.meta(false),
            ReadResourceResponse::Complete(_) | _ => {}
        }
        Ok(response)
    }
}

/// Refuses a cursor: every list has one page.
fn one_page(request: Option<&PaginatedRequestParams>) -> Result<(), ErrorData> {
    if request.is_some_and(|request| request.cursor.is_some()) {
        let message = "there is one page, so there is no such cursor";
        return Err(ErrorData::invalid_params(message, None));
    }
    Ok(())
}

/// The error of a cancelled request. It is never sent, as such a request has no response.
fn cancelled_error() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}

fn ending_error() -> ErrorData {
    let message = "the server ends; whether the tool took effect is not known";
    ErrorData::new(ErrorCode(ENDING), message, None)
}

/// How long a client may cache the server's description, in milliseconds. Servers behind it can be replaced, and with
/// them it gains or loses resources and prompts.
const DISCOVER_TTL: u64 = 60_000;
/// A generic error code of JSON-RPC servers.
const ENDING: i32 = -32000;
/// How long a client may cache lists of resources and prompts, and a resource, in milliseconds: not every server
/// announces their changes.
const CONTEXT_TTL: u64 = 5_000;
/// How long a client may cache the list of tools, in milliseconds.
const LIST_TTL: u64 = 60_000;
/// The key in `_meta` of a result for the server info (MCP 2026-07-28).
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
