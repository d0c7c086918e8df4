//! The resources and prompts of a scripted server.

use serde_json::{Map, Value, json};

use super::ScriptedMcpServer;

impl ScriptedMcpServer {
    /// The capabilities for what the script has of these.
    pub(super) fn add_context_capabilities(&self, capabilities: &mut Value) {
        for (field, capability) in [
            ("resources", "resources"),
            ("templates", "resources"),
            ("prompts", "prompts"),
            ("completions", "completions"),
        ] {
            if !self.script[field].is_null() {
                capabilities[capability] = json!({});
            }
        }
        if self.script["list_changed"] == true && !self.script["prompts"].is_null() {
            capabilities["prompts"] = json!({ "listChanged": true });
        }
        if self.script["subscribe"] == true {
            capabilities["resources"] = json!({ "listChanged": true, "subscribe": true });
        }
    }

    /// Answers a request for resources or prompts; `false` if the script has none of these.
    pub(super) fn context(&self, method: &str, id: &Value, params: &Value) -> bool {
        let script = &self.script;
        let (field, key) = match method {
            "completion/complete" => ("completions", ""),
            "prompts/get" => ("prompts", ""),
            "prompts/list" => ("prompts", "prompts"),
            "resources/list" => ("resources", "resources"),
            "resources/read" => ("contents", ""),
            "resources/templates/list" => ("templates", "resourceTemplates"),
            _ => return false,
        };
        if script[field].is_null() {
            return false;
        }
        let subject = match method {
            "resources/read" => &params["uri"],
            _ => &params["name"],
        };
        let alone = &script["asks_before"][subject.as_str().unwrap_or_default()];
        let asked = if alone.is_null() {
            &script["asks_first"]
        } else {
            alone
        };
        let is_asked = matches!(method, "prompts/get" | "resources/read") && !asked.is_null();
        if is_asked {
            if params["inputResponses"].is_null() {
                let mut result = Map::new();
                result.insert("resultType".to_owned(), json!("input_required"));
                result.insert("inputRequests".to_owned(), asked.clone());
                result.insert("requestState".to_owned(), json!("state-1"));
                self.answer(id, result);
                return true;
            }
            let (state, answers) = (&params["requestState"], &params["inputResponses"]);
            self.log(&format!("answered {state} {answers}"));
            if alone.is_null() && answers["who"]["action"] != "accept" {
                self.refuse(id, -32000, "nobody said who");
                return true;
            }
        }
        match method {
            "completion/complete" => self.complete(id, params),
            "prompts/get" => self.prompt(id, params),
            "resources/read" => self.read(id, params),
            _ => self.items(id, params, (field, key)),
        }
        true
    }

    fn items(&self, id: &Value, params: &Value, (field, key): (&str, &str)) {
        let items = self.script[field].as_array().cloned().unwrap_or_default();
        let page = self.script["page"].as_u64().unwrap_or(u64::MAX);
        let page = usize::try_from(page).unwrap_or(usize::MAX);
        let from = params["cursor"].as_str().unwrap_or("0");
        let Ok(from) = from.parse::<usize>() else {
            return self.refuse(id, -32602, "no such cursor");
        };
        let to = from.saturating_add(page).min(items.len());
        let mut result = self.cached();
        let shown = items.get(from..to).unwrap_or_default();
        result.insert(key.to_owned(), shown.into());
        if self.script["loop_cursor"] == true {
            result.insert("nextCursor".to_owned(), json!("0"));
        } else if to < items.len() {
            result.insert("nextCursor".to_owned(), json!(to.to_string()));
        }
        self.answer(id, result);
    }

    fn read(&self, id: &Value, params: &Value) {
        let uri = params["uri"].as_str().unwrap_or_default();
        self.log(&format!("read {uri}"));
        let Some(contents) = self.script["contents"].get(uri) else {
            // Until 2025-11-25, a code of its own.
            let code = if self.speaks("legacy") {
                -32002
            } else {
                -32602
            };
            return self.refuse(id, code, "Resource not found");
        };
        let mut result = self.cached();
        result.insert("contents".to_owned(), contents.clone());
        self.answer(id, result);
    }

    /// A prompt, whose `messages` are texts with `{argument}` in them.
    fn prompt(&self, id: &Value, params: &Value) {
        let name = params["name"].as_str().unwrap_or_default();
        self.log(&format!("prompt {name} {}", params["arguments"]));
        let prompts = self.script["prompts"].as_array().into_iter().flatten();
        let Some(prompt) = prompts.clone().find(|prompt| prompt["name"] == name) else {
            return self.refuse(id, -32602, "no such prompt");
        };
        for argument in prompt["arguments"].as_array().into_iter().flatten() {
            let name = argument["name"].as_str().unwrap_or_default();
            if argument["required"] == true && params["arguments"][name].is_null() {
                return self.refuse(id, -32602, &format!("the argument {name} is missing"));
            }
        }
        let mut messages = self.script["messages"][name].to_string();
        for (argument, value) in params["arguments"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            messages = messages.replace(&format!("{{{argument}}}"), value);
        }
        let messages: Value = serde_json::from_str(&messages).unwrap_or_default();
        let mut result = Map::new();
        result.insert("messages".to_owned(), messages);
        self.answer(id, result);
    }

    /// The values of an argument that begin like this.
    fn complete(&self, id: &Value, params: &Value) {
        let argument = &params["argument"];
        let name = argument["name"].as_str().unwrap_or_default();
        let begin = argument["value"].as_str().unwrap_or_default();
        self.log(&format!("complete {} {name} {begin}", params["ref"]));
        let values = self.script["completions"][name]
            .as_array()
            .into_iter()
            .flatten();
        let fits = |value: &&Value| value.as_str().is_some_and(|value| value.starts_with(begin));
        let values: Vec<&Value> = values.filter(fits).collect();
        let mut result = Map::new();
        let completion = json!({ "values": values, "total": values.len(), "hasMore": false });
        result.insert("completion".to_owned(), completion);
        self.answer(id, result);
    }

    fn cached(&self) -> Map<String, Value> {
        let mut result = Map::new();
        if self.speaks("modern") {
            result.insert("ttlMs".to_owned(), json!(0));
            result.insert("cacheScope".to_owned(), json!("private"));
        }
        result
    }
}
