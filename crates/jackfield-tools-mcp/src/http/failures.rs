//! Why an exchange has failed, in words with the remedy, and with what is known about the request.

use http::StatusCode;
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_ports::call_context::LeasePassed;
use rmcp::model::{ErrorCode, ErrorData};

use crate::error::ServerFault;
use crate::failure::{LinkFailure, LinkFailureKind};

/// The failure of the connection to the server.
pub(super) fn transport(failure: &ModelFailure) -> LinkFailure {
    let message = failure.message.clone();
    if failure.phase == Phase::BeforeSend {
        return LinkFailure {
            is_final: true,
            ..LinkFailure::not_sent(message, "check that the server runs and can be reached")
        };
    }
    let kind = if failure.kind == ModelFailureKind::Timeout {
        LinkFailureKind::Timeout
    } else if failure.kind == ModelFailureKind::ProtocolViolation {
        LinkFailureKind::Protocol
    } else {
        LinkFailureKind::Unavailable
    };
    LinkFailure::unknown(kind, message, "see the server's own log")
}

/// The failure of an answer with this status, whose body is not a message of the protocol.
pub(super) fn status(host: &str, status: StatusCode, words: &str) -> LinkFailure {
    let reason = |what: &str| match words {
        "" => format!("{host} answers {status}: {what}"),
        words => format!("{host} answers {status}: {what} (it says: {words})"),
    };
    match status.as_u16() {
        401 => LinkFailure {
            is_final: true,
            ..LinkFailure::not_sent(
                reason("it wants credentials, or does not accept those that it got"),
                "give it a header in its `headers`, such as \"Authorization\": \"Bearer ${NAME}\"",
            )
        },
        403 => LinkFailure {
            is_final: true,
            ..LinkFailure::not_sent(
                reason("it refuses this client"),
                "check what the credentials in its `headers` are allowed to do",
            )
        },
        429 => LinkFailure::not_sent(reason("it gets too many requests"), "try again later"),
        413 => LinkFailure::not_sent(
            reason("the request is too large for it"),
            "give it less at once",
        ),
        // Not taken, as these statuses of HTTP and of the protocol say.
        400 | 404..=406 | 411 | 414 | 415 | 417 | 421 | 426 | 431 => LinkFailure::not_sent(
            reason("it does not take the request"),
            "check that its `url` is that of an MCP server over Streamable HTTP; the path is often `/mcp`",
        ),
        // Others may follow an attempt, as a conflict or the limit on its time do.
        400..=499 => LinkFailure::unknown(
            LinkFailureKind::Unavailable,
            reason("it, or something in front of it, has not completed the request"),
            "see the server's own log",
        ),
        500..=599 => LinkFailure::unknown(
            LinkFailureKind::Unavailable,
            reason("it has failed, or something in front of it has"),
            "see the server's own log",
        ),
        _ => LinkFailure::unknown(
            LinkFailureKind::Protocol,
            reason("the protocol has no such answer"),
            "check its `url`",
        ),
    }
}

/// A request that needs a person to sign in, or a sign-in that works again. The server has not acted on it.
pub(super) fn sign_in(fault: ServerFault) -> LinkFailure {
    LinkFailure {
        is_final: true,
        ..LinkFailure::not_sent(fault.reason, fault.advice)
    }
}

/// The call may not begin any more.
pub(super) fn passed(passed: LeasePassed) -> LinkFailure {
    LinkFailure::not_sent(passed.to_string(), "nothing has to be done")
}

/// Whether the server says that it does not know the session: by 404, or as many do instead in these words, which are in
/// lower case. So did the SDKs of MCP for Python (400) and Rust (401) until 2026, and so does that for TypeScript after a
/// restart.
pub(super) fn forgets_session(status: StatusCode, error: Option<&ErrorData>, words: &str) -> bool {
    match status.as_u16() {
        404 => error.is_none_or(|error| error.code != ErrorCode::METHOD_NOT_FOUND),
        400 => words.contains("session") || words.contains("server not initialized"),
        401 => words.contains("session not found"),
        _ => false,
    }
}

/// The server has forgotten the session, and has not acted on the request.
pub(super) fn session_lost(host: &str) -> LinkFailure {
    LinkFailure {
        session_lost: true,
        ..LinkFailure::not_sent(
            format!("{host} has ended the session"),
            "make the call again: it begins another session",
        )
    }
}

/// A redirect that is not followed.
pub(super) fn redirect(host: &str, to: Option<&str>) -> LinkFailure {
    let to = to.unwrap_or("an address that it does not name");
    LinkFailure {
        is_final: true,
        ..LinkFailure::not_sent(
            format!("{host} redirects to {to}, which is not followed"),
            "if that is the right address, write it as its `url`",
        )
    }
}

/// The endpoint is one of the transport of 2024-11-05.
pub(super) fn old_transport(host: &str) -> LinkFailure {
    LinkFailure {
        is_final: true,
        ..LinkFailure::not_sent(
            format!(
                "{host} speaks the old transport HTTP+SSE of 2024-11-05 there, which is not supported"
            ),
            "use the server's address for Streamable HTTP, often the same with `/mcp` instead of `/sse`, \
             or a newer version of the server",
        )
    }
}

/// The answer has a media type that the protocol does not have.
pub(super) fn media_type(host: &str, media_type: Option<&str>) -> LinkFailure {
    let said = match media_type {
        Some(media_type) => format!("with `{}`", cut(media_type)),
        None => "without a content type".to_owned(),
    };
    LinkFailure::unknown(
        LinkFailureKind::Protocol,
        format!("{host} answers {said}, not with JSON or a stream of events"),
        "check that its `url` is that of an MCP server: a page or a login in front of it may have answered",
    )
}

/// The request was taken, and there is no answer to it.
pub(super) fn no_answer(host: &str, why: &str) -> LinkFailure {
    LinkFailure::unknown(
        LinkFailureKind::Protocol,
        format!("{host} took the request and gave no answer to it: {why}"),
        "see the server's own log",
    )
}

/// The beginning of a text, for a message.
pub(super) fn cut(text: &str) -> String {
    let text = text.trim().chars().filter(|c| !c.is_control());
    text.take(200).collect()
}
