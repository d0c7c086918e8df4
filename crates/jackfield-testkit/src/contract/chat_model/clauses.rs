//! The clauses, one function each, under their names.

mod calls;
mod changes;
mod conversations;
mod echoes;
mod failures;
mod listing;
mod manners;
mod replies;
mod requests;
mod scripts;
mod settings;
mod streams;
mod tools;

pub(super) use self::calls::{
    empty_arguments_are_an_empty_object, malformed_arguments_are_kept_as_text,
    split_arguments_are_joined, tool_calls_keep_upstream_ids_names_and_order,
    truncated_arguments_are_not_repaired,
};
pub(super) use self::changes::every_change_of_a_request_is_sent_or_noted;
pub(super) use self::conversations::{
    conversations_keep_their_order_and_authors, failed_outcomes_are_marked_or_noted,
    outcomes_name_their_tools, the_system_prompt_is_sent_as_such,
};
pub(super) use self::echoes::{
    calls_and_outcomes_go_back_in_pairs, calls_with_unusable_ids_are_kept_apart,
    reasoning_goes_back_as_it_came, state_of_another_owner_is_withheld_and_noted,
    state_of_texts_and_calls_goes_back_as_it_came,
    strict_requests_are_refused_where_others_are_noted,
};
pub(super) use self::failures::{
    auth_failure_is_never_retryable, connect_failure_is_before_send,
    html_instead_of_json_is_a_clear_failure, overload_is_retryable,
    rate_limit_reports_the_servers_delay, refused_requests_are_never_retryable,
    server_errors_are_retryable,
};
pub(super) use self::listing::models_are_listed_whole_or_not_at_all;
pub(super) use self::manners::{
    a_missing_end_marker_loses_nothing, a_reply_cut_at_any_event_is_an_error_or_whole,
    a_reply_that_is_not_streamed_is_told_the_same, arguments_in_any_manner_are_the_same,
    calls_count_whatever_the_finish_reason_says, calls_in_any_numbering_are_kept_apart,
    calls_in_one_piece_are_all_taken, every_manner_is_rendered_or_said_to_be_impossible,
    fields_that_say_nothing_change_nothing, names_in_any_manner_come_whole_and_once,
    usage_in_any_manner_is_counted_once,
};
pub(super) use self::replies::{
    custom_calls_come_as_text, finish_reasons_map_as_documented,
    recorded_replies_say_what_they_said, refusals_are_told_as_refusals, text_after_calls_is_kept,
    text_arrives_in_order, usage_is_reported_once, usage_totals_hold_their_parts,
};
pub(super) use self::requests::{
    a_call_is_not_sent_after_its_lease, declared_media_are_sent,
    dropping_the_call_closes_the_connection, one_call_makes_one_http_request,
    own_keys_replace_the_adapters_or_are_refused, secrets_never_reach_debug_or_errors,
    spans_carry_provider_and_model, undeclared_capability_is_refused,
};
pub(super) use self::settings::{
    settings_are_sent_with_their_values, the_choice_of_tools_is_sent_or_noted,
};
pub(super) use self::streams::{
    a_cut_at_every_byte_gives_the_same_reply, a_server_that_is_alive_is_not_silent,
    any_chunking_gives_the_same_reply, broken_events_are_a_protocol_violation,
    broken_stream_is_interrupted_mid_reply, ending_without_finish_is_an_error,
    mid_stream_error_event_is_classified, slow_stream_is_not_an_error, unknown_events_are_ignored,
};
pub(super) use self::tools::tools_are_sent_whole;
