//! Configurations of LiteLLM's proxy, each with the whole text that it becomes and all remarks.

use jackfield_import::{ImportError, litellm};

/// Imports a configuration where `GPU_BASE` is the only variable, and compares everything.
#[track_caller]
fn check(theirs: &str, ours: &str, remarks: &[&str]) {
    let variable = |name: &str| (name == "GPU_BASE").then(|| "http://gpu-box:8000/v1".to_owned());
    let imported = litellm(theirs, &variable).unwrap();
    let said: Vec<String> = imported.remarks.iter().map(ToString::to_string).collect();
    let (head, body) = imported.configuration.split_once("\n\n").unwrap();
    assert!(head.starts_with("# Read from a configuration of LiteLLM's proxy"));
    assert_eq!(body.trim(), ours.trim());
    assert_eq!(said, remarks);
}

#[test]
fn one_model_is_an_alias_and_a_known_variable_needs_no_table() {
    check(
        "\
model_list:
  - model_name: smart
    litellm_params:
      model: anthropic/claude-opus-5-5
      api_key: os.environ/ANTHROPIC_API_KEY
  - model_name: quick
    litellm_params:
      model: gpt-6-sol
      api_key: os.environ/TEAM_KEY
",
        "\
model = \"smart\"

[aliases]
smart = \"claude/claude-opus-5-5\"
quick = \"openai/gpt-6-sol\"

[providers.openai]
api_key_env = \"TEAM_KEY\"
",
        &[],
    );
}

