//! Errors of a request: a sentence, and whether the request can have had an effect.

use std::error::Error;
use std::io;
use std::time::Duration;

use jackfield_ports::call_context::LeasePassed;
use jackfield_ports::chat_model::BoxError;
use thiserror::Error;

use crate::cause::cause;
use crate::destinations::resolve::RefusedAddress;

/// A request without a usable response. Its message contains at most host and port.
#[derive(Debug, Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct FetchError {
    /// The kind of the error.
    pub kind: FetchErrorKind,
    /// The error, and what to do about it.
    pub message: String,
    /// Whether any part of the request may have reached a server. `false` is proved.
    pub sent: bool,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

/// The kind of a request's error.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FetchErrorKind {
    /// The connection broke, or the response was not HTTP.
    Broken,
    /// The response was a redirect that is not followed.
    Redirect,
    /// The address is not permitted.
    Refused,
    /// The server was silent for too long.
    Silent,
    /// No connection could be made.
    Unreachable,
    /// The request cannot be sent.
    Unsendable,
}

/// The destination of a request in the form permitted in errors: host and port, never path, query or user.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// Whether a refusal explains how to permit the destination.
    pub(super) advised: bool,
    pub(super) connect_timeout: Duration,
    pub(super) host: String,
    /// Whether an earlier response was a redirect.
    pub(super) is_redirected: bool,
    pub(super) read_idle: Duration,
}

impl Peer {
    pub(super) fn refused(&self, refused: &RefusedAddress) -> FetchError {
        let mut message = refused.to_string();
        // Advice to permit an address is not given if a server's redirect chose the address.
        if self.advised && !self.is_redirected {
            let address = refused.address;
            message.push_str(&format!(
                "; to allow it, add \"{address}\" to `allow_private` under [network]"
            ));
        }
        self.fault(FetchErrorKind::Refused, message, None)
    }

    pub(super) fn redirect(&self, why: &str) -> FetchError {
        let message = format!("{} answered with a redirect {why}", self.host);
        FetchError {
            sent: true,
            ..self.fault(FetchErrorKind::Redirect, message, None)
        }
    }

    /// The call may not begin any more.
    pub(super) fn passed(&self, passed: LeasePassed) -> FetchError {
        self.fault(FetchErrorKind::Unreachable, passed.to_string(), None)
    }

    /// This machine has no certificate authorities.
    pub(super) fn untrusted(&self) -> FetchError {
        let host = &self.host;
        let message = format!(
            "cannot check who {host} is: this machine has no CA certificates; install them, or name a file of them in SSL_CERT_FILE"
        );
        self.fault(FetchErrorKind::Unreachable, message, None)
    }

    /// There was no response.
    pub(super) fn no_response(&self, error: reqwest::Error) -> FetchError {
        let host = &self.host;
        if let Some(refused) = cause::<RefusedAddress>(&error) {
            return self.refused(refused);
        }
        if let Some(passed) = cause::<LeasePassed>(&error) {
            return self.passed(*passed);
        }
        if error.is_connect() {
            let message = self.connect_message(&error);
            return self.fault(FetchErrorKind::Unreachable, message, Some(error));
        }
        if error.is_builder() {
            let message = format!("the request to {host} cannot be sent");
            return self.fault(FetchErrorKind::Unsendable, message, Some(error));
        }
        if error.is_timeout() {
            return self.timed_out(error);
        }
        let message = format!(
            "{host} closed the connection before it answered, or does not speak HTTP there"
        );
        FetchError {
            sent: true,
            ..self.fault(FetchErrorKind::Broken, message, Some(error))
        }
    }

    /// The response broke off.
    pub(super) fn interrupted(&self, error: reqwest::Error) -> FetchError {
        if error.is_timeout() {
            return self.timed_out(error);
        }
        let message = format!(
            "the connection to {} broke in the middle of its answer",
            self.host
        );
        FetchError {
            sent: true,
            ..self.fault(FetchErrorKind::Broken, message, Some(error))
        }
    }

    fn timed_out(&self, error: reqwest::Error) -> FetchError {
        let seconds = self.read_idle.as_secs_f64();
        let message = format!("{} said nothing for {seconds} s", self.host);
        FetchError {
            sent: true,
            ..self.fault(FetchErrorKind::Silent, message, Some(error))
        }
    }

    fn connect_message(&self, error: &reqwest::Error) -> String {
        let host = &self.host;
        if error.is_timeout() {
            let seconds = self.connect_timeout.as_secs_f64();
            return format!("{host} did not accept a connection within {seconds} s");
        }
        if error.is_dns() {
            return format!("cannot find {host}: is the name right, and the network up?");
        }
        if let Some(fault) = cause::<rustls::Error>(error) {
            return format!("cannot speak TLS with {host}: {fault}");
        }
        match cause::<io::Error>(error).map(io::Error::kind) {
            Some(kind) => format!("cannot connect to {host}: {kind}"),
            None => format!("cannot connect to {host}"),
        }
    }

    fn fault(
        &self,
        kind: FetchErrorKind,
        message: String,
        error: Option<reqwest::Error>,
    ) -> FetchError {
        FetchError {
            kind,
            message,
            sent: self.is_redirected,
            // The URL may contain secrets.
            source: error
                .map(|error| Box::new(error.without_url()) as Box<dyn Error + Send + Sync>),
        }
    }
}
