//! Names of a client's tools: those of one language before a provider of another.

use jackfield_domain::naming::bare_tool_name;
use jackfield_testservers::script::ScriptTurn;
use serde_json::{Value, json};

use crate::gateway_matrix::provider;
use crate::harness::{Gateway, Kept, kept};
use crate::models::Wire;

const BEHIND: [Wire; 6] = [
    Wire::Bedrock,
    Wire::Claude,
    Wire::Gemini,
    Wire::OllamaNative,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
];
const CLIENTS: [Wire; 4] = [
    Wire::Claude,
    Wire::Gemini,
    Wire::OpenAiChat,
    Wire::OpenAiResponses,
];
const RESULT: &str = "eleven files";

/// A name that this language has, and others have not.
fn own_name(client: Wire) -> String {
    match client {
        Wire::Claude | Wire::OpenAiResponses => format!("mcp__files__{}", "a".repeat(100)),
        Wire::Gemini => "files.list:all".to_owned(),
        Wire::Bedrock
        | Wire::DeepSeek
        | Wire::Mistral
        | Wire::Ollama
        | Wire::OllamaNative
        | Wire::OpenAiChat => "7zip-list".to_owned(),
    }
}

/// The same tool's name before this provider.
fn name_behind(own: &str, behind: Wire) -> String {
    let is_taken = match behind {
        Wire::OllamaNative => true,
        Wire::Gemini => !own.starts_with('7'),
        Wire::Claude | Wire::OpenAiResponses => !own.contains('.'),
        Wire::Bedrock | Wire::DeepSeek | Wire::Mistral | Wire::Ollama | Wire::OpenAiChat => {
            own.len() <= 64 && !own.contains('.')
        }
    };
    match (is_taken, behind) {
        (true, _) => own.to_owned(),
        (false, Wire::Gemini) => format!("_{own}"),
        (false, _) => bare_tool_name(own).to_string(),
    }
}

/// The path and the body of a first message, whose choice is the tool.
fn ask(client: Wire, model: &str, name: &str) -> (String, Value) {
    let schema = json!({ "type": "object", "properties": {} });
    let said = json!([{ "role": "user", "content": "How many?" }]);
    match client {
        Wire::Claude => {
            let tool = json!({ "name": name, "description": "Lists.", "input_schema": schema });
            let choice = json!({ "type": "tool", "name": name });
            let body = json!({
                "model": model, "max_tokens": 100, "messages": said, "tools": [tool], "tool_choice": choice,
            });
            ("/v1/messages".to_owned(), body)
        }
        Wire::Gemini => {
            let declaration = json!({ "name": name, "description": "Lists." });
            let calling = json!({ "mode": "ANY", "allowedFunctionNames": [name] });
            let body = json!({
                "contents": [{ "role": "user", "parts": [{ "text": "How many?" }] }],
                "tools": [{ "functionDeclarations": [declaration] }],
                "toolConfig": { "functionCallingConfig": calling },
            });
            (format!("/v1beta/models/{model}:generateContent"), body)
        }
        Wire::OpenAiResponses => {
            let tool = json!({ "type": "function", "name": name, "description": "Lists.", "parameters": schema });
            let choice = json!({ "type": "function", "name": name });
            let body =
                json!({ "model": model, "input": said, "tools": [tool], "tool_choice": choice });
            ("/v1/responses".to_owned(), body)
        }
        Wire::Bedrock
        | Wire::DeepSeek
        | Wire::Mistral
        | Wire::Ollama
        | Wire::OllamaNative
        | Wire::OpenAiChat => {
            let tool = json!({ "name": name, "description": "Lists.", "parameters": schema });
            let tool = json!({ "type": "function", "function": tool });
            let choice = json!({ "type": "function", "function": { "name": name } });
            let body =
                json!({ "model": model, "messages": said, "tools": [tool], "tool_choice": choice });
            ("/v1/chat/completions".to_owned(), body)
        }
    }
}

