//! `jackfield config import`: what it writes is a configuration that holds.

mod conversations;

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{Ran, jackfield};

/// Imports this file, and returns what is printed.
#[track_caller]
fn imported(folder: &TempDir, theirs: &str) -> Ran {
    let file = folder.path().join("config.yaml");
    fs::write(&file, theirs).unwrap();
    let ran = jackfield(["config", "import", "litellm"])
        .arg(file.to_str().unwrap())
        .run();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

#[test]
fn what_is_imported_holds_with_every_provider_and_each_thing_that_is_written() {
    let mut theirs = "model_list:\n".to_owned();
    for vendor in VENDORS {
        theirs.push_str(&format!(
            "  - model_name: of-{vendor}\n    litellm_params: {{model: {vendor}/m, api_base: 'http://127.0.0.1:9/{vendor}'}}\n  \
             - model_name: usual\n    litellm_params: {{model: {vendor}/m, weight: 3, stream_timeout: 1.5, organization: o}}\n"
        ));
    }
    theirs.push_str(
        "  - model_name: shared\n    litellm_params: {model: groq/s, tpm: 2000000}\n  \
         - model_name: shared\n    litellm_params: {model: xai/s, tpm: 3e-9}\n  \
         - model_name: priced\n    litellm_params: {model: groq/p, input_cost_per_token: 1e-7, output_cost_per_token: 0.3e-6}\n    \
         model_info: {max_input_tokens: 1000, supports_vision: false}\n\
         router_settings: {routing_strategy: least-busy, num_retries: 1, stream_timeout: 3, \
         model_group_alias: {'strange \"name\"': priced}}\n\
         litellm_settings: {callbacks: [prometheus], json_logs: true, fallbacks: [{priced: [usual]}], \
         content_policy_fallbacks: [{priced: [of-xai]}]}\n\
         general_settings: {master_key: os.environ/MASTER}\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let ran = imported(&folder, &theirs);
    let shown = jackfield(["config", "show", "--json"])
        .configured(&ran.out)
        .run();
    assert_eq!(shown.code, Some(0), "{}\n{}", shown.err, ran.out);
    let shown: Value = serde_json::from_str(&shown.out).unwrap();
    let values = shown["values"].as_array().unwrap();
    let value = |key: &str| {
        let found = values.iter().find(|value| value["key"] == key);
        found.map_or(&Value::Null, |found| &found["value"])
    };
    assert_eq!(value("model"), "of-anthropic");
    assert_eq!(value("limits.model_retries"), 1);
    assert_eq!(value("serve.log"), "json");
    assert_eq!(value("serve.metrics"), true);
    assert_eq!(value("serve.tokens.master.env"), "MASTER");
}

#[test]
fn a_file_is_written_once_and_never_replaced_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("config.yaml");
    let ours = folder.path().join("jackfield.toml");
    fs::write(
        &theirs,
        "model_list: [{model_name: a, litellm_params: {model: groq/m, api_key: sk-x, odd: 1}}]\n",
    )
    .unwrap();
    let import = || {
        jackfield(["config", "import", "litellm"])
            .arg(theirs.to_str().unwrap())
            .arg("--out")
            .arg(ours.to_str().unwrap())
    };
    let ran = import().run();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
    assert!(
        ran.err
            .contains("line 1: model_list[0].litellm_params.odd: was not carried over"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("2 remarks; written: "), "{}", ran.err);
    let written = fs::read_to_string(&ours).unwrap();
    assert!(written.contains("a = \"groq/m\""), "{written}");
    let again = import().run();
    assert_eq!(again.code, Some(3));
    assert!(again.err.contains("is there already"), "{}", again.err);
    assert_eq!(import().arg("--force").run().code, Some(0));
}

#[test]
fn the_example_of_the_guide_becomes_what_the_guide_says() {
    let guide = include_str!("../../../../docs/guides/move-from-litellm.md");
    let block = |language: &str| {
        let (_, rest) = guide.split_once(&format!("```{language}\n")).unwrap();
        rest.split_once("```").unwrap().0
    };
    let folder = tempfile::tempdir().unwrap();
    let ran = imported(&folder, block("yaml"));
    let (_, body) = ran.out.split_once("\n\n").unwrap();
    assert_eq!(body, block("toml"));
    assert_eq!(
        ran.err.trim(),
        "line 19: general_settings.master_key: has to have at least 16 characters\n1 remark; nothing was written"
    );
}

#[test]
fn programs_get_remarks_with_lines() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("config.yaml");
    fs::write(&theirs, "model_list: []\nodd: 1\n").unwrap();
    let ran = jackfield(["config", "import", "litellm", "--json"])
        .arg(theirs.to_str().unwrap())
        .run();
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(said["remarks"][0]["line"], 2);
    assert_eq!(said["remarks"][0]["place"], "odd");
    fs::write(&theirs, "servers: []\n").unwrap();
    let ran = jackfield(["config", "import", "litellm"])
        .arg(theirs.to_str().unwrap())
        .run();
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("it has no `model_list`"), "{}", ran.err);
}

/// The providers of LiteLLM that become one of ours, with an address and without one.
const VENDORS: &[&str] = &[
    "anthropic",
    "cerebras",
    "deepseek",
    "fireworks_ai",
    "gemini",
    "groq",
    "hosted_vllm",
    "huggingface",
    "llamafile",
    "lm_studio",
    "mistral",
    "ollama_chat",
    "openai",
    "openrouter",
    "together_ai",
    "xai",
];
