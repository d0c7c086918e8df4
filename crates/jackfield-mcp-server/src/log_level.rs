//! Which log messages of servers a client gets (MCP 2025-11-25 and 2026-07-28, "Logging", read 2026-11-29).
#![expect(
    deprecated,
    reason = "rmcp marks log messages so (SEP-2577), and clients ask for them"
)]

use std::sync::{Mutex, PoisonError};

use jackfield_engine::{LogLevel, ServerLogMessage};
use rmcp::RoleServer;
use rmcp::model::LoggingLevel;
use rmcp::service::RequestContext;
use serde_json::json;

use crate::revision::Revision;
use crate::writer::LossLog;

/// The lowest level of log messages that a client of the older era wants.
#[derive(Debug)]
pub(crate) struct ChosenLogLevel(Mutex<LogLevel>);

/// Until the client has chosen a level, we do.
impl Default for ChosenLogLevel {
    fn default() -> Self {
        Self(Mutex::new(LogLevel::Info))
    }
}

impl ChosenLogLevel {
    pub(crate) fn set(&self, level: LoggingLevel) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = log_level(level);
    }

    /// The lowest level that is wanted during this request. In the newer era the request says so, and without a word of
    /// it, none is wanted.
    pub(crate) fn wanted(&self, context: &RequestContext<RoleServer>) -> Option<LogLevel> {
        if Revision::of(context.protocol_version().as_ref()).legacy {
            return Some(*self.0.lock().unwrap_or_else(PoisonError::into_inner));
        }
        context.meta.log_level().map(log_level)
    }
}

const fn log_level(level: LoggingLevel) -> LogLevel {
    match level {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info => LogLevel::Info,
        LoggingLevel::Notice => LogLevel::Notice,
        LoggingLevel::Warning => LogLevel::Warning,
        LoggingLevel::Error => LogLevel::Error,
        LoggingLevel::Critical => LogLevel::Critical,
        LoggingLevel::Alert => LogLevel::Alert,
        LoggingLevel::Emergency => LogLevel::Emergency,
    }
}

/// Sends log messages to the client. They are dropped if it reads too slowly.
pub(crate) fn log_sender(loss_log: LossLog) -> Box<dyn FnMut(ServerLogMessage) + Send> {
    Box::new(move |message| {
        let mut params = json!({ "level": message.level.as_str(), "data": message.data });
        if let Some(logger) = message.logger {
            params["logger"] = json!(logger);
        }
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
        loss_log.try_send(note.to_string().into_bytes());
    })
}