/// The name of the called tool, and the body with its result.
fn call_back(client: Wire, mut body: Value, said: &Value) -> (String, Value) {
    let list = match client {
        Wire::Gemini => "contents",
        Wire::OpenAiResponses => "input",
        Wire::Claude
        | Wire::Bedrock
        | Wire::DeepSeek
        | Wire::Mistral
        | Wire::Ollama
        | Wire::OllamaNative
        | Wire::OpenAiChat => "messages",
    };
    let choice = if client == Wire::Gemini {
        "toolConfig"
    } else {
        "tool_choice"
    };
    body.as_object_mut().expect("an object").remove(choice);
    let (name, more) = match client {
        Wire::Claude => {
            let call = &said["content"][0];
            let result =
                json!({ "type": "tool_result", "tool_use_id": call["id"], "content": RESULT });
            let more = vec![
                json!({ "role": "assistant", "content": said["content"] }),
                json!({ "role": "user", "content": [result] }),
            ];
            (&call["name"], more)
        }
        Wire::Gemini => {
            let content = &said["candidates"][0]["content"];
            let call = &content["parts"][0]["functionCall"];
            let result =
                json!({ "id": call["id"], "name": call["name"], "response": { "output": RESULT } });
            let more = vec![
                content.clone(),
                json!({ "role": "user", "parts": [{ "functionResponse": result }] }),
            ];
            (&call["name"], more)
        }
        Wire::OpenAiResponses => {
            let call = &said["output"][0];
            let result = json!({ "type": "function_call_output", "call_id": call["call_id"], "output": RESULT });
            (&call["name"], vec![call.clone(), result])
        }
        Wire::Bedrock
        | Wire::DeepSeek
        | Wire::Mistral
        | Wire::Ollama
        | Wire::OllamaNative
        | Wire::OpenAiChat => {
            let message = &said["choices"][0]["message"];
            let call = &message["tool_calls"][0];
            let result = json!({ "role": "tool", "tool_call_id": call["id"], "content": RESULT });
            (&call["function"]["name"], vec![message.clone(), result])
        }
    };
    let name = name.as_str().unwrap_or_else(|| panic!("no call: {said}"));
    let history = body[list].as_array_mut().expect("a list");
    history.extend(more);
    (name.to_owned(), body)
}

/// The vendors' rules are checked by the scripted servers.
#[tokio::test]
async fn a_clients_tool_keeps_its_name_before_any_provider() {
    for client in CLIENTS {
        for behind in BEHIND {
            converse(client, behind).await;
        }
    }
}

async fn converse(client: Wire, behind: Wire) {
    let way = (client, behind);
    let own = own_name(client);
    let wire = name_behind(&own, behind);
    let script = [
        ScriptTurn::call(&wire, &json!({})),
        ScriptTurn::text("There are eleven.").when(RESULT),
    ];
    let server = behind.serve(script.map(ScriptTurn::whole).to_vec()).await;
    let (named, model) = (client.model().model, behind.model().model);
    let configuration = format!(
        "[serve]\npassthrough = \"never\"\n[aliases]\n\"{named}\" = \"behind/{model}\"\n\
         [providers.behind]\n{}\nbase_url = \"{}\"\napi_key_env = \"BEHIND_KEY\"\n",
        provider(behind),
        server.base_url()
    );
    let sessions = Kept::new();
    let serve = sessions.gateway().env("BEHIND_KEY", "sk-any");
    let gateway = Gateway::listening(serve.configured(configuration).start()).await;
    let (path, body) = ask(client, &named, &own);
    let said = gateway.post(&path, &body).answered().await;
    assert_eq!(said.status, 200, "{way:?}: {said:?}");
    let (called, body) = call_back(client, body, &said.is(200));
    assert_eq!(called, own, "{way:?}");
    let said = gateway.post(&path, &body).answered().await;
    assert!(
        said.is(200).to_string().contains("There are eleven."),
        "{way:?}: {said:?}"
    );
    assert_eq!(server.violations(), [""; 0], "{way:?}");
    for request in server.requests() {
        let request = request.to_string();
        assert!(
            request.contains(&format!("\"{wire}\"")),
            "{way:?}: {request}"
        );
        assert_eq!(
            request.contains(&format!("\"{own}\"")),
            own == wire,
            "{way:?}: {request}"
        );
    }
    gateway.end().await;
    kept(&server);
}
