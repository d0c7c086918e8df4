//! Forms of the settings of model calls.

use std::sync::Arc;

use jackfield_domain::opaque::Extension;
use jackfield_domain::request::ModelRef;
use jackfield_domain::settings::{
    CacheMode, CacheTtl, Effort, PassedHeader, ResponseFormat, Settings, ThinkingMode, Verbosity,
};
use jackfield_domain::system_prompt::{PartOrigin, SystemPart, SystemPrompt};
use serde_json::Value;

stored_enum! { CacheMode as CacheModeForm { Auto, Client, Off } }

stored_enum! { CacheTtl as CacheTtlForm { FiveMinutes, OneHour } }

stored_enum! { Effort as EffortForm { None, Minimal, Low, Medium, High, ExtraHigh, Max } }

stored_struct! { ModelRef as ModelRefForm { provider: Arc<str>, model: Arc<str> } }

stored_struct! { PassedHeader as PassedHeaderForm {
    dialect: Arc<str>, name: Arc<str>, value: Arc<str>
} }

stored_enum! { PartOrigin as PartOriginForm {
    Configuration,
    Default,
    Flag,
    Retrieved(source: Arc<str>),
    Server(server: Arc<str>),
    Session,
} }

stored_enum! { ResponseFormat as ResponseFormatForm {
    JsonObject,
    JsonSchema {
        name: Arc<str>, schema: Arc<Value>; maybe description: Arc<str>, strict: bool
    },
    Text,
} }

stored_struct! { Settings as SettingsForm {
    response_format: ResponseFormat;
    maybe
        cache: CacheMode,
        cache_ttl: CacheTtl,
        effort: Effort,
        end_user: Arc<str>,
        frequency_penalty: f64,
        max_output_tokens: u32,
        parallel_calls: bool,
        presence_penalty: f64,
        seed: i64,
        service_tier: Arc<str>,
        temperature: f64,
        thinking: ThinkingMode,
        thinking_shown: bool,
        top_k: u32,
        top_p: f64,
        verbosity: Verbosity;
    many extensions: Extension, headers: PassedHeader, stop: Arc<str>
} }

stored_struct! { SystemPart as SystemPartForm { origin: PartOrigin, text: Arc<str> } }

stored_struct! { SystemPrompt as SystemPromptForm { ; many parts: SystemPart } }

stored_enum! { ThinkingMode as ThinkingModeForm { Adaptive, Budget(tokens: u32), Off } }

stored_enum! { Verbosity as VerbosityForm { High, Low, Medium } }
