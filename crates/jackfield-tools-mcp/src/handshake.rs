//! Detects which of the two eras a server belongs to, and performs the handshake of the older one.
//!
//! Servers of 2026-07-28 and later know `server/discover` and have no handshake; those before have `initialize`
//! (MCP specification, revisions 2024-11-05 to 2026-07-28, "Lifecycle" and "Versioning", read 2026-11-22). The
//! first answer decides, so a short probe does no harm to a server that is slow to start.

use rmcp::model::{ErrorData, ProtocolVersion, RequestId, ServerCapabilities, ServerPeerInfo};
use serde_json::{Value, json};
use tokio::time::timeout_at;

use crate::clock::after;
use crate::config::ClientSettings;
use crate::era::Era;
use crate::error::ServerFault;
use crate::link::{Link, LinkEvent, OF_A_PROCESS, Outgoing};
use crate::message::{ReadMessage, ServerMessage};
use crate::questions::AllowedQuestions;
use crate::transport::ServerNotices;

/// The result of a successful handshake.
pub(crate) struct HandshakeOutcome {
    pub(crate) era: Era,
    pub(crate) peer: ServerPeerInfo,
}

pub(crate) enum HandshakeError {
    /// The server ended before any answer, perhaps because of the probe.
    EndedAtProbe,
    Fault(ServerFault),
    /// The server never ran, because of its container.
    Container(ServerFault),
}

/// Detects the era of the server, and performs the handshake in the older one.
pub(crate) async fn negotiate(
    link: &mut dyn Link,
    notices: &ServerNotices,
    known_era: Option<Era>,
    settings: &ClientSettings,
    has_roots: bool,
) -> Result<HandshakeOutcome, HandshakeError> {
    let mut handshake = Handshake {
        has_roots,
        sent: Vec::new(),
        link,
        notices,
        settings,
    };
    if known_era == Some(Era::Handshake) {
        handshake.send_request(INITIALIZE);
    } else {
        handshake.send_request(PROBE);
        match timeout_at(after(settings.probe), handshake.next_reply()).await {
            Ok(Ok(HandshakeReply::Completed(met))) => {
                handshake.link.settle(met.era, &met.peer);
                return Ok(*met);
            }
            Ok(Ok(HandshakeReply::Ended)) => return Err(HandshakeError::EndedAtProbe),
            Ok(Ok(HandshakeReply::Refused(_))) | Err(_) => {}
            Ok(Err(fault)) => return Err(HandshakeError::Fault(fault)),
        }
        handshake.send_request(INITIALIZE);
    }
    loop {
        match handshake
            .next_reply()
            .await
            .map_err(HandshakeError::Fault)?
        {
            HandshakeReply::Completed(met) => {
                handshake.link.settle(met.era, &met.peer);
                if met.era == Era::Handshake {
                    let done = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
                    handshake.send(&done);
                }
                return Ok(*met);
            }
            // A server that is slow to start may read the probe after its time limit.
            HandshakeReply::Ended if handshake.is_probe_unanswered() => {
                return Err(HandshakeError::EndedAtProbe);
            }
            HandshakeReply::Ended => return Err(HandshakeError::Fault(ended_early())),
            // The server may have been replaced by a version that knows only the newer era.
            HandshakeReply::Refused(_) if !handshake.was_sent(PROBE) => {
                handshake.send_request(PROBE);
            }
            HandshakeReply::Refused(reason) if handshake.is_all_refused() => {
                return Err(HandshakeError::Fault(ServerFault::new(
                    format!("it answers neither `server/discover` nor `initialize`: {reason}"),
                    handshake.link.advice().not_a_server,
                )));
            }
            HandshakeReply::Refused(_) => {}
        }
    }
}

/// The fault of a server that ended without any answer.
pub(crate) fn ended_early() -> ServerFault {
    ServerFault::new("it ended before it had answered", OF_A_PROCESS.ended)
}

/// The client's capabilities, which every request of the newer era contains.
pub(crate) fn client_capabilities(allowed: AllowedQuestions, has_roots: bool) -> Value {
    let mut capabilities = allowed.capabilities(has_roots);
    capabilities["extensions"] = json!({ "io.modelcontextprotocol/tasks": {} });
    capabilities
}

