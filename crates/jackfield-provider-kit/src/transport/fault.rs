//! Errors of the transport, classified, with the host, the cause and advice in one sentence.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase, RetryAdvice};
use jackfield_ports::call_context::LeasePassed;
use jackfield_ports::chat_model::ModelError;
use rustls::CertificateError;

use super::{TransportError, TransportSettings};
use crate::cause::cause;
use crate::destinations::resolve::RefusedAddress;

/// The destination of a request in the form permitted in errors: host and port, never path, query or user.
#[derive(Clone, Debug)]
pub(super) struct RequestPeer {
    connect_timeout: Duration,
    host: Arc<str>,
    read_idle: Duration,
    /// What the setting with the address is called.
    url_key: &'static str,
}

impl RequestPeer {
    pub(super) fn new(uri: &Uri, settings: &TransportSettings, url_key: &'static str) -> Self {
        let host = match (uri.host(), uri.port_u16()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => "the server".to_owned(),
        };
        Self {
            connect_timeout: settings.connect_timeout,
            host: host.into(),
            read_idle: settings.read_idle,
            url_key,
        }
    }

    /// This machine has no certificate authorities.
    pub(super) fn untrusted(&self) -> ModelFailure {
        let host = &self.host;
        permanent_failure(
            ModelFailureKind::Transport,
            format!(
                "cannot check who {host} is: this machine has no CA certificates; install them, or name a file of them in SSL_CERT_FILE"
            ),
        )
    }

    /// The request cannot be sent.
    pub(super) fn unsendable(&self, error: reqwest::Error) -> ModelError {
        let (host, key) = (&self.host, self.url_key);
        let failure = permanent_failure(
            ModelFailureKind::InvalidRequest,
            format!("the request to {host} cannot be sent: is {key} right?"),
        );
        ModelError::with_source(failure, error.without_url())
    }

    /// The client cannot be created.
    pub(super) fn client_unavailable(&self, error: TransportError) -> ModelError {
        let host = &self.host;
        let failure = permanent_failure(
            ModelFailureKind::Transport,
            format!("the request to {host} cannot be sent: {error}"),
        );
        ModelError::with_source(failure, error)
    }

    /// The host, and the port if the URL has one.
    pub(super) const fn host(&self) -> &Arc<str> {
        &self.host
    }

    /// There was no response. `was_kept` is whether the connection may have been one that was kept from an earlier
    /// request, and that the server was just closing.
    pub(super) fn no_response(&self, error: reqwest::Error, was_kept: bool) -> ModelError {
        if cause::<RefusedAddress>(&error).is_some() {
            return self.refused();
        }
        if let Some(passed) = cause::<LeasePassed>(&error) {
            return (*passed).into();
        }
        let host = &self.host;
        let failure = if error.is_connect() {
            self.connect_failure(&error)
        } else if error.is_builder() {
            return self.unsendable(error);
        } else {
            let message = format!(
                "{host} closed the connection before it answered, or does not speak HTTP there"
            );
            let failure = ModelFailure::new(
                ModelFailureKind::Interrupted,
                Phase::BeforeFirstDelta,
                message,
            );
            let advice = if was_kept {
                RetryAdvice::AtOnce
            } else {
                failure.advice
            };
            ModelFailure { advice, ..failure }
        };
        ModelError::with_source(failure, error.without_url())
    }

    /// The address is not permitted. It is not named: who gave the name need not know where it leads.
    pub(super) fn refused(&self) -> ModelError {
        let host = &self.host;
        let message =
            format!("{host} is not at a public address, and only public addresses are reached");
        permanent_failure(ModelFailureKind::Transport, message).into()
    }

    /// The response broke off.
    pub(super) fn interrupted(&self, error: reqwest::Error) -> ModelError {
        let host = &self.host;
        let failure = ModelFailure::new(
            ModelFailureKind::Interrupted,
            Phase::BeforeFirstDelta,
            format!("the connection to {host} broke in the middle of its answer"),
        );
        ModelError::with_source(failure, error.without_url())
    }

    /// The response exceeds the limit on size.
    pub(super) fn too_long(&self, limit: usize) -> ModelFailure {
        let host = &self.host;
        ModelFailure::new(
            ModelFailureKind::ProtocolViolation,
            Phase::BeforeFirstDelta,
            format!("the answer of {host} is longer than {} MiB", limit >> 20),
        )
    }

    /// The response has a content encoding that is unsupported, or invalid data for it.
    pub(super) fn encoding_failure(&self, named: &str, fault: Option<&io::Error>) -> ModelFailure {
        let host = &self.host;
        let message = match fault {
            None => format!(
                "the answer of {host} has the content encoding `{named}`, which was not asked for and is not read: \
                 does a proxy in between compress it?"
            ),
            Some(fault) => format!(
                "the answer of {host} says that it has the content encoding `{named}`, and has not: {fault}"
            ),
        };
        let kind = ModelFailureKind::ProtocolViolation;
        ModelFailure::new(kind, Phase::BeforeFirstDelta, message)
    }

    /// The longest permitted silence.
    pub(super) const fn read_idle(&self) -> Duration {
        self.read_idle
    }

    /// The server was silent for too long.
    pub(super) fn timed_out(&self) -> ModelFailure {
        let (host, seconds) = (&self.host, self.read_idle.as_secs_f64());
        ModelFailure::new(
            ModelFailureKind::Timeout,
            Phase::BeforeFirstDelta,
            format!("{host} said nothing for {seconds} s"),
        )
    }

    fn connect_failure(&self, error: &reqwest::Error) -> ModelFailure {
        let (host, key) = (&self.host, self.url_key);
        if error.is_timeout() {
            let seconds = self.connect_timeout.as_secs_f64();
            return before_send(
                ModelFailureKind::Timeout,
                format!(
                    "{host} did not accept a connection within {seconds} s: is the network up, and {key} right?"
                ),
            );
        }
        if error.is_dns() {
            return before_send(
                ModelFailureKind::Transport,
                format!("cannot find {host}: is {key} spelled right, and the network up?"),
            );
        }
        if let Some(fault) = cause::<rustls::Error>(error) {
            if let rustls::Error::InvalidCertificate(why) = fault {
                let message = if *why == CertificateError::UnknownIssuer {
                    format!(
                        "cannot be sure who {host} is: its certificate is from an authority that this machine does not know; add that to the system's, or name a file of them in SSL_CERT_FILE"
                    )
                } else {
                    format!(
                        "cannot be sure who {host} is ({why}): is {key} right, and this machine's clock?"
                    )
                };
                return permanent_failure(ModelFailureKind::Transport, message);
            }
            return before_send(
                ModelFailureKind::Transport,
                format!("cannot speak TLS with {host} ({fault}): is {key} right, https included?"),
            );
        }
        match cause::<io::Error>(error).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => before_send(
                ModelFailureKind::Transport,
                format!("{host} refused the connection: is the server running, and {key} right?"),
            ),
            Some(kind) => before_send(
                ModelFailureKind::Transport,
                format!("cannot connect to {host} ({kind}): is the network up, and {key} right?"),
            ),
            None => before_send(
                ModelFailureKind::Transport,
                format!("cannot connect to {host}: is the network up, and {key} right?"),
            ),
        }
    }
}

fn before_send(kind: ModelFailureKind, message: String) -> ModelFailure {
    ModelFailure::new(kind, Phase::BeforeSend, message)
}

fn permanent_failure(kind: ModelFailureKind, message: String) -> ModelFailure {
    ModelFailure {
        advice: RetryAdvice::Never,
        ..before_send(kind, message)
    }
}
