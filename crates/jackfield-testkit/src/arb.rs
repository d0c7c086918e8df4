//! Generators of domain values, for property tests.
//!
//! Each function returns a strategy for one concept. All values are small, with a few elements each, so that a
//! hundred cases take milliseconds. Texts are of every script, including control characters, whitespace and the
//! empty text.
//!
//! ```
//! use jackfield_domain::rules;
//! use jackfield_testkit::arb;
//! use proptest::prelude::*;
//!
//! proptest!(|(messages in arb::conversation())| {
//!     prop_assert!(rules::check_request(messages.iter()).is_ok());
//! });
//! ```

mod block;
mod broken;
mod call;
mod conversation;
mod directory;
mod fact;
mod failure;
mod media;
mod opaque;
mod reply;
mod request;
mod setup;
mod stream;
mod target;
mod text;
mod tool;
mod wait;

pub use self::block::{block, content, reply_content, text_block, text_content, thinking};
pub use self::broken::broken_schema;
pub use self::call::{
    arguments, called_name, outcome_of, outcome_part, provider_call, tool_call, tool_input,
    tool_outcome, tool_result,
};
pub use self::conversation::{
    assistant_message, conversation, messages, messages_from, system_message, tool_message,
    user_message,
};
pub use self::directory::{
    client_key, directory_change, directory_user, entry_name, meter_operation, quota,
};
pub use self::fact::{envelope, envelopes, fact, fact_kinds, input_kind, now, wall_time};
pub use self::failure::{model_failure, model_failure_kind, tool_failure, tool_failure_kind};
pub use self::media::{audio, document, image, media_source};
pub use self::opaque::{extension, opaque_block, opaque_state, opaque_states, state_owner};
pub use self::reply::{
    detailed_usage, estimated_usage, finish_reason, note, reply, reply_blocks, reply_end, usage,
};
pub use self::request::{model_ref, model_request, settings, system_prompt};
pub use self::setup::{
    allowance, caller, limits, money, opening, permission, policy, price, setup,
};
pub use self::stream::deltas_of;
pub use self::target::{reservations, spending_record, target, target_choice, trace_context};
pub use self::text::{id, json, json_object, text, word, words};
pub use self::tool::{
    catalog, catalog_entry, input_format, schema, tool_choice, tool_definition, tool_name,
    tool_origin, tool_spec, toolbox_id,
};
pub use self::wait::{answer, delivery, delivery_body, job_handle, question, wait, wait_end};
