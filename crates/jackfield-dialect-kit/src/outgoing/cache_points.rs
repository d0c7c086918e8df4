//! Where cache points are useful that the client has not set, before vendors that cache a request up to its points.

use std::borrow::Cow;

use jackfield_domain::estimate;
use jackfield_domain::message::Role;
use jackfield_domain::outcome::json_size;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::routing::Beginning;
use jackfield_domain::settings::CacheMode;
use serde_json::Value;

/// The places of useful cache points, at most four.
///
/// Such a vendor finds what an earlier request has cached at a point, or a few blocks before one. So each request has a
/// point at its end, and one where the request before it ended: that one is found however many blocks came after it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UsefulPoints {
    /// Whether there is one after the tools.
    pub after_tools: bool,
    /// Whether there is one after the system prompt.
    pub after_system: bool,
    /// The places of the messages that one follows: the user's last one, and the last one before a reply.
    pub ends: Vec<usize>,
}

impl UsefulPoints {
    /// The points of a request with as many tokens of tools and system prompt, whose messages on the wire have these
    /// roles. None is before `least` tokens, which the vendor does not cache.
    pub fn new(
        request: &ModelRequest,
        (tools, system): (u64, u64),
        roles: impl DoubleEndedIterator<Item = Role> + ExactSizeIterator,
        least: u64,
    ) -> Self {
        let (mut before, mut all, mut is_reply) = (0, tools.saturating_add(system), false);
        let is_long = |tokens: u64| tokens > 0 && tokens >= least;
        let (after_tools, after_system) = (is_long(tools), system > 0 && is_long(all));
        for message in request.messages.iter() {
            let was_reply = std::mem::replace(&mut is_reply, message.role == Role::Assistant);
            if is_reply && !was_reply {
                before = all;
            }
            all = all.saturating_add(estimate::message(message));
        }
        let mut ends = Vec::new();
        let mut is_end = true;
        for (place, role) in roles.enumerate().rev() {
            match role {
                Role::Assistant => is_end = true,
                Role::System => {}
                Role::Tool | Role::User => {
                    if std::mem::take(&mut is_end) {
                        ends.push(place);
                    }
                }
            }
        }
        let ends = ends.into_iter().zip([all, before]);
        let ends = ends.filter(|(_, tokens)| is_long(*tokens));
        Self {
            after_tools,
            after_system,
            ends: ends.map(|(place, _)| place).collect(),
        }
    }
}

/// The request without the loop's own cache point if `mode`, that of a request whose settings have none, is `Off`.
#[must_use]
pub fn without_own_point(request: &ModelRequest, mode: CacheMode) -> Cow<'_, ModelRequest> {
    let is_off = request.settings.cache.unwrap_or(mode) == CacheMode::Off;
    if !is_off || !request.turn.as_ref().is_some_and(|turn| turn.own_point) {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    request.messages.remove_last_point();
    Cow::Owned(request)
}

/// The estimated tokens of a tool on the wire.
#[must_use]
pub fn tool_tokens(name: &str, description: Option<&str>, schema: Option<&Value>) -> u64 {
    let texts = name.len() + description.map_or(0, str::len);
    estimate::tokens(texts + schema.map_or(0, json_size))
}

/// A key by which a vendor finds what it has cached of this conversation: equal for all of its requests, whichever process
/// makes them, as it is that of its session, or of its first message if that is not kept. `None` if the vendor would cache
/// nothing, or `mode`, that of a request whose settings have none, is another one than `Auto`.
#[must_use]
pub fn conversation_key(request: &ModelRequest, mode: CacheMode) -> Option<String> {
    let settings = &request.settings;
    if settings.cache.unwrap_or(mode) != CacheMode::Auto {
        return None;
    }
    let user = settings.end_user.as_deref().unwrap_or_default();
    let preamble = estimate::preamble(&request.system, request.tools.iter().map(|tool| &**tool));
    let messages = request.messages.iter().map(|message| &**message);
    let beginning = Beginning::of(user, preamble, messages);
    let session = request.turn.as_ref().and_then(|turn| turn.conversation);
    (beginning.tokens >= KEYED).then(|| session.unwrap_or(beginning.key).to_hex())
}

/// The least tokens that OpenAI caches (prompt caching guide, 2026-11).
const KEYED: u64 = 1024;
