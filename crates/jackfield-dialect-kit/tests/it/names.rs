//! Names of tools on the wire.

use std::collections::HashSet;
use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::outgoing::names::NameForm;
use jackfield_domain::ids::ToolName;
use jackfield_domain::message::Messages;
use jackfield_domain::request::{ModelRef, ModelRequest};
use jackfield_domain::settings::Settings;
use jackfield_domain::system_prompt::SystemPrompt;
use jackfield_domain::tool::{InputFormat, ToolChoice, ToolDefinition};
use jackfield_testkit::arb;
use proptest::prelude::*;
use serde_json::json;

fn form() -> impl Strategy<Value = NameForm> {
    let further = prop_oneof![Just(""), Just(".:")];
    let longest = prop_oneof![Just(64), Just(128)];
    let parts = (any::<bool>(), further, longest);
    parts.prop_map(|(begins_with_letter, further, longest)| NameForm {
        begins_with_letter,
        further,
        longest,
    })
}

fn wire_names(form: NameForm, request: &ModelRequest) -> Vec<String> {
    let fitted = form.fit(request, &mut Notes::default()).into_owned();
    let names = fitted.tools.iter().map(|tool| tool.name.to_string());
    names.collect()
}

/// A request with tools of these names.
fn offering(names: &[&str]) -> ModelRequest {
    let tool = |name: &&str| {
        Arc::new(ToolDefinition {
            description: "".into(),
            extensions: Vec::new(),
            input: InputFormat::Json(Arc::new(json!({ "type": "object" }))),
            name: ToolName::parse(name).expect("a name"),
            output: None,
            strict: None,
        })
    };
    ModelRequest {
        choice: ToolChoice::Auto,
        messages: Messages::default(),
        model: ModelRef {
            model: "model-a".into(),
            provider: "a-provider".into(),
        },
        turn: None,
        searchable: Arc::default(),
        settings: Arc::new(Settings::default()),
        strict: None,
        system: Arc::new(SystemPrompt::default()),
        tools: Arc::new(names.iter().map(tool).collect()),
        tools_as_text: false,
        whole: false,
    }
}

const STRICTEST: NameForm = NameForm {
    begins_with_letter: true,
    further: "",
    longest: 64,
};

#[test]
fn a_name_that_the_vendor_takes_is_unchanged() {
    let long = "a".repeat(128);
    let request = offering(&[&long, "files.read:all", "7zip"]);
    let gemini = NameForm {
        further: ".:",
        longest: 128,
        ..STRICTEST
    };
    let names = wire_names(gemini, &request);
    assert_eq!(names, [&*long, "files.read:all", "_7zip"]);
}

#[test]
fn a_name_that_maps_onto_another_is_told_apart() {
    let taken = wire_names(STRICTEST, &offering(&["files.read"])).remove(0);
    let request = offering(&[
        "files.read",
        "files:read",
        &taken,
        "files_read",
        "7zip",
        "_7zip",
    ]);
    let wire = wire_names(STRICTEST, &request);
    let distinct: HashSet<&String> = wire.iter().collect();
    assert_eq!(distinct.len(), 6, "{wire:?}");
    assert_eq!(wire[2..4], [&*taken, "files_read"]);
    let tools = STRICTEST.reply_tools(&request);
    for (tool, wire) in request.tools.iter().zip(&wire) {
        assert_eq!(*tools.own(wire), *tool.name.as_str());
    }
}

#[test]
fn a_choice_names_the_tool_as_on_the_wire() {
    let mut request = offering(&["files.read"]);
    request.choice = ToolChoice::Named(request.tools[0].name.clone());
    let mut notes = Notes::default();
    let fitted = STRICTEST.fit(&request, &mut notes).into_owned();
    assert_eq!(
        fitted.choice,
        ToolChoice::Named(fitted.tools[0].name.clone())
    );
    let paths: Vec<String> = notes.into_vec().into_iter().map(|note| note.path).collect();
    assert_eq!(paths, ["tools[0].name", "choice"]);
}

proptest! {
    #[test]
    fn each_name_on_the_wire_fits_and_leads_back(
        form in form(),
        request in arb::model_request(),
    ) {
        let mut notes = Notes::default();
        let fitted = form.fit(&request, &mut notes).into_owned();
        let tools = form.reply_tools(&request);
        let calls = |request: &ModelRequest| -> Vec<String> {
            let calls = request.messages.iter().flat_map(|message| message.calls());
            calls.map(|call| call.name.as_str().to_owned()).collect()
        };
        let names = |request: &ModelRequest| -> Vec<String> {
            let names = request.tools.iter().map(|tool| tool.name.to_string());
            names.chain(calls(request)).collect()
        };
        let mut changed = 0;
        for (own, wire) in names(&request).iter().zip(names(&fitted)) {
            prop_assert!(form.fits(&wire), "{wire}");
            prop_assert_eq!(&*tools.own(&wire), own);
            if form.fits(own) {
                prop_assert_eq!(own, &wire);
            } else {
                changed += 1;
            }
        }
        let noted = notes.into_vec();
        let noted = noted.iter().filter(|note| note.path != "choice").count();
        prop_assert_eq!(noted, changed);
        // Nothing but names differs.
        prop_assert_eq!(&fitted.settings, &request.settings);
        prop_assert_eq!(fitted.messages.len(), request.messages.len());
        prop_assert_eq!(fitted.messages.turn_messages().len(), request.messages.turn_messages().len());
    }
}