struct Handshake<'a> {
    has_roots: bool,
    /// The requests sent so far, and whether each was refused.
    sent: Vec<(&'static str, bool)>,
    link: &'a mut dyn Link,
    notices: &'a ServerNotices,
    settings: &'a ClientSettings,
}

enum HandshakeReply {
    Ended,
    Completed(Box<HandshakeOutcome>),
    Refused(String),
}

impl Handshake<'_> {
    fn send(&mut self, message: &Value) {
        // If the write fails, the link ends too, or has an event that says so.
        let message = Outgoing::new(message.to_string().into_bytes());
        drop(self.link.send(message));
    }

    fn send_request(&mut self, id: &'static str) {
        let client = json!({ "name": "jackfield", "version": self.settings.version });
        let allowed = AllowedQuestions::of(self.settings);
        let (method, params) = if id != INITIALIZE {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": ProtocolVersion::V_2026_07_28.as_str(),
                "io.modelcontextprotocol/clientInfo": client,
                "io.modelcontextprotocol/clientCapabilities": client_capabilities(allowed, self.has_roots),
            });
            ("server/discover", json!({ "_meta": meta }))
        } else {
            let version = ProtocolVersion::LATEST_WITH_INITIALIZE;
            let capabilities = allowed.capabilities(self.has_roots);
            let params = json!({
                "protocolVersion": version.as_str(),
                "capabilities": capabilities,
                "clientInfo": client,
            });
            ("initialize", params)
        };
        self.sent.push((id, false));
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn was_sent(&self, id: &str) -> bool {
        self.sent.iter().any(|(asked, _)| *asked == id)
    }

    /// Whether the probe was sent first and there was no answer at all.
    fn is_probe_unanswered(&self) -> bool {
        self.sent.first() == Some(&(PROBE, false)) && !self.sent.iter().any(|(_, refused)| *refused)
    }

    fn is_all_refused(&self) -> bool {
        self.sent.iter().all(|(_, refused)| *refused)
    }

    /// Waits for a deciding answer. Cancel safe.
    async fn next_reply(&mut self) -> Result<HandshakeReply, ServerFault> {
        loop {
            let message = match self.link.receive().await {
                None => return Ok(HandshakeReply::Ended),
                Some(LinkEvent::Failed { failure, .. }) if failure.is_final => {
                    return Err(ServerFault::new(failure.reason, failure.advice));
                }
                Some(LinkEvent::Failed { id, failure }) => {
                    let id = id.to_string();
                    let Some(asked) = self.sent.iter_mut().find(|(asked, _)| *asked == id) else {
                        continue;
                    };
                    asked.1 = true;
                    return Ok(HandshakeReply::Refused(failure.reason));
                }
                Some(LinkEvent::Message(ReadMessage { message, .. })) => message,
                Some(LinkEvent::Note(line)) => {
                    self.notices.log.push(&line);
                    continue;
                }
                // The stream on which it comes is opened after the handshake.
                Some(LinkEvent::SessionLost) => continue,
            };
            match message {
                ServerMessage::Answer { answer, id } => {
                    let id = id.to_string();
                    let result: Value = serde_json::from_str(&answer.text).unwrap_or_default();
                    let Some(asked) = self.sent.iter_mut().find(|(asked, _)| *asked == id) else {
                        continue;
                    };
                    let outcome = if id == INITIALIZE {
                        parse_initialize(&result)?
                    } else {
                        parse_discovery(&result)
                    };
                    match outcome {
                        Some(met) => return Ok(HandshakeReply::Completed(Box::new(met))),
                        None => {
                            asked.1 = true;
                            let reason = format!("it answered {}", shortened(&answer.text));
                            return Ok(HandshakeReply::Refused(reason));
                        }
                    }
                }
                ServerMessage::Error { error, id } => {
                    let id = id.map(|id| id.to_string());
                    // An error without an id can only concern the last request.
                    let place = match id {
                        Some(id) => self.sent.iter_mut().find(|(asked, _)| *asked == id),
                        None => self.sent.last_mut(),
                    };
                    if let Some(place) = place {
                        place.1 = true;
                        if place.0 == PROBE && names_our_version(&error) {
                            self.send_request(SECOND_PROBE);
                            continue;
                        }
                        let reason = format!("{} ({})", error.message, error.code.0);
                        return Ok(HandshakeReply::Refused(shortened(&reason)));
                    }
                }
                ServerMessage::Noise(line) => self.notices.log_noise(&line),
                ServerMessage::Log(log) => self.notices.log_message(&log.params),
                ServerMessage::Notification { .. } => {}
                ServerMessage::Question(question) => self.refuse(question.id),
                ServerMessage::Request(request) => self.reply(&request),
                ServerMessage::Unreadable {
                    id,
                    line,
                    reason: why,
                } => {
                    self.notices.log_noise(&line);
                    let id = id.to_string();
                    if let Some(asked) = self.sent.iter_mut().find(|(asked, _)| *asked == id) {
                        asked.1 = true;
                        let reason = format!("its answer cannot be read: {why}");
                        return Ok(HandshakeReply::Refused(reason));
                    }
                }
            }
        }
    }

    /// Before the handshake a server may only send `ping`. Any other request gets an error, as the server would
    /// wait otherwise.
    fn reply(&mut self, request: &rmcp::model::ServerJsonRpcMessage) {
        let rmcp::model::JsonRpcMessage::Request(request) = request else {
            return;
        };
        let id = request.id.clone().into_json_value();
        if matches!(request.request, rmcp::model::ServerRequest::PingRequest(_)) {
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        } else {
            self.refuse(request.id.clone());
        }
    }

    fn refuse(&mut self, id: RequestId) {
        let error = json!({ "code": -32601, "message": "nothing can be asked for here" });
        let id = id.into_json_value();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }
}

