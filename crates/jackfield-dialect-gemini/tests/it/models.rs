//! The list of models for a client.

use jackfield_dialect_gemini::models::{from_wire, model_body, page};
use jackfield_domain::listing::ListedModel;
use serde_json::{Value, json};

#[test]
fn a_model_has_all_fields_of_its_provider_alone_and_in_the_list() {
    let upstream = json!({
        "name": "models/gemini-3.8-flash", "baseModelId": "gemini-3.8-flash", "version": "3.8",
        "displayName": "Gemini 3.8 Flash", "description": "Fast.", "inputTokenLimit": 1000, "outputTokenLimit": 100,
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
        "thinking": true, "temperature": 1, "maxTemperature": 2, "topP": 0.95, "topK": 64,
    });
    let (models, _) =
        from_wire(json!({ "models": [upstream] }).to_string().as_bytes()).expect("a list");
    let one: Value = serde_json::from_slice(&model_body(&models[0])).expect("JSON");
    assert_eq!(one, upstream);
    let page = page(&models, &|_| None).expect("a page");
    let page: Value = serde_json::from_slice(&page).expect("JSON");
    assert_eq!(page, json!({ "models": [upstream] }));
    // Other vendors have fields of these names.
    let foreign = json!({ "thinking": { "supported": true }, "version": 1, "object": "model" });
    let foreign = ListedModel {
        more: foreign.as_object().expect("an object").clone(),
        ..ListedModel::new("small")
    };
    let told: Value = serde_json::from_slice(&model_body(&foreign)).expect("JSON");
    let expected = json!({
        "name": "models/small", "displayName": "small", "version": "001", "object": "model",
        "supportedGenerationMethods": ["generateContent", "streamGenerateContent", "countTokens"],
    });
    assert_eq!(told, expected);
}
