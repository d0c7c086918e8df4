//! Schemas that are none: they are mended where that can be done, and their tools are left out otherwise.

use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::InputFormat;
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::fixture::options;
use crate::schemas::{call, called, doubling, tool};

#[tokio::test]
async fn a_schema_that_is_none_is_mended_and_what_it_says_besides_holds() {
    for broken in [
        json!(7),
        json!("object"),
        json!([]),
        json!({ "type": "no such type" }),
        json!({ "$ref": 7 }),
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "$ref": ["a"] }),
        json!({ "$ref": "#/$defs/nowhere" }),
        json!({ "$schema": "https://nowhere.invalid/schema" }),
        json!({ "$schema": 7 }),
        json!({ "$id": "::::" }),
        json!({ "pattern": "([" }),
        json!({ "properties": { "a": { "pattern": "(".repeat(5000) } } }),
        json!({ "properties": { "a": null }, "required": false }),
    ] {
        let (said, ran) = called(broken.clone(), json!({ "a": "a" })).await;
        assert!(ran, "{broken}: {said}");
        let Value::Object(mut fields) = broken else {
            continue;
        };
        fields.insert("minProperties".to_owned(), json!(2));
        fields.insert("description".to_owned(), Value::Null);
        let (said, ran) = called(Value::Object(fields), json!({ "a": "a" })).await;
        assert!(!ran && said.contains("The call was not run"), "{said}");
    }
}

#[tokio::test]
async fn a_tool_that_no_call_could_reach_is_not_offered_and_the_others_are() {
    for (schema, why) in [
        (
            json!({ "properties": { "a": { "enum": [{ "$ref": "#" }] } } }),
            "it has references inside of `const` or `enum`",
        ),
        (
            json!({ "type": "object", "unevaluatedProperties": false, "allOf": [{ "$ref": "#/$defs/0" }],
                "$defs": doubling(30, "allOf")["$defs"].clone() }),
            "it unfolds into more than can be followed",
        ),
    ] {
        let (engine, _) = tool(schema.clone(), None, ToolResult::text("it ran"));
        let offered = engine.tools(&options()).await;
        assert_eq!(offered.catalog.iter().len(), 0, "{schema}");
        let told: Vec<&str> = offered.skipped.iter().map(|one| &*one.message).collect();
        let expected = format!("skipped tool `act`: its input schema cannot be used: {why}");
        assert_eq!(told, [expected], "{schema}");
    }
}

proptest! {
    #[test]
    fn a_tool_of_any_schema_can_be_checked_or_is_left_out(schema in arb::broken_schema()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (engine, _) = tool(schema.clone(), None, ToolResult::text("it ran"));
        let (offered, said) = runtime.block_on(async {
            let offered = engine.tools(&options()).await;
            let said = if offered.skipped.is_empty() {
                call(&engine, Map::new()).await.to_text()
            } else {
                String::new()
            };
            (offered, said)
        });
        prop_assert_eq!(offered.catalog.iter().len() + offered.skipped.len(), 1);
        prop_assert!(!said.contains("cannot be used"), "{schema}: {said}");
        for tool in offered.catalog.iter() {
            let InputFormat::Json(kept) = &tool.definition.input else {
                return Err(TestCaseError::fail("a text"));
            };
            // The library itself, without anything of ours.
            prop_assert!(jsonschema::validator_for(kept).is_ok(), "{schema} as {kept}");
        }
    }
}
