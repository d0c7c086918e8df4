//! A model whose tools are text, or may be.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_dialect_kit::strict;
use jackfield_dialect_kit::text_tools::reader::TextCallReader;
use jackfield_dialect_kit::text_tools::request;
use jackfield_domain::delta::Delta;
use jackfield_domain::estimate;
use jackfield_domain::failure::{ModelFailureKind, Phase, RetryAdvice};
use jackfield_domain::listing::ListedModel;
use jackfield_domain::opaque::StateOwner;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::tool::ToolSpec;
use jackfield_domain::trace::TraceContext;
use jackfield_domain::usage::Usage;
use jackfield_ports::call_context::CallContext;
use jackfield_ports::chat_model::{Capabilities, ChatModel, ModelError};
use jackfield_ports::credential::Credential;
use jackfield_ports::delta_sink::DeltaSink;

use crate::by_model::ByModel;

/// How a model is given tools.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ToolMode {
    /// In the provider's own form.
    #[default]
    Native,
    /// In the provider's own form, until the provider says that the model takes none; then as text, for the rest of the
    /// turn. Calls are read out of the text of replies either way.
    Auto,
    /// As text in the prompt, and calls are read out of the text of replies.
    Text,
}

/// A model of another adapter, with its tools in another form: see
/// [`text_tools`](jackfield_dialect_kit::text_tools). Makes one request per call, as that adapter does.
pub struct TextTools {
    inner: Arc<dyn ChatModel>,
    mode: ByModel<ToolMode>,
}

impl fmt::Debug for TextTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextTools")
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl TextTools {
    /// A provider whose models are given their tools in this form, by their names.
    #[must_use]
    pub fn new(inner: Arc<dyn ChatModel>, mode: ByModel<ToolMode>) -> Self {
        Self { inner, mode }
    }

    async fn reply_in_text(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let holds_schema = self.inner.capabilities().structured_output;
        let (rewritten, mut notes) = request::rewrite(request, holds_schema);
        strict::check(&notes, request.strict)?;
        let mut end = self.read(request, &rewritten, call, sink).await?;
        notes.append(&mut end.notes);
        end.notes = notes;
        Ok(end)
    }

    /// Sends a request in the provider's own form. If the model takes no tools, the loop may ask again at once.
    async fn reply_natively(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let replied = self.read(request, request, call, sink).await;
        replied.map_err(|mut error| {
            let failure = &mut error.failure;
            if failure.kind == ModelFailureKind::ToolsUnsupported
                && failure.phase != Phase::MidReply
            {
                failure.advice = RetryAdvice::AtOnce;
            }
            error
        })
    }

    /// Sends a request, and reads calls out of the reply.
    async fn read(
        &self,
        request: &ModelRequest,
        sent: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        let mut reading = ReadingSink {
            bytes: 0,
            reader: TextCallReader::new(request),
            sink,
        };
        let replied = self.inner.reply(sent, call, &mut reading).await;
        let ReadingSink {
            mut reader, sink, ..
        } = reading;
        match replied {
            Ok(mut end) => {
                push_all(sink, reader.finish(&mut end)).await;
                Ok(end)
            }
            Err(error) => {
                push_all(sink, reader.release()).await;
                Err(error)
            }
        }
    }
}

#[async_trait]
impl ChatModel for TextTools {
    fn capabilities(&self) -> Capabilities {
        let mut can = self.inner.capabilities();
        match self.mode.default_value() {
            ToolMode::Auto | ToolMode::Native => {}
            ToolMode::Text => {
                can.forced_tools = can.structured_output;
                can.parallel_calls = true;
                can.tools = true;
            }
        }
        can
    }

    fn state_owner(&self, model: &str) -> StateOwner {
        self.inner.state_owner(model)
    }

    fn own_tools(&self) -> Vec<ToolSpec> {
        self.inner.own_tools()
    }

    fn takes_credentials(&self) -> bool {
        self.inner.takes_credentials()
    }

    async fn models(&self) -> Result<Vec<ListedModel>, ModelError> {
        self.inner.models().await
    }

    async fn reply(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        sink: &mut dyn DeltaSink,
    ) -> Result<ReplyEnd, ModelError> {
        match self.mode.get(&request.model.model) {
            ToolMode::Native => self.inner.reply(request, call, sink).await,
            ToolMode::Auto if !request.tools_as_text => {
                self.reply_natively(request, call, sink).await
            }
            ToolMode::Auto | ToolMode::Text => self.reply_in_text(request, call, sink).await,
        }
    }
}

/// Passes on a reply with the calls in its text as calls.
struct ReadingSink<'a> {
    /// The length of the reply so far, in bytes.
    bytes: usize,
    reader: TextCallReader,
    sink: &'a mut dyn DeltaSink,
}

#[async_trait]
impl DeltaSink for ReadingSink<'_> {
    async fn push(&mut self, delta: Delta) {
        if let Delta::TextAppended { text, .. } = &delta {
            self.bytes += text.len();
        }
        let ready = self.reader.push(delta);
        if ready.is_empty() {
            // What is held shows nothing, and the model must not seem to be silent.
            let output = estimate::tokens(self.bytes);
            self.sink.count(Usage::estimate(0, output)).await;
        }
        push_all(self.sink, ready).await;
    }

    async fn alive(&mut self) {
        self.sink.alive().await;
    }

    async fn request_id(&mut self, id: &str) {
        self.sink.request_id(id).await;
    }

    fn credential(&self) -> Option<&Credential> {
        self.sink.credential()
    }

    fn trace(&self) -> Option<&TraceContext> {
        self.sink.trace()
    }

    async fn count(&mut self, usage: Usage) {
        self.sink.count(usage).await;
    }
}

async fn push_all(sink: &mut dyn DeltaSink, deltas: Vec<Delta>) {
    for delta in deltas {
        sink.push(delta).await;
    }
}