#[test]
fn deployments_of_one_name_are_a_weighted_route_and_fallbacks_are_later_tiers() {
    check(
        "\
model_list:
  - model_name: chat
    litellm_params:
      model: azure/chat-eu
      api_base: https://eu.openai.azure.com/
      api_key: os.environ/AZURE_EU_KEY
      api_version: '2026-01-01'
      rpm: 900
  - model_name: chat
    litellm_params:
      model: azure/chat-us
      api_base: https://us.openai.azure.com
      api_key: os.environ/AZURE_US_KEY
      rpm: 300
  - model_name: spare
    litellm_params:
      model: anthropic/claude-haiku-5-5
      stream_timeout: 2.5
litellm_settings:
  drop_params: true
  num_retries: 3
  request_timeout: 600
  fallbacks: [{chat: [spare]}]
router_settings:
  routing_strategy: simple-shuffle
  content_policy_fallbacks:
    - spare: [chat]
  model_group_alias:
    gpt-4o: chat
    old: {model: spare, hidden: true}
    lost: nothing
",
        "\
model = \"chat\"

[providers.azure]
base_url = \"https://eu.openai.azure.com\"
api_key_env = \"AZURE_EU_KEY\"

[providers.azure-2]
kind = \"azure\"
base_url = \"https://us.openai.azure.com\"
api_key_env = \"AZURE_US_KEY\"

[routes.chat]
targets = [
  { model = \"azure/chat-eu\", weight = 900 },
  { model = \"azure-2/chat-us\", weight = 300 },
  { model = \"claude/claude-haiku-5-5\", tier = 1, first_byte = \"2500ms\" },
]
strategy = \"weighted\"

[routes.spare]
targets = [
  { model = \"claude/claude-haiku-5-5\", first_byte = \"2500ms\" },
]
content_filter = [\"azure/chat-eu\", \"azure-2/chat-us\"]

[routes.gpt-4o]
targets = [
  { model = \"azure/chat-eu\", weight = 900 },
  { model = \"azure-2/chat-us\", weight = 300 },
  { model = \"claude/claude-haiku-5-5\", tier = 1, first_byte = \"2500ms\" },
]
strategy = \"weighted\"

[routes.old]
targets = [
  { model = \"claude/claude-haiku-5-5\", first_byte = \"2500ms\" },
]
content_filter = [\"azure/chat-eu\", \"azure-2/chat-us\"]

[limits]
model_retries = 3
",
        &[
            "line 7: model_list[0].litellm_params.api_version: is not needed: Jackfield uses the API without versions",
            "line 8: model_list[0].litellm_params.rpm: is the deployment's share of its route's requests, and no limit: a \
             provider that has enough answers 429, and another target is asked",
            "line 14: model_list[1].litellm_params.rpm: is the deployment's share of its route's requests, and no limit: \
             a provider that has enough answers 429, and another target is asked",
            "line 22: litellm_settings.request_timeout: was not carried over: Jackfield bounds how long a model may be \
             silent, with `limits.model_idle`, not how long it replies",
            "line 30: router_settings.model_group_alias.old: is listed in `/v1/models`, too: Jackfield hides no names",
            "line 31: router_settings.model_group_alias.lost: was left out: there is no model `nothing`",
        ],
    );
}

#[test]
fn keys_that_stand_in_the_file_are_left_out_and_named() {
    check(
        "\
model_list:
  - model_name: a
    litellm_params: {model: openai/gpt-6-sol, api_key: sk-first-secret}
  - model_name: b
    litellm_params: {model: openai/gpt-6-sol, api_key: sk-second-secret}
  - model_name: c
    litellm_params: {model: openai/qwen, api_base: 'http://gpu-box:8000/v1', api_key: none}
general_settings:
  master_key: sk-1234
  database_url: postgresql://user:secret@host/db
environment_variables:
  OPENAI_API_KEY: sk-third-secret
",
        "\
model = \"a\"

[aliases]
a = \"openai/gpt-6-sol\"
b = \"openai-2/gpt-6-sol\"
c = \"openai-compatible/qwen\"

[providers.openai-2]
# Its key was not taken over: it belongs in the environment.
kind = \"openai\"
api_key_env = \"OPENAI_2_API_KEY\"

[providers.openai-compatible]
base_url = \"http://gpu-box:8000/v1\"

[serve.tokens.master]
env = \"LITELLM_MASTER_KEY\"
admin = true
",
        &[
            "line 3: model_list[0].litellm_params.api_key: the key was left out: put it into the environment variable \
             OPENAI_API_KEY, or store it with `jackfield keys set openai`",
            "line 5: model_list[1].litellm_params.api_key: the key was left out: put it into the environment variable \
             OPENAI_2_API_KEY, or store it with `jackfield keys set openai-2`",
            "line 7: model_list[2].litellm_params.api_key: was taken for no key: name a variable in the provider's \
             `api_key_env` if the server wants one",
            "line 9: general_settings.master_key: has to have at least 16 characters",
            "line 9: general_settings.master_key: the key was left out: put it into the environment variable \
             LITELLM_MASTER_KEY",
            "line 10: general_settings.database_url: was not carried over: keys of users are in Jackfield's journal; make \
             them with `jackfield keys create`",
            "line 12: environment_variables.OPENAI_API_KEY: was not carried over: set OPENAI_API_KEY in the environment of \
             Jackfield, if something uses it",
        ],
    );
}

#[test]
fn addresses_are_those_of_now_and_never_hold_keys() {
    check(
        "\
model_list:
  - model_name: gpu
    litellm_params: {model: hosted_vllm/qwen, api_base: os.environ/GPU_BASE}
  - model_name: lost
    litellm_params: {model: hosted_vllm/qwen, api_base: os.environ/OTHER_BASE}
  - model_name: told
    litellm_params: {model: openai/m, api_base: 'https://user:secret@host/v1'}
  - model_name: asked
    litellm_params: {model: openai/m, api_base: 'https://host/v1?key=secret'}
  - model_name: local
    litellm_params: {model: ollama_chat/gemma3, api_base: 'http://localhost:11434'}
  - model_name: nowhere
    litellm_params: {model: custom_openai/m}
",
        "\
model = \"gpu\"

[aliases]
gpu = \"vllm/qwen\"
local = \"ollama/gemma3\"

[providers.vllm]
base_url = \"http://gpu-box:8000/v1\"
",
        &[
            "line 3: model_list[0].litellm_params.api_base: the address is written as GPU_BASE has it now: Jackfield's \
             `base_url` names no variable",
            "line 5: model_list[1].litellm_params.api_base: the model was left out: Jackfield's `base_url` names no \
             variable; set OTHER_BASE to the address, and import again",
            "line 7: model_list[2].litellm_params.api_base: the model was left out: its address has a login, a `?` or a \
             `#`, where keys may stand",
            "line 9: model_list[3].litellm_params.api_base: the model was left out: its address has a login, a `?` or a \
             `#`, where keys may stand",
            "line 13: model_list[5].litellm_params: the model was left out: its server has no address, which `api_base` \
             gives",
        ],
    );
}

#[test]
fn prices_windows_and_abilities_are_carried_over() {
    check(
        "\
model_list:
  - model_name: m
    litellm_params:
      model: groq/llama
      input_cost_per_token: 0.00000015
      output_cost_per_token: 6e-07
      order: 1
    model_info:
      mode: chat
      max_input_tokens: 131072
      supports_vision: false
      supports_function_calling: true
  - model_name: m
    litellm_params: {model: groq/llama, input_cost_per_token: 1e-6, output_cost_per_token: 1e-6, order: 2}
litellm_settings:
  callbacks: [prometheus, langfuse]
  json_logs: true
router_settings: {routing_strategy: latency-based-routing, cooldown_time: 30}
",
        "\
model = \"m\"

[routes.m]
targets = [
  { model = \"groq/llama\", images = false },
]

[models.\"groq/llama\"]
context_window = 131072

[prices.\"groq/llama\"]
input = 0.15
output = 0.6
source = \"LiteLLM's configuration\"

[serve]
log = \"json\"
metrics = true
",
        &[
            "line 14: model_list[1]: has another price than a deployment of `groq/llama` before it, whose price counts",
            "line 16: litellm_settings.callbacks: was not carried over: Jackfield sends traces, metrics and the log by \
             OpenTelemetry alone, see `[serve.otlp]`",
            "line 18: router_settings.cooldown_time: was not carried over: a route leaves out a target that keeps failing \
             by rules of its own",
            "line 18: router_settings.routing_strategy: was not carried over: routes are \"weighted\" instead; \
             Jackfield's strategies do not look at latency or use",
        ],
    );
}

#[test]
fn what_is_not_understood_is_named_with_its_line() {
    check(
        "\
model_list:
  - model_name: bed
    litellm_params:
      model: bedrock/claude
      aws_secret_access_key: os.environ/AWS
  - model_name: embed
    litellm_params: {model: text-embedding-3-small}
    model_info: {mode: embedding}
  - model_name: 'anthropic/*'
    litellm_params: {model: 'anthropic/*'}
  - model_name: a/b
    litellm_params:
      model: mistral/mistral-large-latest
      temperature: 0.5
      strange: {deep: true}
      tags: [paid]
    owner: me
  - model_name: who
    litellm_params: {model: something}
  - litellm_params: {}
litellm_settings:
  fallbacks: [{a/b: [bed, {model: x}]}, {none: [a/b]}]
plugins: {}
plugins: []
",
        "\
model = \"a-b\"

[aliases]
a-b = \"mistral/mistral-large-latest\"
",
        &[
            "line 4: model_list[0].litellm_params.model: the model was left out: write a provider of the kind `bedrock` with \
             your `region`, and name its models as `bedrock/MODEL`; its keys are in AWS_BEARER_TOKEN_BEDROCK, or in \
             AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            "line 7: model_list[1]: has no name of its own: it is no model for chats but for `embedding`; clients name it \
             as `openai/text-embedding-3-small` at the endpoints that `serve.endpoints` opens",
            "line 10: model_list[2]: needs no entry: clients name these models as `claude/MODEL`",
            "line 13: model_list[3]: is called `a-b`: a short name has no `/`; change it in the clients",
            "line 14: model_list[3].litellm_params.temperature: was not carried over: Jackfield has it for all models, in \
             `[settings]`, or in an `[assistants.NAME]`",
            "line 15: model_list[3].litellm_params.strange: was not carried over: Jackfield has no such key",
            "line 16: model_list[3].litellm_params.tags: was not carried over: a route does not choose by tags; make a \
             route for each",
            "line 17: model_list[3].owner: was not carried over: Jackfield has no such key",
            "line 19: model_list[4].litellm_params.model: the model was left out: its name does not say its provider; \
             write it as `provider/model`",
            "line 20: model_list[5]: was left out: it has no `model_name`, or no `litellm_params`",
            "line 22: litellm_settings.fallbacks.a/b: a fallback with parameters of its own was not carried over: make it \
             an entry of `model_list`",
            "line 22: litellm_settings.fallbacks.a/b: names a model that `model_list` has not, or that was left out: `bed`",
            "line 22: litellm_settings.fallbacks.none: names a model that `model_list` has not, or that was left out: \
             `none`",
            "line 23: plugins: is given again in line 24, which counts",
            "line 23: plugins: was not carried over: Jackfield has no such key",
            "line 24: plugins: was not carried over: Jackfield has no such key",
        ],
    );
}

#[test]
fn shares_are_whole_numbers_that_a_route_takes() {
    check(
        "\
model_list:
  - model_name: big
    litellm_params: {model: groq/a, tpm: 3000000}
  - model_name: big
    litellm_params: {model: xai/a, tpm: 1000000}
  - model_name: parts
    litellm_params: {model: groq/b, weight: 0.9}
  - model_name: parts
    litellm_params: {model: xai/b, weight: 0.1}
  - model_name: parts
    litellm_params: {model: mistral/b, weight: 0}
  - model_name: none
    litellm_params: {model: groq/c, weight: 0}
  - model_name: last
    litellm_params: {model: groq/d, order: 4294967295}
litellm_settings: {fallbacks: [{last: [none]}]}
",
        "\
model = \"big\"

[aliases]
none = \"groq/c\"

[routes.big]
targets = [
  { model = \"groq/a\", weight = 1000000 },
  { model = \"xai/a\", weight = 333333 },
]
strategy = \"weighted\"

[routes.parts]
targets = [
  { model = \"groq/b\", weight = 9 },
  \"xai/b\",
]
strategy = \"weighted\"

[routes.last]
targets = [
  \"groq/d\",
  { model = \"groq/c\", tier = 1 },
]
",
        &[
            "line 3: model_list[0].litellm_params.tpm: is the deployment's share of its route's requests, and no limit: a \
             provider that has enough answers 429, and another target is asked",
            "line 3: model_list[0].litellm_params.tpm: the shares of `big` were rounded to whole numbers of at most 1000000",
            "line 5: model_list[1].litellm_params.tpm: is the deployment's share of its route's requests, and no limit: a \
             provider that has enough answers 429, and another target is asked",
            "line 11: model_list[4].litellm_params.weight: the deployment was left out: it gets no request, and a target \
             of Jackfield has a weight of at least 1",
            "line 13: model_list[5].litellm_params.weight: is 1 in Jackfield: no deployment beside this one has a share, \
             either",
        ],
    );
}

#[test]
fn a_key_or_an_address_without_a_value_is_absent() {
    check(
        "\
model_list:
  - model_name: a
    litellm_params:
      model: openai/gpt-6-sol
      api_base:
      api_key:
  - model_name: b
    litellm_params: {model: hosted_vllm/qwen, api_base: ~, base_url: 'http://gpu-box:8000/v1', api_key: [x]}
",
        "\
model = \"a\"

[aliases]
a = \"openai/gpt-6-sol\"
b = \"vllm/qwen\"

[providers.vllm]
base_url = \"http://gpu-box:8000/v1\"
",
        &[
            "line 8: model_list[1].litellm_params.api_key: was taken for no key, as it is no text: name a variable in the \
             provider's `api_key_env` if the server wants one",
        ],
    );
}

#[test]
fn a_key_that_stands_in_the_file_gets_a_variable_of_its_own() {
    check(
        "\
model_list:
  - model_name: a
    litellm_params: {model: openai/gpt-6-sol, api_key: sk-first-secret}
  - model_name: b
    litellm_params: {model: openai/gpt-6-sol, api_key: os.environ/OPENAI_API_KEY}
",
        "\
model = \"a\"

[aliases]
a = \"openai/gpt-6-sol\"
b = \"openai-2/gpt-6-sol\"

[providers.openai]
# Its key was not taken over: it belongs in the environment.
api_key_env = \"OPENAI_API_KEY_2\"

[providers.openai-2]
kind = \"openai\"
",
        &[
            "line 3: model_list[0].litellm_params.api_key: the key was left out: put it into the environment variable \
             OPENAI_API_KEY_2, or store it with `jackfield keys set openai`",
        ],
    );
}

#[test]
fn a_file_of_something_else_is_an_error() {
    let import = |text: &str| litellm(text, &|_| None).unwrap_err();
    assert_eq!(
        import("servers: []\n"),
        ImportError::Foreign {
            gateway: "LiteLLM's proxy",
            wanted: "model_list"
        }
    );
    assert!(matches!(
        import("model_list: [\n"),
        ImportError::Malformed { .. }
    ));
}
