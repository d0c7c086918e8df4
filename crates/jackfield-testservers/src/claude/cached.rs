//! The blocks of a request in the order in which the vendor caches them.

use serde_json::{Value, json};

use crate::prompt_cache::{CacheBlock, lifetime};

/// The blocks of a body: tools, system prompt, messages.
pub(super) fn blocks(body: &Value) -> Vec<CacheBlock> {
    let mut blocks = Vec::new();
    // A deferred tool is not in the context before a result refers to it.
    let tools = list(body, "tools").iter();
    let loaded = tools.filter(|tool| tool.get("defer_loading") != Some(&Value::Bool(true)));
    blocks.extend(loaded.map(|tool| block("tools", tool)));
    blocks.extend(
        list(body, "system")
            .iter()
            .map(|part| block("system", part)),
    );
    // What changes these changes how the messages are read.
    let settings = ["tool_choice", "thinking", "output_config"];
    let settings: Vec<&Value> = settings.iter().filter_map(|name| body.get(name)).collect();
    for message in list(body, "messages") {
        let place = format!("{}{}", json!(settings), json!(message["role"]));
        let text = message["content"]
            .as_str()
            .map(|text| json!({ "type": "text", "text": text }));
        blocks.extend(text.iter().map(|part| block(&place, part)));
        blocks.extend(
            list(message, "content")
                .iter()
                .map(|part| block(&place, part)),
        );
    }
    if let (Some(point), Some(last)) = (body.get("cache_control"), blocks.last_mut()) {
        last.point = Some(lifetime(point));
    }
    blocks
}

fn block(place: &str, block: &Value) -> CacheBlock {
    let mut content = block.clone();
    let point = content.as_object_mut();
    let point = point.and_then(|fields| fields.remove("cache_control"));
    CacheBlock {
        content: format!("{place} {content}"),
        point: point
            .filter(|point| !point.is_null())
            .as_ref()
            .map(lifetime),
    }
}

fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    let list = object.get(name).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
