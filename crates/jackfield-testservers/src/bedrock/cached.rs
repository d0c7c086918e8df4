//! The blocks of a request in the order in which they are cached; a cache point is a block after what it covers.

use serde_json::{Value, json};

use crate::prompt_cache::{CacheBlock, lifetime};

/// The blocks of a body: tools, system prompt, messages.
pub(super) fn blocks(body: &Value) -> Vec<CacheBlock> {
    let mut blocks = Vec::new();
    let mut add = |place: &str, list: Option<&Value>| {
        for block in list.and_then(Value::as_array).into_iter().flatten() {
            let last = blocks.last_mut();
            match (block.get("cachePoint"), last) {
                (Some(point), Some(CacheBlock { point: end, .. })) => *end = Some(lifetime(point)),
                (Some(_), None) => {}
                (None, _) => blocks.push(CacheBlock {
                    content: format!("{place} {block}"),
                    point: None,
                }),
            }
        }
    };
    add("tools", body.pointer("/toolConfig/tools"));
    add("system", body.get("system"));
    let settings = [
        body.pointer("/toolConfig/toolChoice"),
        body.get("additionalModelRequestFields"),
    ];
    let messages = body.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten() {
        let place = format!("{}{}", json!(settings), json!(message["role"]));
        add(&place, message.get("content"));
    }
    blocks
}
