//! The mistakes that an adapter can make with a request: each spoils the body.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::Fault;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Makes this mistake, if it is one about requests.
pub(super) fn make(fault: Fault, body: &mut Value) {
    match fault {
        Fault::AddsTemperature if body["settings"]["temperature"].is_null() => {
            body["settings"]["temperature"] = json!(1.0);
        }
        Fault::AsksOneModel => body["model"] = json!("anvil-2"),
        Fault::ChoosesFirst if body["choice"]["call"] == "this" => {
            body["choice"]["tools"][0] = body["tools"][0]["name"].clone();
        }
        Fault::CountsRequests => {
            body["settings"] = json!(COUNT.fetch_add(1, Ordering::Relaxed));
        }
        Fault::CutsNames => each_tool(body, |tool| {
            let name = tool["name"].as_str().unwrap();
            tool["name"] = json!(name.chars().take(60).collect::<String>());
        }),
        Fault::CutsOutcomes => each_part(body, |part| {
            if let Some(say) = part["say"].as_str() {
                part["say"] = json!(say.chars().take(1_000).collect::<String>());
            }
        }),
        Fault::DropsImages => drop_parts(body, "image"),
        Fault::DropsRefusals => drop_parts(body, "refuse"),
        Fault::DropsTogether if !body["settings"]["temperature"].is_null() => {
            body["settings"]["top_p"] = Value::Null;
        }
        Fault::DropsZeros => {
            for (_, value) in body["settings"].as_object_mut().unwrap() {
                if value.as_f64() == Some(0.0) || *value == json!(false) {
                    *value = Value::Null;
                }
            }
        }
        Fault::EditsState => each_part(body, |part| {
            if let Some(mark) = part["mark"].as_str() {
                part["mark"] = json!(mark.trim_end_matches('='));
            }
        }),
        Fault::EmptiesTypes => each_tool(body, |tool| {
            for (_, property) in tool["takes"]["properties"]
                .as_object_mut()
                .into_iter()
                .flatten()
            {
                property.as_object_mut().unwrap().remove("type");
            }
        }),
        Fault::EscapesWords => each_part(body, |part| {
            if let Some(text) = part["text"].as_str() {
                part["text"] = json!(text.replace('&', "&amp;").replace('<', "&lt;"));
            }
        }),
        Fault::ExchangesAuthors => each_message(body, |message| {
            message["by"] = match message["by"].as_str() {
                Some("user") => json!("model"),
                Some("model") => json!("user"),
                _ => return,
            };
        }),
        Fault::ExchangesChoices => {
            body["choice"]["call"] = match body["choice"]["call"].as_str() {
                Some("any") => json!("none"),
                Some("none") => json!("any"),
                _ => return,
            };
        }
        Fault::ExchangesDescriptions => {
            let tools = body["tools"].as_array_mut().unwrap();
            if let [one, other, ..] = tools.as_mut_slice() {
                std::mem::swap(&mut one["about"], &mut other["about"]);
            }
        }
        Fault::ExchangesOutcomes => each_message(body, |message| {
            let parts = message["parts"].as_array_mut().unwrap();
            if let [one, other, ..] = parts.as_mut_slice()
                && one["outcome"].is_string()
            {
                std::mem::swap(&mut one["say"], &mut other["say"]);
            }
        }),
        Fault::ExchangesSampling => {
            let temperature = body["settings"]["temperature"].take();
            body["settings"]["temperature"] = body["settings"]["top_p"].take();
            body["settings"]["top_p"] = temperature;
        }
        Fault::ForcesCalls if body["choice"].is_null() => body["choice"] = json!({ "call": "any" }),
        Fault::ForgetsCallState => each_part(body, |part| {
            if part["call"].is_string() {
                part["mark"] = Value::Null;
            }
        }),
        Fault::ForgetsDescriptions => each_tool(body, |tool| tool["about"] = json!("")),
        Fault::ForgetsHistory => {
            let messages = body["messages"].as_array_mut().unwrap();
            let old = messages.len().saturating_sub(6);
            messages.drain(..old);
        }
        Fault::ForgetsState => each_part(body, |part| {
            if part["think"].is_string() {
                part["seal"] = Value::Null;
            }
        }),
        Fault::ForgetsSystem => body["system"] = json!(""),
        Fault::ForgetsTextState => each_part(body, |part| {
            if part["text"].is_string() {
                part["mark"] = Value::Null;
            }
        }),
        Fault::HalvesTemperature => {
            if let Some(temperature) = body["settings"]["temperature"].as_f64() {
                body["settings"]["temperature"] = json!(temperature / 2.0);
            }
        }
        Fault::HidesFailures => each_part(body, |part| part["failed"] = Value::Null),
        Fault::IgnoresSettings => body["settings"] = json!({}),
        Fault::KeepsFirstStop => {
            let stop = body["settings"]["stop"].as_array_mut().unwrap();
            stop.truncate(1);
        }
        Fault::LosesItems => each_tool(body, |tool| {
            for (_, property) in tool["takes"]["properties"]
                .as_object_mut()
                .into_iter()
                .flatten()
            {
                property.as_object_mut().unwrap().remove("items");
            }
        }),
        Fault::MarksAllFailed => each_part(body, |part| {
            if part["outcome"].is_string() {
                part["failed"] = json!(true);
            }
        }),
        Fault::MarksFirstFailed => each_message(body, |message| {
            let parts = message["parts"].as_array_mut().unwrap();
            let failed = parts.iter().any(|part| part["failed"] == json!(true));
            for (place, part) in parts.iter_mut().enumerate() {
                if part["outcome"].is_string() {
                    part["failed"] = json!(failed && place == 0);
                }
            }
        }),
        Fault::MovesReasoning => each_message(body, |message| {
            let parts = message["parts"].as_array_mut().unwrap();
            parts.sort_by_key(|part| part["think"].is_string());
        }),
        Fault::MovesState => each_message(body, |message| {
            let parts = message["parts"].as_array_mut().unwrap();
            if let [one, other, ..] = parts.as_mut_slice() {
                std::mem::swap(&mut one["mark"], &mut other["mark"]);
            }
        }),
        Fault::MovesTexts => each_message(body, |message| {
            let parts = message["parts"].as_array_mut().unwrap();
            parts.sort_by_key(|part| part["text"].is_string());
        }),
        Fault::NamesCalls => each_part(body, |part| {
            if part["outcome"].is_string() {
                part["of"] = part["outcome"].clone();
            }
        }),
        Fault::NamesFirstTool => {
            let first = body["tools"][0]["name"].clone();
            each_part(body, |part| {
                if part["outcome"].is_string() {
                    part["of"] = first.clone();
                }
            });
        }
        Fault::PutsSystemIntoWords => {
            let system = body["system"].take();
            body["system"] = json!("");
            add_to_words(body, &system);
        }
        Fault::RepeatsSystem => {
            let system = body["system"].clone();
            add_to_words(body, &system);
        }
        Fault::RoundsNumbers => each_part(body, |part| {
            let arguments = part["args"].as_str().unwrap_or_default().to_owned();
            if let Ok(mut fields) = serde_json::from_str::<Value>(&arguments)
                && let Some(number) = fields["station"].as_f64()
            {
                fields["station"] = json!(number);
                part["args"] = json!(fields.to_string());
            }
        }),
        Fault::TakesRulesForWords => each_message(body, |message| {
            if message["by"] == "operator" {
                message["by"] = json!("user");
            }
        }),
        Fault::TurnsOutcomes => each_message(body, |message| {
            let parts = message["parts"].as_array_mut().unwrap();
            if parts.iter().any(|part| part["outcome"].is_string()) {
                parts.reverse();
            }
        }),
        _ => {}
    }
}

fn drop_parts(body: &mut Value, field: &str) {
    each_message(body, |message| {
        let parts = message["parts"].as_array_mut().unwrap();
        parts.retain(|part| part[field].is_null());
    });
}

/// Adds a text to the first text of the conversation.
fn add_to_words(body: &mut Value, text: &Value) {
    let first = &mut body["messages"][0]["parts"][0];
    let words = first["text"].as_str().unwrap();
    first["text"] = json!(format!("{}{words}", text.as_str().unwrap()));
}

fn each_message(body: &mut Value, change: impl FnMut(&mut Value)) {
    body["messages"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(change);
}

fn each_part(body: &mut Value, mut change: impl FnMut(&mut Value)) {
    each_message(body, |message| {
        message["parts"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .for_each(&mut change);
    });
}

fn each_tool(body: &mut Value, change: impl FnMut(&mut Value)) {
    body["tools"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(change);
}
