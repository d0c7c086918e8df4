//! A mark on a request in flight: whether it was written, and the receiver of its progress.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_ports::call_context::{CallContext, LeasePassed};
use jackfield_ports::server_log::ServerLogMessage;
use rmcp::model::{ProgressToken, RequestId};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::message::ServerQuestion;

/// A mark on one request.
#[derive(Clone, Debug)]
pub(crate) struct RequestMark(Arc<MarkedRequest>);

#[derive(Debug)]
struct MarkedRequest {
    call: CallContext,
    logs: mpsc::Sender<ServerLogMessage>,
    progress: mpsc::Sender<RequestProgress>,
    questions: mpsc::Sender<ServerQuestion>,
    written: AtomicU8,
}

/// What the server says of a request before its answer.
#[derive(Debug)]
pub(crate) struct RequestNews {
    /// Log messages, until this is closed.
    pub(crate) logs: mpsc::Receiver<ServerLogMessage>,
    pub(crate) progress: mpsc::Receiver<RequestProgress>,
    /// Questions to a person. The server's questions are declined once this is closed.
    pub(crate) questions: mpsc::Receiver<ServerQuestion>,
}

/// The progress of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RequestProgress {
    pub(crate) done: f64,
    pub(crate) message: Option<String>,
    pub(crate) total: Option<f64>,
}

impl RequestMark {
    /// The mark of a request of this call.
    pub(crate) fn new(call: CallContext) -> (Self, RequestNews) {
        let (logs, logged) = mpsc::channel(LOGS);
        let (progress, told) = mpsc::channel(PROGRESS);
        let (questions, asked) = mpsc::channel(QUESTIONS);
        let marked = MarkedRequest {
            call,
            logs,
            progress,
            questions,
            written: AtomicU8::new(WAITING),
        };
        let news = RequestNews {
            logs: logged,
            progress: told,
            questions: asked,
        };
        (Self(Arc::new(marked)), news)
    }

    /// Claims the request for writing.
    pub(crate) fn begin(&self) -> WriteClaim {
        let claimed = match self.0.call.begin() {
            Ok(()) => self.transition(BEGUN),
            Err(LeasePassed) => self.transition(PASSED),
        };
        match self.0.written.load(Ordering::SeqCst) {
            PASSED => WriteClaim::Passed,
            _ if claimed => WriteClaim::Begun,
            _ => WriteClaim::Withdrawn,
        }
    }

    /// Whether it is not written, because its call may not begin any more.
    pub(crate) fn has_passed(&self) -> bool {
        self.0.written.load(Ordering::SeqCst) == PASSED
    }

    /// The call of the request.
    pub(crate) fn call(&self) -> &CallContext {
        &self.0.call
    }

    /// Withdraws the request; `true` proves that no byte of it was or will be written.
    pub(crate) fn withdraw(&self) -> bool {
        self.transition(WITHDRAWN) || self.0.written.load(Ordering::SeqCst) != BEGUN
    }

    fn transition(&self, to: u8) -> bool {
        let order = Ordering::SeqCst;
        let left = self.0.written.compare_exchange(WAITING, to, order, order);
        left.is_ok()
    }
}

/// Whether a request may be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum WriteClaim {
    /// It may, once.
    Begun,
    /// The lease of its call has passed.
    Passed,
    /// Its requester has taken it back.
    Withdrawn,
}

/// The requests in flight, by their progress tokens.
#[derive(Debug, Default)]
pub(crate) struct RequestsInFlight(Mutex<Requests>);

#[derive(Debug, Default)]
struct Requests {
    marks: HashMap<ProgressToken, RequestMark>,
    tokens: HashMap<RequestId, ProgressToken>,
}

impl RequestsInFlight {
    pub(crate) fn begin(&self, id: RequestId, token: ProgressToken, mark: RequestMark) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        requests.tokens.insert(id, token.clone());
        requests.marks.insert(token, mark);
    }

    pub(crate) fn end(&self, id: &RequestId) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = requests.tokens.remove(id) {
            requests.marks.remove(&token);
        }
    }

    /// Passes a question on to the request that it belongs to. Without a word of that, it belongs to the only request in
    /// flight that takes questions.
    ///
    /// # Errors
    ///
    /// The question, if it belongs to no request, or to one that takes none.
    pub(crate) fn forward_question(&self, question: ServerQuestion) -> Result<(), ServerQuestion> {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = requests.marks.values();
        let mut marks = marks.filter(|mark| !mark.0.questions.is_closed());
        let mark = match &question.during {
            Some(id) => {
                let token = requests.tokens.get(id);
                token.and_then(|token| requests.marks.get(token))
            }
            None => marks.next().filter(|_| marks.next().is_none()),
        };
        let Some(mark) = mark else {
            return Err(question);
        };
        let sent = mark.0.questions.try_send(question);
        sent.map_err(|refused| match refused {
            TrySendError::Closed(question) | TrySendError::Full(question) => question,
        })
    }

    /// Passes a log message on to the request that it belongs to. Without a word of that, it belongs to the only request
    /// in flight that takes log messages. If there is none, or its queue is full, it is dropped.
    pub(crate) fn forward_log(&self, during: Option<&RequestId>, message: ServerLogMessage) {
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let marks = requests.marks.values();
        let mut marks = marks.filter(|mark| !mark.0.logs.is_closed());
        let mark = match during {
            Some(id) => {
                let token = requests.tokens.get(id);
                token.and_then(|token| requests.marks.get(token))
            }
            None => marks.next().filter(|_| marks.next().is_none()),
        };
        if let Some(mark) = mark {
            let _full = mark.0.logs.try_send(message);
        }
    }

    /// Passes progress on to the waiting request. If its queue is full, the progress is dropped.
    pub(crate) fn forward_progress(&self, params: &Value) {
        let Some(progress) = RequestProgress::read(params) else {
            return;
        };
        let token = params.get("progressToken").cloned().unwrap_or_default();
        let Ok(token) = serde_json::from_value::<ProgressToken>(token) else {
            return;
        };
        let requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mark) = requests.marks.get(&token) {
            let _full = mark.0.progress.try_send(progress);
        }
    }
}

impl RequestProgress {
    fn read(params: &Value) -> Option<Self> {
        let message = params.get("message").and_then(Value::as_str);
        Some(Self {
            done: params.get("progress")?.as_f64()?,
            message: message.map(|text| text.chars().take(MAX_MESSAGE).collect()),
            total: params.get("total").and_then(Value::as_f64),
        })
    }
}

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const WITHDRAWN: u8 = 2;
const PASSED: u8 = 3;
/// The length of the queue of log messages.
const LOGS: usize = 64;
/// The longest progress message, in characters; the rest is cut off.
const MAX_MESSAGE: usize = 1000;
/// The length of the queue of progress notifications.
const PROGRESS: usize = 64;
/// The length of the queue of questions; servers ask one after another.
const QUESTIONS: usize = 4;
