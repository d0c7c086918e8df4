//! Clauses about the settings of a request, and which tools it lets the model call.

use std::collections::BTreeSet;
use std::sync::Arc;

use jackfield_domain::ids::ToolName;
use jackfield_domain::request::ModelRequest;
use jackfield_domain::settings::{ResponseFormat, Settings};
use jackfield_domain::tool::ToolChoice;

use super::super::ChatModelHarness;
use super::super::bench::{Bench, SentRequest, tool};
use super::super::settings::{SETTINGS, Setting};

pub(in super::super) async fn settings_are_sent_with_their_values<H: ChatModelHarness>(
    harness: &H,
) {
    let bench = Bench::new(harness).await;
    let plain = bench.request();
    let mut all = plain.clone();
    let is_sent = check_settings(&bench, &plain).await;
    assert!(is_sent, "a plain request is refused");
    for setting in SETTINGS {
        let mut first = None;
        for set in setting.values {
            let mut request = plain.clone();
            set(Arc::make_mut(&mut request.settings));
            if check_settings(&bench, &request).await {
                first.get_or_insert(set);
            }
        }
        if let Some(set) = first {
            set(Arc::make_mut(&mut all.settings));
        }
    }
    check_settings(&bench, &all).await;
}

pub(in super::super) async fn the_choice_of_tools_is_sent_or_noted<H: ChatModelHarness>(
    harness: &H,
) {
    let can = harness.capabilities();
    if !can.tools {
        return;
    }
    let bench = Bench::new(harness).await;
    let named = |name: &str| tool(name).name.clone();
    let only = |required| ToolChoice::Only {
        required,
        tools: vec![named("clock")],
    };
    for (choice, forced) in [
        (ToolChoice::Auto, false),
        (ToolChoice::Forbidden, false),
        (ToolChoice::Required, true),
        (ToolChoice::Named(named("clock")), true),
        (ToolChoice::Named(named("weather")), true),
        (only(false), false),
        (only(true), false),
    ] {
        let mut request = bench.request();
        request.choice.clone_from(&choice);
        let declared = forced && can.forced_tools;
        let Some(sent) = bench.sent(&request).await else {
            assert!(!declared, "{choice:?} is refused, although it is declared");
            assert_ne!(choice, ToolChoice::Auto, "a plain request is refused");
            continue;
        };
        let names = request.tools.iter().map(|tool| tool.name.as_str());
        let expected = callable(&choice, names);
        let names = sent.echo.tools.iter().map(|tool| &*tool.name);
        let said = callable(&sent.echo.choice, names);
        let noted = !declared && choice != ToolChoice::Auto && sent.is_noted("choice");
        assert!(
            said == expected || noted,
            "{choice:?} is another choice on the wire: {:?}\n{sent}",
            sent.echo.choice
        );
    }
}

/// Whether a tool must be called, and which of those that are offered may be.
fn callable<'a>(
    choice: &'a ToolChoice,
    offered: impl Iterator<Item = &'a str>,
) -> (bool, BTreeSet<&'a str>) {
    let offered: BTreeSet<&str> = offered.collect();
    let among = |names: &[ToolName]| {
        let is_chosen = |name: &&str| names.iter().any(|chosen| chosen.as_str() == *name);
        offered.iter().copied().filter(is_chosen).collect()
    };
    match choice {
        ToolChoice::Auto => (false, offered),
        ToolChoice::Forbidden => (false, BTreeSet::new()),
        ToolChoice::Named(name) => (true, among(std::slice::from_ref(name))),
        ToolChoice::Only { required, tools } => (*required, among(tools)),
        ToolChoice::Required => (true, offered),
    }
}

/// Checks that every setting is on the wire with its value, and no other, or that it is noted. Whether it was sent: a
/// refusal of what is not declared reports the setting as well.
async fn check_settings<H: ChatModelHarness>(bench: &Bench<'_, H>, request: &ModelRequest) -> bool {
    let expected = &request.settings;
    let has_schema = matches!(expected.response_format, ResponseFormat::JsonSchema { .. });
    let mut declared = has_schema && bench.harness.capabilities().structured_output;
    let Some(sent) = bench.sent(request).await else {
        assert!(
            !declared,
            "{expected:?} is refused, although it is declared"
        );
        return false;
    };
    if declared && sent.is_noted_at(FORMAT) && !request.tools.is_empty() {
        // A model that is held to a format may be unable to call tools; without any, it is held to it.
        let mut without_tools = request.clone();
        without_tools.tools = Arc::default();
        without_tools.settings = Arc::new(Settings {
            max_output_tokens: expected.max_output_tokens,
            response_format: expected.response_format.clone(),
            ..Settings::default()
        });
        Box::pin(check_settings(bench, &without_tools)).await;
        declared = false;
    }
    let mut said = sent.echo.settings.clone();
    for Setting { copy, path, .. } in SETTINGS {
        if *path == FORMAT && has_schema {
            excuse_format(
                &mut said.response_format,
                &expected.response_format,
                &sent,
                declared,
            );
        } else if sent.is_noted(path) {
            copy(&mut said, expected);
        }
    }
    assert_eq!(
        said, **expected,
        "settings have other values on the wire\n{sent}"
    );
    true
}

/// Takes over what is noted of a response format, part by part; as a whole only if it is not declared.
fn excuse_format(
    said: &mut ResponseFormat,
    expected: &ResponseFormat,
    sent: &SentRequest,
    declared: bool,
) {
    if !declared && sent.is_noted_at(FORMAT) {
        said.clone_from(expected);
        return;
    }
    let (
        ResponseFormat::JsonSchema {
            description,
            name,
            schema,
            strict,
        },
        ResponseFormat::JsonSchema {
            description: expected_description,
            name: expected_name,
            schema: expected_schema,
            strict: expected_strict,
        },
    ) = (said, expected)
    else {
        return;
    };
    let is_noted = |field: &str| sent.is_noted(&format!("{FORMAT}.{field}"));
    if is_noted("description") {
        description.clone_from(expected_description);
    }
    if is_noted("name") {
        *name = Arc::clone(expected_name);
    }
    if is_noted("schema") {
        *schema = Arc::clone(expected_schema);
    }
    if is_noted("strict") {
        *strict = *expected_strict;
    }
}

const FORMAT: &str = "settings.response_format";
