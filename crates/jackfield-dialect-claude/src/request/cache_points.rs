//! Cache points where the client has set none (prompt caching page, 2026-11).

use jackfield_dialect_kit::outgoing::cache_points::{UsefulPoints, tool_tokens};
use jackfield_domain::estimate;
use jackfield_domain::message::Role;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{CacheMode, CacheTtl};
use serde_json::{Map, Value, json};

use super::conversation::cache_control;
use super::tool_search::DEFER;
use super::tools::CACHE_CONTROL;
use crate::options::Profile;
use crate::wire;

/// Sets the useful cache points of a request that has none.
pub(super) fn set(body: &mut wire::Request, request: &ModelRequest, profile: &Profile) {
    let settings = &request.settings;
    let is_auto = settings.cache.unwrap_or(profile.cache) == CacheMode::Auto;
    if !is_auto || fixed(&body.messages) > 0 || has_any(body) {
        return;
    }
    let ttl = settings.cache_ttl.filter(|ttl| *ttl == CacheTtl::OneHour);
    let point = wire::CacheControl {
        kind: "ephemeral".to_owned(),
        ttl: ttl.map(|ttl| ttl.as_str().to_owned()),
    };
    // A deferred tool is not in the context, and has no point.
    let tools = body.tools.iter_mut().flatten();
    let mut tools: Vec<_> = tools
        .filter(|tool| !tool.extra.contains_key(DEFER))
        .collect();
    let of_tools = tools.iter().map(|tool| {
        let name = tool.name.as_deref().unwrap_or_default();
        tool_tokens(
            name,
            tool.description.as_deref(),
            tool.input_schema.as_ref(),
        )
    });
    let parts = request.system.parts.iter();
    let of_system = parts.map(|part| estimate::tokens(part.text.len()));
    let roles = body.messages.iter().map(|message| match message.role {
        wire::Role::Assistant => Role::Assistant,
        wire::Role::System => Role::System,
        wire::Role::User => Role::User,
    });
    let tokens = (of_tools.sum(), of_system.sum());
    let useful = UsefulPoints::new(request, tokens, roles, profile.cache_minimum);
    if useful.after_tools
        && let Some(last) = tools.last_mut()
    {
        last.extra.insert(CACHE_CONTROL.to_owned(), json!(point));
    }
    if useful.after_system
        && let Some(wire::System::Blocks(blocks)) = &mut body.system
    {
        mark(blocks, &point);
    }
    for place in useful.ends {
        if let Some(message) = body.messages.get_mut(place)
            && let Some(wire::Content::Blocks(blocks)) = &mut message.content
        {
            mark(blocks, &point);
        }
    }
}

/// The number of cache points within blocks that go to the provider unchanged.
pub(super) fn fixed(messages: &[wire::InputMessage]) -> usize {
    let contents = messages
        .iter()
        .filter_map(|message| match &message.content {
            Some(wire::Content::Blocks(blocks)) => Some(blocks),
            Some(wire::Content::Text(_)) | None => None,
        });
    let objects = contents.flatten().filter_map(|block| match block {
        wire::Block::Other(fields) => Some(fields),
        wire::Block::Document { .. }
        | wire::Block::Image { .. }
        | wire::Block::RedactedThinking { .. }
        | wire::Block::Text { .. }
        | wire::Block::Thinking { .. }
        | wire::Block::ToolResult(_)
        | wire::Block::ToolUse(_) => None,
    });
    let points = |fields: &Map<String, Value>| {
        let inner = fields.get("content").and_then(Value::as_array);
        let inner = inner
            .into_iter()
            .flatten()
            .filter_map(|part| part.get(CACHE_CONTROL));
        let points = fields.get(CACHE_CONTROL).into_iter().chain(inner);
        points.filter(|point| !point.is_null()).count()
    };
    objects.map(points).sum()
}

/// Whether a request has a cache point in a place of its own.
fn has_any(body: &mut wire::Request) -> bool {
    let tools = body.tools.iter().flatten().map(|tool| &tool.extra);
    let mut extras = tools.chain([&body.extra]);
    if extras.any(|extra| extra.contains_key(CACHE_CONTROL)) {
        return true;
    }
    let system = match &mut body.system {
        Some(wire::System::Blocks(blocks)) => Some(blocks),
        Some(wire::System::Text(_)) | None => None,
    };
    let messages = body.messages.iter_mut();
    let contents = messages.filter_map(|message| match &mut message.content {
        Some(wire::Content::Blocks(blocks)) => Some(blocks),
        Some(wire::Content::Text(_)) | None => None,
    });
    let mut blocks = system.into_iter().chain(contents).flatten();
    blocks.any(|block| cache_control(block).is_some_and(|cache| cache.is_some()))
}

/// Sets a point on the last of these blocks that can have one.
fn mark(blocks: &mut [wire::Block], point: &wire::CacheControl) {
    let mut blocks = blocks.iter_mut().rev();
    if let Some(cache) = blocks.find_map(cache_control) {
        *cache = Some(point.clone());
    }
}
