//! Answers against the form that was asked for.

use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::settings::ResponseFormat;
use jackfield_engine::AnswerFit;
use serde_json::{Value, json};

#[tokio::test]
async fn an_answer_is_of_the_form_that_was_asked_for_or_told_where_it_is_not() {
    let schema = |schema: Value| ResponseFormat::JsonSchema {
        description: None,
        name: "form".into(),
        schema: Arc::new(schema),
        strict: None,
    };
    let fit = async |format: &ResponseFormat, answer: &str| {
        AnswerFit::check(format, answer, Duration::from_secs(2)).await
    };
    let city = schema(json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
    }));
    assert_eq!(fit(&ResponseFormat::Text, "words").await, AnswerFit::Free);
    let tokyo = AnswerFit::Fits(json!({ "city": "Tokyo" }));
    for format in [&city, &ResponseFormat::JsonObject] {
        assert_eq!(fit(format, " {\"city\": \"Tokyo\"}\n").await, tokyo);
        for (answer, what) in [
            ("", "it is empty"),
            ("{\"city\": \"To", "it is no JSON: "),
            ("```json\n{}\n```", "it is no JSON: "),
            ("[1]", ""),
        ] {
            let AnswerFit::Misfit(told) = fit(format, answer).await else {
                panic!("{answer} fits {format:?}");
            };
            assert!(told.starts_with(what), "{told}");
        }
    }
    let AnswerFit::Misfit(told) = fit(&city, "{\"city\": 3}").await else {
        panic!("3 is a city");
    };
    assert!(
        told.contains("`/city`") && told.contains("\"string\""),
        "{told}"
    );
    let AnswerFit::Misfit(told) = fit(&city, "{}").await else {
        panic!("none is a city");
    };
    assert!(
        told.contains("the answer: ") && told.contains("city"),
        "{told}"
    );
    // Whatever fits a schema that cannot be used would be of its form by chance.
    for wrong in [
        json!({ "type": "strin" }),
        json!({ "$ref": "https://example.com/schema.json" }),
        json!({ "description": "x".repeat(70_000) }),
    ] {
        let fit = fit(&schema(wrong.clone()), "null").await;
        assert!(
            matches!(
                fit,
                AnswerFit::Unchecked {
                    value: Value::Null,
                    ..
                }
            ),
            "{fit:?}"
        );
    }
}
