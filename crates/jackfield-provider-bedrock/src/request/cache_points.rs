//! Cache points where the client has set none (user guide's page on prompt caching, 2026-11).

use jackfield_dialect_kit::outgoing::cache_points::{UsefulPoints, tool_tokens};
use jackfield_domain::estimate;
use jackfield_domain::message::Role;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{CacheMode, CacheTtl};

use crate::profile::ModelProfile;
use crate::wire;

/// Sets the useful cache points of a request that has none.
pub(super) fn set(body: &mut wire::Request, request: &ModelRequest, profile: &ModelProfile) {
    let settings = &request.settings;
    let is_auto = settings.cache.unwrap_or(profile.cache) == CacheMode::Auto;
    let mut contents = body.messages.iter().flat_map(|message| &message.content);
    let can_have = profile.cache_points && profile.auto_cache_points;
    if !is_auto || !can_have || contents.any(is_point) {
        return;
    }
    let is_claude = profile.claude.is_some();
    let ttl = settings
        .cache_ttl
        .filter(|ttl| profile.hour_cache_points && *ttl == CacheTtl::OneHour);
    let point = wire::CachePoint {
        kind: "default",
        ttl: ttl.map(|ttl| ttl.as_str().to_owned()),
    };
    let mut tools = body.tool_config.as_mut().map(|config| &mut config.tools);
    let of_tools = tools
        .iter()
        .flat_map(|tools| tools.iter())
        .map(|tool| match tool {
            wire::ToolItem::CachePoint(_) => 0,
            wire::ToolItem::ToolSpec(tool) => {
                let schema = &tool.input_schema.json;
                tool_tokens(&tool.name, tool.description.as_deref(), Some(schema))
            }
        });
    let parts = request.system.parts.iter();
    let of_system = parts.map(|part| estimate::tokens(part.text.len()));
    let roles = body.messages.iter().map(|message| match message.role {
        wire::Role::Assistant => Role::Assistant,
        wire::Role::System => Role::System,
        wire::Role::User => Role::User,
    });
    let tokens = (of_tools.sum(), of_system.sum());
    let useful = UsefulPoints::new(request, tokens, roles, profile.cache_minimum());
    // Nova has points in system prompt and messages alone.
    if useful.after_tools
        && is_claude
        && let Some(tools) = &mut tools
    {
        tools.push(wire::ToolItem::CachePoint(point.clone()));
    }
    if useful.after_system && !body.system.is_empty() {
        body.system
            .push(wire::ContentBlock::CachePoint(point.clone()));
    }
    for place in useful.ends {
        if let Some(message) = body.messages.get_mut(place) {
            message
                .content
                .push(wire::ContentBlock::CachePoint(point.clone()));
        }
    }
}

fn is_point(block: &wire::ContentBlock) -> bool {
    matches!(block, wire::ContentBlock::CachePoint(_))
}
