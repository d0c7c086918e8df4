//! The clauses, one function each, under their names.

mod calls;
mod failures;
mod replies;
mod requests;
mod streams;

pub(super) use self::calls::{
    empty_arguments_are_an_empty_object, malformed_arguments_are_kept_as_text,
    split_arguments_are_joined, tool_calls_keep_upstream_ids_names_and_order,
};
pub(super) use self::failures::{
    auth_failure_is_never_retryable, connect_failure_is_before_send,
    html_instead_of_json_is_a_clear_failure, overload_is_retryable,
    rate_limit_reports_the_servers_delay, refused_requests_are_never_retryable,
    server_errors_are_retryable,
};
pub(super) use self::replies::{
    finish_reasons_map_as_documented, text_arrives_in_order, usage_is_reported_once,
};
pub(super) use self::requests::{
    dropping_the_call_closes_the_connection, one_call_makes_one_http_request,
    secrets_never_reach_debug_or_errors, spans_carry_provider_and_model,
    undeclared_capability_is_refused,
};
pub(super) use self::streams::{
    any_chunking_gives_the_same_reply, broken_events_are_a_protocol_violation,
    broken_stream_is_interrupted_mid_reply, ending_without_finish_is_an_error,
    mid_stream_error_event_is_classified, slow_stream_is_not_an_error, unknown_events_are_ignored,
};
