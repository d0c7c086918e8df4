//! No text makes the import panic, and no key of a file is in what it gives.

use jackfield_import::litellm;
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_gives_an_answer(text in "[-a-z_:\\[\\]{}&*<|>'\"#/ \n]{0,200}") {
        drop(litellm(&format!("model_list:\n{text}"), &|_| None));
        drop(litellm(&text, &|_| None));
    }

    #[test]
    fn no_key_is_written_or_said(key in "[A-Z0-9]{24,40}", spaced in any::<bool>()) {
        let space = if spaced { "\n" } else { "" };
        let theirs = format!("\
model_list:{space}
  - model_name: a
    litellm_params:
      model: openai/m
      api_key: {key}
      aws_secret_access_key: {key}
      extra_headers: {{authorization: {key}}}
      unknown_key: {key}
    model_info: {{note: {key}}}
  - model_name: b
    litellm_params: {{model: openai/m, api_base: 'https://u:{key}@host', api_key: {key}}}
  - model_name: c
    litellm_params: {{model: openai/m, api_base: 'https://host/?key={key}'}}
  - model_name: d
    litellm_params: {{model: openai/m, api_base: '{key}'}}
  - model_name: e
    litellm_params: {{model: openai/m, organization: o, max_tokens: {key}, rpm: {key}}}
litellm_settings:
  cache_params: {{password: {key}}}
  callbacks: ['{key}']
  num_retries: {key}
general_settings: {{master_key: {key}, database_url: '{key}', alerting: ['{key}']}}
router_settings: {{redis_password: {key}, routing_strategy: {key}, timeout: {key}}}
environment_variables: {{OPENAI_API_KEY: {key}}}
other: {key}
");
        let imported = litellm(&theirs, &|_| None).unwrap();
        prop_assert!(!imported.configuration.contains(&key), "{}", imported.configuration);
        for remark in &imported.remarks {
            prop_assert!(!remark.to_string().contains(&key), "{remark}");
        }
    }
}
