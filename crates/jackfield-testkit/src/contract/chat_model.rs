//! The contract of [`ChatModel`](jackfield_ports::chat_model::ChatModel): one test per clause, over a local socket.
//!
//! The author of an adapter writes a [`ChatModelHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::chat_model_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that an adapter cannot satisfy is named with the
//! reason; once it is satisfied after all, that test fails, so that no exception outlives its reason:
//!
//! ```text
//! jackfield_testkit::chat_model_contract!(AcmeHarness, except: {
//!     usage_is_reported_once => "acme does not count",
//! });
//! ```
//!
//! The few clauses of [`VITAL`] have no exceptions.
//!
//! # Variations of servers on the wire
//!
//! Servers that claim to speak a vendor's dialect send the same reply in many [manners](Manner). One renderer per
//! dialect produces all of them: [`ChatModelHarness::render`] is called for each reply in each manner, and every
//! manner that it does not render has to be named, with a reason or as the vendor's usual form, so that none is skipped
//! silently. The table lists the manners that have caused bugs elsewhere, and the clause that tests each:
//!
//! | deviation of a server | manner | clause |
//! |---|---|---|
//! | all parallel calls have index 0 | [`IndexReused`](Manner::IndexReused) | `calls_in_any_numbering_are_kept_apart` |
//! | their index is -1, starts at 1, or is missing | [`IndexNegative`](Manner::IndexNegative), [`IndexOneBased`](Manner::IndexOneBased), [`IndexMissing`](Manner::IndexMissing) | `calls_in_any_numbering_are_kept_apart` |
//! | arguments only in the event that ends a call | [`ArgumentsAtEnd`](Manner::ArgumentsAtEnd) | `arguments_in_any_manner_are_the_same` |
//! | arguments at once, as a JSON value, or cumulative | [`ArgumentsAtOnce`](Manner::ArgumentsAtOnce), [`ArgumentsAsObject`](Manner::ArgumentsAsObject), [`ArgumentsCumulative`](Manner::ArgumentsCumulative) | `arguments_in_any_manner_are_the_same` |
//! | interleaved fragments of parallel calls | [`ArgumentsInterleaved`](Manner::ArgumentsInterleaved) | `arguments_in_any_manner_are_the_same` |
//! | `""`, `null` or no field for empty arguments | [`ArgumentsEmpty`](Manner::ArgumentsEmpty), [`ArgumentsNull`](Manner::ArgumentsNull), [`ArgumentsMissing`](Manner::ArgumentsMissing) | `arguments_in_any_manner_are_the_same`, `empty_arguments_are_an_empty_object` |
//! | several calls in one chunk | [`CallsInOnePiece`](Manner::CallsInOnePiece) | `calls_in_one_piece_are_all_taken` |
//! | ids of calls that are missing, empty, equal or used before | [`IdMissing`](Manner::IdMissing), [`IdEmpty`](Manner::IdEmpty), [`IdSame`](Manner::IdSame) | `calls_with_unusable_ids_are_kept_apart` |
//! | the name of a call late, or in each fragment | [`NameLate`](Manner::NameLate), [`NameRepeated`](Manner::NameRepeated) | `names_in_any_manner_come_whole_and_once` |
//! | `""` as the id and name in later fragments of a call | [`LaterIdAndNameEmpty`](Manner::LaterIdAndNameEmpty) | `names_in_any_manner_come_whole_and_once` |
//! | no role in the first chunk, or one in each | [`RoleMissing`](Manner::RoleMissing), [`RoleRepeated`](Manner::RoleRepeated) | `fields_that_say_nothing_change_nothing` |
//! | `null` for every unused field | [`NullsForNothing`](Manner::NullsForNothing) | `fields_that_say_nothing_change_nothing` |
//! | finish reason `stop` although there are calls | [`FinishSaysStop`](Manner::FinishSaysStop) | `calls_count_whatever_the_finish_reason_says` |
//! | usage late, in each chunk, or never | [`UsageApart`](Manner::UsageApart), [`UsageInEachPiece`](Manner::UsageInEachPiece), [`UsageMissing`](Manner::UsageMissing) | `usage_in_any_manner_is_counted_once` |
//! | no end marker | [`EndMarkerMissing`](Manner::EndMarkerMissing) | `a_missing_end_marker_loses_nothing` |
//! | no stream although one was requested | [`NotStreamed`](Manner::NotStreamed) | `a_reply_that_is_not_streamed_is_told_the_same` |
//! | chunks cut anywhere, also within JSON and characters | any | `a_cut_at_every_byte_gives_the_same_reply`, `any_chunking_gives_the_same_reply`, `split_arguments_are_joined` |
//! | a broken connection | any | `a_reply_cut_at_any_event_is_an_error_or_whole`, `broken_stream_is_interrupted_mid_reply`, `ending_without_finish_is_an_error` |
//! | an error within the stream | usual | `mid_stream_error_event_is_classified` |
//! | arguments truncated by the token limit | usual and others | `truncated_arguments_are_not_repaired` |
//! | text after a call | usual | `text_after_calls_is_kept` |
//! | reasoning or state is required back in the next request | usual | `reasoning_goes_back_as_it_came`, `state_of_another_owner_is_withheld_and_noted` |
//! | a result is required for each call under its own id | usual | `calls_and_outcomes_go_back_in_pairs` |
//! | usage with cached input and reasoning | usual | `usage_totals_hold_their_parts` |
//! | state on texts or calls is required back | usual | `state_of_texts_and_calls_goes_back_as_it_came` |
//! | the server goes on after the client has gone | usual | `dropping_the_call_closes_the_connection` |
//!
//! # What a request says
//!
//! [`ChatModelHarness::echo`] reads a recorded request back into an [`Echo`]: the conversation as one list of parts in
//! the order of the wire, the system prompt, the tools, the choice among them, and each setting. Several clauses compare
//! it with the request. What the vendor cannot express, the adapter notes; where nothing is lost without it, the
//! harness names the part in [`ChatModelHarness::never_takes`].

