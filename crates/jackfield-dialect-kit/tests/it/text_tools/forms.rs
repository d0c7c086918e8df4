//! The forms in which models write calls.

use serde_json::{Value, json};

use super::reading::{Part, parts_of, read, said, weather};

fn rome() -> Value {
    json!({ "city": "Rome" })
}

fn clock() -> Part {
    Part::Call("clock", json!({}))
}

#[test]
fn every_form_is_read() {
    for (form, reply) in [
        (
            "Hermes, with the arguments as text",
            r#"<tool_call>{"name": "weather", "arguments": "{\"city\": \"Rome\"}"}</tool_call>"#,
        ),
        (
            "Qwen3-Coder",
            "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "Qwen3-Coder without its wrapper's opener",
            "<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>",
        ),
        (
            "Llama 3.1, user-defined",
            r#"<function=weather>{"city": "Rome"}</function>"#,
        ),
        (
            "GLM",
            "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Rome</arg_value>\n</tool_call>",
        ),
        (
            "GLM 4.7",
            "<tool_call>weather<arg_key>city</arg_key><arg_value>Rome</arg_value></tool_call>",
        ),
        (
            "Llama 3.1, JSON",
            r#"<|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}"#,
        ),
        (
            "Llama 3.1, built-in",
            r#"<|python_tag|>weather.call(city="Rome")"#,
        ),
        (
            "Llama 4",
            r#"<|python_start|>[weather(city="Rome")]<|python_end|>"#,
        ),
        (
            "LFM 2",
            "<|tool_call_start|>[weather(city='Rome')]<|tool_call_end|>",
        ),
        (
            "Mistral",
            r#"[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Rome"}}]"#,
        ),
        ("Mistral 11", r#"[TOOL_CALLS]weather[ARGS]{"city": "Rome"}"#),
        (
            "Mistral 11, with an id",
            r#"[TOOL_CALLS]weather[CALL_ID]abcDEF123[ARGS]{"city": "Rome"}"#,
        ),
        (
            "DeepSeek V3",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Rome\"}\n\
             ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        (
            "DeepSeek V3.1",
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Rome\"}<｜tool▁call▁end｜>\
             <｜tool▁calls▁end｜>",
        ),
        (
            "DeepSeek V3.2",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"weather\">\n\
             <｜DSML｜parameter name=\"city\" string=\"true\">Rome</｜DSML｜parameter>\n\
             </｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        (
            "DeepSeek V4.1",
            "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"weather\">\n\
             <｜DSML｜ parameter name=\"city\" string=\"true\">Rome</｜DSML｜ parameter>\n\
             </｜DSML｜ invoke>\n</｜DSML｜ calls>",
        ),
        (
            "MiniMax M2",
            "<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Rome</parameter>\n\
             </invoke>\n</minimax:tool_call>",
        ),
        (
            "Kimi K2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>\
             {\"city\": \"Rome\"}<|tool_call_end|><|tool_calls_section_end|>",
        ),
        (
            "Cohere",
            "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"weather\", \
             \"parameters\": {\"city\": \"Rome\"}}\n]<|END_ACTION|>",
        ),
        (
            "LM Studio",
            r#"[TOOL_REQUEST]{"name": "weather", "arguments": {"city": "Rome"}}[END_TOOL_REQUEST]"#,
        ),
    ] {
        assert_eq!(parts_of(reply), [weather(rome())], "{form}");
        // Text may be before and after it.
        let around = format!("Well.\n{reply}\nSo.");
        let expected = [said("Well."), weather(rome()), said("So.")];
        assert_eq!(parts_of(&around), expected, "{form}");
        // It is complete with its last tag, or with the end of its function.
        let end = reply.rfind("</function");
        let end = end.or_else(|| reply.rfind(['<', '}', ')'].as_slice()));
        let end = end.unwrap_or_default();
        let cut = &reply[..end];
        assert_eq!(parts_of(cut), [said(cut)], "{form}");
    }
}

#[test]
fn what_servers_leave_after_a_call_is_no_text() {
    for reply in [
        "<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>",
        r#"<|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}<|eom_id|>"#,
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Rome\"}<｜tool▁call▁end｜>\
         <｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    ] {
        assert_eq!(parts_of(reply), [weather(rome())], "{reply}");
    }
}

#[test]
fn a_bare_form_counts_if_it_is_the_whole_reply() {
    for reply in [
        r#"{"name": "weather", "parameters": {"city": "Rome"}}"#,
        r#"{"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}}"#,
        r#"{"tool_call": {"name": "weather", "arguments": {"city": "Rome"}}}"#,
        r#"{"tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}}]}"#,
        r#"[{"name": "weather", "arguments": {"city": "Rome"}}]"#,
        r#"[weather(city="Rome")]"#,
        "```json\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Rome\"}}\n```",
        "\n\n```\n[weather(city='Rome')]\n```\n",
        "```tool_call\n{\n  \"name\": \"weather\",\n  \"arguments\": {\"city\": \"Rome\"}\n}\n```",
    ] {
        assert_eq!(parts_of(reply), [weather(rome())], "{reply}");
        for around in [format!("So: {reply}"), format!("{reply}\nThat is it.")] {
            assert_eq!(parts_of(&around), [said(&around)]);
        }
    }
}

#[test]
fn json_and_code_that_answer_are_no_calls() {
    for reply in [
        r#"{"name": "Rome", "arguments": {"for": 1, "against": 2}}"#,
        r#"{"name": "weather"}"#,
        r#"{"city": "Rome"}"#,
        "[1, 2, 3]",
        "[x for x in y]",
        "[clock]",
        "```rust\nfn main() {}\n```",
        "```json\n{\"name\": \"weather\"}\n```",
        "```python\nprint(1)\n```",
        "[weather(city=Rome)]",
        "[weather(city=\"Rome\"), rm(path=\"/\")]",
    ] {
        assert_eq!(parts_of(reply), [said(reply)], "{reply}");
    }
}

#[test]
fn several_calls_of_one_form_are_several() {
    for reply in [
        "[TOOL_CALLS]weather[ARGS]{\"city\": \"Rome\"}[TOOL_CALLS]clock[ARGS]{}",
        "[weather(city=\"Rome\"), clock()]",
        "<|python_tag|>{\"name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}}; {\"name\": \"clock\", \"parameters\": {}}",
        "{\"name\": \"weather\", \"parameters\": {\"city\": \"Rome\"}}; {\"name\": \"clock\", \"parameters\": {}}",
        "<minimax:tool_call><invoke name=\"weather\"><parameter name=\"city\">Rome</parameter></invoke>\
         <invoke name=\"clock\"></invoke></minimax:tool_call>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{\"city\": \"Rome\"}\
         <|tool_call_end|><|tool_call_begin|>clock:1<|tool_call_argument_begin|>{}<|tool_call_end|>\
         <|tool_calls_section_end|>",
    ] {
        assert_eq!(parts_of(reply), [weather(rome()), clock()], "{reply}");
    }
}

#[test]
fn a_literal_value_has_the_type_of_the_schema_and_is_not_unescaped() {
    let parameter = |key: &str, value: &str| {
        format!(
            "<tool_call><function=weather><parameter={key}>\n{value}\n</parameter></function></tool_call>"
        )
    };
    for (key, value, expected) in [
        ("city", "5", json!("5")),
        ("city", "a &amp; b", json!("a &amp; b")),
        ("city", "  two\n\nlines", json!("  two\n\nlines")),
        ("city", "</parameter> in it", json!("</parameter> in it")),
        ("days", "5", json!(5)),
        ("days", "five", json!("five")),
        ("units", "null", json!(null)),
        ("units", "metric", json!("metric")),
        ("places", "[\"Rome\", 1]", json!(["Rome", 1])),
        ("unknown", "7", json!("7")),
        ("unknown", "{\"a\": 1}", json!({ "a": 1 })),
    ] {
        let call = parts_of(&parameter(key, value));
        assert_eq!(call, [weather(json!({ key: expected }))], "{key} {value}");
    }
}

#[test]
fn python_literals_are_read_as_values() {
    let reply = r#"[weather(city='l\'Aquila', days=-3, units=None, places=["Rome", ("a", 1.5), {'k': True,}], late=False)]"#;
    let expected = json!({
        "city": "l'Aquila", "days": -3, "units": null,
        "places": ["Rome", ["a", 1.5], { "k": true }], "late": false,
    });
    assert_eq!(parts_of(reply), [weather(expected)]);
}

#[test]
fn nesting_does_not_use_up_the_stack() {
    for (open, close) in [("[", "]"), ("{\"function\":", "}"), ("(", ")")] {
        let deep = format!("{}{}", open.repeat(20_000), close.repeat(20_000));
        for reply in [
            format!("[weather(city={deep})]"),
            format!("<tool_call>{deep}</tool_call>"),
            format!("<function=weather><parameter=places>{deep}</parameter></function>"),
        ] {
            let _read = read(&reply);
        }
    }
}

#[test]
fn many_openers_take_no_time() {
    let opener = "[TOOL_CALLS]".repeat(80_000);
    assert_eq!(parts_of(&opener), [said(&opener)]);
}