/// The server's details, if this is a valid answer to the probe and includes the newer era.
fn parse_discovery(result: &Value) -> Option<HandshakeOutcome> {
    let version = ProtocolVersion::V_2026_07_28;
    let supported = result.get("supportedVersions")?.as_array()?;
    let known = supported
        .iter()
        .any(|one| one.as_str() == Some(version.as_str()));
    let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
    known.then(|| HandshakeOutcome {
        era: Era::Stateless,
        peer: peer(version, result, info),
    })
}

/// The server's details, if this is a valid answer to `initialize`.
fn parse_initialize(result: &Value) -> Result<Option<HandshakeOutcome>, ServerFault> {
    let Some(offered) = result.get("protocolVersion").and_then(Value::as_str) else {
        return Ok(None);
    };
    let known = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .find(|version| version.as_str() == offered && version.has_initialize());
    let Some(version) = known else {
        return Err(ServerFault::new(
            format!(
                "it speaks version {} of the protocol, which is not known here",
                shortened(offered)
            ),
            "use a version of the server that speaks 2024-11-05 to 2026-07-28",
        ));
    };
    Ok(Some(HandshakeOutcome {
        era: Era::Handshake,
        peer: peer(version.clone(), result, result.get("serverInfo")),
    }))
}

fn peer(version: ProtocolVersion, result: &Value, info: Option<&Value>) -> ServerPeerInfo {
    let capabilities = result.get("capabilities").cloned().unwrap_or_default();
    let capabilities = serde_json::from_value::<ServerCapabilities>(capabilities);
    let mut peer = ServerPeerInfo::new(version, capabilities.unwrap_or_default());
    if let Some(info) = info.and_then(|info| serde_json::from_value(info.clone()).ok()) {
        peer = peer.with_server_info(info);
    }
    if let Some(text) = result.get("instructions").and_then(Value::as_str) {
        peer = peer.with_instructions(text);
    }
    peer
}

/// Whether this error says that the server does not know a revision of the protocol, and names ours among those that it
/// knows. Then the request is sent once more (MCP 2026-07-28, "Versioning", read 2026-11-26).
fn names_our_version(error: &ErrorData) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    let supported = supported.and_then(Value::as_array);
    let is_ours =
        |version: &Value| version.as_str() == Some(ProtocolVersion::V_2026_07_28.as_str());
    error.code.0 == UNSUPPORTED_VERSION && supported.is_some_and(|known| known.iter().any(is_ours))
}

fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

/// The ids of the requests: strings, so that no later request has the same id.
const INITIALIZE: &str = "hello";
const PROBE: &str = "probe";
const SECOND_PROBE: &str = "probe-2";
/// The code of an error for a revision that the server does not know (MCP 2026-07-28, read 2026-11-26).
const UNSUPPORTED_VERSION: i32 = -32022;
