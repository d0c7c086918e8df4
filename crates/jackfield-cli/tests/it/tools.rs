//! `jackfield tools` and `jackfield demo`, as processes.

use jackfield_cli::commands::tools::parse_arguments;
use jackfield_domain::tool::InputFormat;
use serde_json::{Value, json};

use crate::process::jackfield;

#[test]
fn the_list_says_where_each_tool_comes_from_and_whether_it_may_run() {
    let ran = jackfield(["tools", "list", "--deny", "calculator"]).run();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = ran
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0][1..4], ["calculator", "deny", "builtin/calculator"]);
    assert_eq!(
        lines[1][1..4],
        ["current_datetime", "allow", "builtin/current_datetime"]
    );
    assert!(!ran.out.contains('\u{1b}'), "{}", ran.out);
}

#[test]
fn a_pattern_that_fits_no_tool_is_warned_of_with_the_tools_that_there_are() {
    let ran = jackfield([
        "tools",
        "list",
        "--deny",
        "calculater",
        "--allow=files/*",
        "--allow=*",
    ])
    .run();
    assert_eq!(ran.code, Some(0));
    let there_are = "fits no tool; there are: builtin/calculator, builtin/current_datetime\n";
    assert_eq!(
        ran.err,
        format!("warning: --allow 'files/*' {there_are}warning: --deny 'calculater' {there_are}")
    );
}

#[test]
fn lists_and_tools_are_json_for_programs() {
    let ran = jackfield(["tools", "list", "--json"]).run();
    let tools: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(tools[0]["name"], "calculator");
    assert_eq!(tools[0]["policy"], "allow");
    let ran = jackfield(["tools", "show", "calculator", "--json", "--deny", "*"]).run();
    let tool: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(tool["policy"], "deny");
    assert_eq!(
        tool["policy_reason"],
        "denied by the rule `\"*\" = \"deny\"` under [policy.tools]"
    );
    assert_eq!(tool["input_schema"]["type"], "object");
}

#[test]
fn a_tool_is_called_by_hand_and_its_failure_is_the_exit() {
    let ran = jackfield(["tools", "call", "calculator", "expression=15% of 2500"]).run();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "375\n"));
    let ran = jackfield([
        "tools",
        "call",
        "calculator",
        "{\"expression\": \"1/0\"}",
        "--json",
    ])
    .run();
    let result: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &result["is_error"]), (Some(7), &json!(true)));
    let ran = jackfield(["tools", "call", "calculater"]).run();
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.err,
        "error: there is no tool `calculater`; there are: calculator, current_datetime\n\
         help: `jackfield tools list` shows the tools that there are\n"
    );
}

#[test]
fn pairs_are_read_as_the_schema_says() {
    let schema =
        json!({ "properties": { "text": { "type": "string" }, "count": { "type": "integer" } } });
    let input = InputFormat::Json(schema.into());
    let parsed = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect();
        parse_arguments(&arguments, &input)
            .map(Value::Object)
            .map_err(|fault| fault.messages)
    };
    assert_eq!(parsed(&[]), Ok(json!({})));
    assert_eq!(
        parsed(&["text=1", "count=2"]),
        Ok(json!({ "text": "1", "count": 2 }))
    );
    assert_eq!(
        parsed(&["other=[1, 2]", "more=a=b"]),
        Ok(json!({ "other": [1, 2], "more": "a=b" }))
    );
    assert_eq!(
        parsed(&[" {\"a\": {\"b\": 1}}"]),
        Ok(json!({ "a": { "b": 1 } }))
    );
    assert_eq!(
        parsed(&["{\"a\""]),
        Err(vec!["the arguments are not a JSON object".to_owned()])
    );
    assert_eq!(
        parsed(&["text"]),
        Err(vec![
            "`text` is neither a JSON object nor key=value".to_owned()
        ])
    );
}

#[test]
fn the_demo_answers_by_its_tools_and_the_answer_alone_is_on_standard_output() {
    let ran = jackfield(["demo"]).configured("this is not TOML").run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("15% of 2500 = 375\n"), "{}", ran.out);
    assert!(!ran.out.contains("calculator("), "{}", ran.out);
    assert!(ran.err.starts_with("this is the demo model"), "{}", ran.err);
    assert!(
        ran.err
            .contains("🧮 calculator(expression: \"15% of 2500\")\n"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("✓ current_datetime · done in "),
        "{}",
        ran.err
    );
    assert!(ran.err.contains(" · 2 rounds · 2 calls · "), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "{}", ran.err);
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let always = jackfield(["demo", "2+2", "--color", "always"]).run();
    assert!(always.err.contains("\u{1b}["), "{}", always.err);
    assert!(!always.out.contains('\u{1b}'), "{}", always.out);
}

#[test]
fn the_demo_prints_the_documented_events() {
    let ran = jackfield(["demo", "--json", "what is 12 * 12"]).run();
    let events: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|event| event["event"].as_str().unwrap())
        .collect();
    assert_eq!(
        (names[0], *names.last().unwrap()),
        ("turn_started", "turn_ended")
    );
    for name in [
        "round_started",
        "text",
        "tool_call",
        "tool_started",
        "tool_finished",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let page = include_str!("../../../../docs/cli.md");
    for event in &events {
        for field in event
            .as_object()
            .unwrap()
            .keys()
            .chain(event["event"].as_str().map(str::to_owned).iter())
        {
            assert!(
                page.contains(&format!("`{field}`")),
                "docs/cli.md does not name `{field}`"
            );
        }
    }
    let last = events.last().unwrap();
    assert_eq!(last["answer"], "12 * 12 = 144");
    assert_eq!(last["calls"][0]["status"], "done");
    assert_eq!(last["end"], json!({ "kind": "answered", "finish": "stop" }));
}