mod bench;
mod clauses;
mod comparison;
mod echo;
mod harness;
mod manner;
mod reply_meaning;
mod rounds;
mod script;
mod settings;

pub use self::echo::{
    Echo, EchoedCall, EchoedOutcome, EchoedPart, EchoedReasoning, EchoedText, EchoedTool,
    RequestPart,
};
pub use self::harness::ChatModelHarness;
pub use self::manner::Manner;
pub use self::script::{
    BlockKind, Recording, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, VendorReply,
    WireReply,
};

use std::pin::Pin;

use super::clause;
use super::spans;

/// Checks one clause; this is what the tests of [`chat_model_contract!`](crate::chat_model_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause, or an exception names one of [`VITAL`], or no clause at all.
pub fn check<H: ChatModelHarness>(harness: &H, clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform(harness, clause);
    let report = bench::last_response;
    bench::clear_report();
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, report);
}

/// The clauses that have no exceptions: without them the others prove nothing.
pub const VITAL: &[&str] = &[
    "every_manner_is_rendered_or_said_to_be_impossible",
    "one_call_makes_one_http_request",
    "secrets_never_reach_debug_or_errors",
    "text_arrives_in_order",
];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! chat_model_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// A reply in two pieces is the same wherever it is cut.
            /// Proxies cut streams anywhere, and a reader of whole pieces then loses a character or an event.
            a_cut_at_every_byte_gives_the_same_reply
            /// A call whose lease has passed is not sent, and fails as `BeforeSend`.
            /// Another process has told the model that the outcome is unknown, and the call is paid all the same.
            a_call_is_not_sent_after_its_lease
            /// After the finish reason of a reply, no end marker has to follow.
            /// Some servers send no marker, and every answer of theirs would count as broken.
            a_missing_end_marker_loses_nothing
            /// A reply that ends early is an error, in every manner, or nothing of it is missing.
            /// Half an answer that looks whole misleads its reader, and no retry mends it.
            a_reply_cut_at_any_event_is_an_error_or_whole
            /// A server that answers with one document, although a stream was asked for, yields the same as a stream.
            /// Some servers and proxies never stream, and the program in front would show nothing.
            a_reply_that_is_not_streamed_is_told_the_same
            /// Bytes of a server that are no delta yet reach the sink as a sign of life.
            /// A model that thinks for long counts as silent, and is asked and paid again.
            a_server_that_is_alive_is_not_silent
            /// However the bytes of an answer are cut, the reply is the same.
            /// Networks deliver in any sizes, and answers would differ from day to day.
            any_chunking_gives_the_same_reply
            /// Arguments may come in pieces, at once, at the end, as a value, repeated, in turns, or not at all.
            /// A tool runs with the wrong arguments, or with none, where a server writes them in another form.
            arguments_in_any_manner_are_the_same
            /// A missing or wrong key, or one without permission, is reported as such, and is never retryable.
            /// A wrong key is tried again until the account is locked, and its user gets no reason.
            auth_failure_is_never_retryable
            /// An event that is not in the provider's language is a `ProtocolViolation`, not left out.
            /// An event that is left out takes words or calls of the answer along, without a trace.
            broken_events_are_a_protocol_violation
            /// A connection that breaks in the middle is `Interrupted`; the phase tells whether anything was pushed.
            /// A retry after words were shown repeats them, and one that could be made is not.
            broken_stream_is_interrupted_mid_reply
            /// The next request gives back every call under the provider's id for it, and its outcome under the same.
            /// The provider refuses the conversation, or takes one tool's result for another's.
            calls_and_outcomes_go_back_in_pairs
            /// Calls are calls, also where the reason to end speaks of none.
            /// The agent stops in the middle of its work, because the tool was never run.
            calls_count_whatever_the_finish_reason_says
            /// Parallel calls are told apart, in order, where their numbers are reused, negative, missing or begin with one.
            /// Two parallel calls become one with the arguments of both, which no tool understands.
            calls_in_any_numbering_are_kept_apart
            /// Several calls in one event are several calls.
            /// Only the first of several calls is run, and the model waits for results that never come.
            calls_in_one_piece_are_all_taken
            /// Calls whose ids are missing, empty, equal or used before go back under ids of their own, each with its outcome.
            /// Results go to the wrong call, where a server gives every call the same id.
            calls_with_unusable_ids_are_kept_apart
            /// A connection that does not come about is `Transport`, and proved not to have been sent.
            /// A call that was never sent counts as one that may have cost money, and is not tried again.
            connect_failure_is_before_send
            /// Texts, calls and outcomes stand in the order of the conversation, each text by its author and unchanged; or a note at the blocks of a message says that its texts come first.
            /// The model answers another conversation than the one that took place.
            conversations_keep_their_order_and_authors
            /// The input of a tool that takes text is that text, even if it looks like JSON.
            /// A patch or a script that looks like JSON reaches its tool in another form.
            custom_calls_come_as_text
            /// Media that the adapter declares are sent with their data and their type.
            /// The model describes a picture that it has never seen.
            declared_media_are_sent
            /// Dropping the call closes the connection, before the answer as well as within it.
            /// A cancelled answer goes on at the provider, and is paid for.
            dropping_the_call_closes_the_connection
            /// A call without arguments is a call with the arguments `{}`.
            /// A tool without parameters is refused for missing arguments.
            empty_arguments_are_an_empty_object
            /// A stream that ends without its ending is `Interrupted`, however orderly the connection was closed.
            /// A proxy that gives up in good order leaves half an answer that looks whole.
            ending_without_finish_is_an_error
            /// Every change to a request shows on the wire or in a note; and the same request is the same bytes.
            /// A setting or a word of the user gets lost, and the answer ignores it without any trace.
            every_change_of_a_request_is_sent_or_noted
            /// The harness renders every manner and every kind of block, or says why the provider has none.
            /// What the harness leaves out is not tested, and breaks at the first server that does it.
            every_manner_is_rendered_or_said_to_be_impossible
            /// The outcome of a tool that failed is marked as an error, and no other is; or a note says that there is no mark.
            /// The model takes an error message for a result, and goes on as if the tool had worked.
            failed_outcomes_are_marked_or_noted
            /// Fields that are null, missing or repeated and say nothing new change nothing.
            /// An answer fails for a `null` that means nothing.
            fields_that_say_nothing_change_nothing
            /// Every finish reason is mapped as the dialect's documentation says; an unknown one is kept as text.
            /// An answer that the limit cut off looks complete, and a refusal looks like an answer.
            finish_reasons_map_as_documented
            /// A web page in the place of an answer is reported as such, with the setting that is likely wrong.
            /// A wrong address shows as a parse error, and users look for the mistake in the wrong place.
            html_instead_of_json_is_a_clear_failure
            /// Arguments that are not JSON come as the text that the model wrote.
            /// The model is not shown what it wrote, and cannot correct it.
            malformed_arguments_are_kept_as_text
            /// A failure inside of a stream is classified like one with an error status.
            /// An overload within a stream ends the turn, although it could be retried.
            mid_stream_error_event_is_classified
            /// All models of the server are listed, in order and with no more requests than pages, or none without any request.
            /// A model that exists is missing from the list, and users believe that they may not use it.
            models_are_listed_whole_or_not_at_all
            /// The name of a call may come late or again and again, and is the same.
            /// A call of `weatherweather` names no tool, and the turn fails.
            names_in_any_manner_come_whole_and_once
            /// One call makes one HTTP request, whether it succeeds or fails.
            /// Hidden retries multiply cost and load, and the limits of a turn no longer hold.
            one_call_makes_one_http_request
            /// An outcome has the name of its tool, if the vendor has a place for it.
            /// A provider that pairs by name takes one tool's result for another's, or refuses it.
            outcomes_name_their_tools
            /// A provider that has too much to do may be asked again.
            /// A turn ends for an overload of a few seconds.
            overload_is_retryable
            /// A rate limit comes with the delay that the server asks for, and without one where it asks for none.
            /// Retries come too early, and prolong the limit.
            rate_limit_reports_the_servers_delay
            /// A credential of the sink is sent in place of the adapter's own key; or the request is refused before it is sent.
            /// What one person asks is paid for by another, or by the operator.
            own_keys_replace_the_adapters_or_are_refused
            /// What the provider wants back of its reasoning goes back, whole, unchanged and in order.
            /// The provider refuses the next request, or the model thinks everything anew.
            reasoning_goes_back_as_it_came
            /// Replies that were recorded say the same however they are cut.
            /// What a real server has sent cannot be read, though all that was written by hand can.
            recorded_replies_say_what_they_said
            /// The model's words for why it will not are a refusal, and no answer.
            /// A refusal is taken for an answer, and shown or parsed as one.
            refusals_are_told_as_refusals
            /// A request that the provider refuses is not to be sent again as it is.
            /// A request that cannot succeed is sent again and again, while its user waits.
            refused_requests_are_never_retryable
            /// The key is in no `Debug`, error, span, event or URL, even where the server repeats it.
            /// A key gets into logs and bug reports, where strangers find it.
            secrets_never_reach_debug_or_errors
            /// A server that fails, or a gateway before it, may be asked again.
            /// A turn ends for a failure of a gateway that is over in a second.
            server_errors_are_retryable
            /// Each setting is sent with its own value, alone and together with others, and none that was not set; or it is noted or refused.
            /// Answers are cut, random or expensive, although the configuration is right.
            settings_are_sent_with_their_values
            /// A stream may take its time between any two pieces, and what has come is pushed at once.
            /// Users see nothing until the answer is whole, or lose it because a model thinks for long.
            slow_stream_is_not_an_error
            /// A call has a span with `gen_ai.provider.name`, `gen_ai.request.model` and `gen_ai.operation.name`.
            /// Operators cannot tell which provider is slow or failing.
            spans_carry_provider_and_model
            /// Arguments that come in pieces are put together.
            /// A tool gets half of its arguments.
            split_arguments_are_joined
            /// State of another dialect, server or model is not sent, and a note says so.
            /// Signed reasoning of one vendor reaches another, which refuses the conversation.
            state_of_another_owner_is_withheld_and_noted
            /// State that came with a text or a call goes back with it, unchanged, and with no other.
            /// A provider that signs calls refuses every conversation with tools from the second round on.
            state_of_texts_and_calls_goes_back_as_it_came
            /// What would be noted is refused instead where the request is strict about it: before it is sent, and with the place.
            /// A user who asked for all or nothing gets an answer to a part.
            strict_requests_are_refused_where_others_are_noted
            /// Words that come after a call are part of the reply.
            /// A part of the answer disappears whenever the model also calls a tool.
            text_after_calls_is_kept
            /// The words of the reply come whole and in order.
            /// The answer is garbled or has gaps.
            text_arrives_in_order
            /// Which tools may or must be called is sent as it is; or it is noted or refused, unless the adapter declares it.
            /// A tool runs that was forbidden for this request, or the required one does not.
            the_choice_of_tools_is_sent_or_noted
            /// The system prompt has a place of its own, with all of its parts in order, and is not in the conversation.
            /// A user's words outweigh the operator's rules, because both have the same author.
            the_system_prompt_is_sent_as_such
            /// Calls keep the provider's ids, the tools' names and their order.
            /// The provider does not find its calls again, and refuses the results.
            tool_calls_keep_upstream_ids_names_and_order
            /// Each tool has its name, its description and its schema; only what some vendor lacks may be noted or refused instead.
            /// The model calls tools with wrong arguments, because it never saw what they take.
            tools_are_sent_whole
            /// Arguments that the token limit cut off are kept as they came, and the reply ends with `Length`.
            /// A tool acts on arguments of which the end is missing, such as a path without its file.
            truncated_arguments_are_not_repaired
            /// What the model cannot be asked is refused before anything is sent, or noted.
            /// A picture or a forced call is dropped in silence, and the answer is about something else.
            undeclared_capability_is_refused
            /// Unknown events are ignored, wherever they stand.
            /// Every answer fails on the day on which the vendor adds an event.
            unknown_events_are_ignored
            /// Usage may come in an event of its own, in each event or not at all.
            /// Bills and budgets are wrong by a multiple, or know nothing of a server's tokens.
            usage_in_any_manner_is_counted_once
            /// The usage is the provider's last word on it, not a sum of its words.
            /// Budgets stop turns too early, because tokens count twice.
            usage_is_reported_once
            /// Cached input is part of all input, and reasoning is part of all output.
            /// Cached and hidden tokens count twice or never, and costs are wrong.
            usage_totals_hold_their_parts
        }
    };
}

/// Expands to one test per clause of the contract of `ChatModel`.
///
/// Takes a value that is a [`ChatModelHarness`], and
/// perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! chat_model_contract {
    ($harness:expr $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::chat_model_clauses! {
            $crate::clause_tests {
                [|clause: &str, except: &[(&str, &str)]| {
                $crate::contract::chat_model::check(&$harness, clause, except)
            }]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        fn perform<'a, H: ChatModelHarness>(
            harness: &'a H,
            clause: &str,
        ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
            match clause {
                $(stringify!($name) => Box::pin(clauses::$name(harness)),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

chat_model_clauses! { clause::clause_list {} }
chat_model_clauses! { dispatch {} }
