//! The contract of [`ChatModel`](jackfield_ports::chat_model::ChatModel): one test per clause, over a local socket.
//!
//! The author of an adapter writes a [`ChatModelHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::chat_model_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that an adapter cannot keep is named with
//! the reason; as soon as it is kept after all, that test fails, so that no exception outlives its
//! reason:
//!
//! ```text
//! jackfield_testkit::chat_model_contract!(AcmeHarness, except: {
//!     usage_is_reported_once => "acme does not count",
//! });
//! ```

mod bench;
mod clauses;
mod echo;
mod harness;
mod manner;
mod script;
mod spans;

pub use self::echo::{Echo, EchoedCall, EchoedOutcome, EchoedReasoning};
pub use self::harness::ChatModelHarness;
pub use self::manner::Manner;
pub use self::script::{
    BlockKind, Recording, ScriptedBlock, ScriptedFailure, ScriptedFailureKind, ScriptedReply,
    WireReply,
};

use std::pin::Pin;

use super::clause::{self, Clause};

/// Checks one clause; this is what the tests of [`chat_model_contract!`](crate::chat_model_contract) call.
///
/// `exceptions` are names of clauses, each with the reason why it is not kept.
///
/// # Panics
///
/// If the clause is not kept and no exception names it, or if it is kept although one does; also if
/// there is no such clause.
pub fn check<H: ChatModelHarness>(harness: &H, clause: &str, exceptions: &[(&str, &str)]) {
    clause::check(CLAUSES, clause, exceptions, || perform(harness, clause));
}

/// The list of the clauses, which exists once: hands them to a macro, after what that macro wants besides.
#[doc(hidden)]
#[macro_export]
macro_rules! chat_model_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// However the bytes of an answer are cut, the reply is the same.
            any_chunking_gives_the_same_reply
            /// A missing or wrong key, or one without the right to this, is told as such, and never to be tried again.
            auth_failure_is_never_retryable
            /// An event that is not in the provider's language is a `ProtocolViolation`, not left out.
            broken_events_are_a_protocol_violation
            /// A connection that breaks in the middle is `Interrupted`; the phase tells whether anything was pushed.
            broken_stream_is_interrupted_mid_reply
            /// A connection that does not come about is `Transport`, and proved not to have been sent.
            connect_failure_is_before_send
            /// Dropping the call closes the connection, before the answer as well as within it.
            dropping_the_call_closes_the_connection
            /// A call without arguments is a call with the arguments `{}`.
            empty_arguments_are_an_empty_object
            /// A stream that ends without its ending is `Interrupted`, however orderly the connection was closed.
            ending_without_finish_is_an_error
            /// Every reason to end is told as the dialect's documentation says; one that nobody knows is kept as text.
            finish_reasons_map_as_documented
            /// A web page in the place of an answer is told as such, with the setting that is likely wrong.
            html_instead_of_json_is_a_clear_failure
            /// Arguments that are not JSON come as the text that the model wrote.
            malformed_arguments_are_kept_as_text
            /// A failure that is told inside of a stream is classified like one that is told by a status.
            mid_stream_error_event_is_classified
            /// One call makes one HTTP request, whatever comes of it.
            one_call_makes_one_http_request
            /// A provider that has too much to do may be asked again.
            overload_is_retryable
            /// A rate limit comes with the delay that the server asks for, and without one where it asks for none.
            rate_limit_reports_the_servers_delay
            /// A request that the provider refuses is not to be sent again as it is.
            refused_requests_are_never_retryable
            /// The key is in no `Debug`, error, span, event or URL, even where the server repeats it.
            secrets_never_reach_debug_or_errors
            /// A server that fails, or a gateway before it, may be asked again.
            server_errors_are_retryable
            /// A stream may take its time between any two pieces, and what has come is pushed at once.
            slow_stream_is_not_an_error
            /// A call has a span with `gen_ai.provider.name`, `gen_ai.request.model` and `gen_ai.operation.name`.
            spans_carry_provider_and_model
            /// Arguments that come in pieces are put together.
            split_arguments_are_joined
            /// The words of the reply come whole and in order.
            text_arrives_in_order
            /// Calls keep the provider's ids, the tools' names and their order.
            tool_calls_keep_upstream_ids_names_and_order
            /// What the model cannot be asked is refused before anything is sent, or noted.
            undeclared_capability_is_refused
            /// Events that nobody knows are left out, wherever they stand.
            unknown_events_are_ignored
            /// The usage is the provider's last word on it, not a sum of its words.
            usage_is_reported_once
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
            $crate::chat_model_tests { [$harness] [$($((stringify!($clause), $reason)),+)?] }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! chat_model_tests {
    ({ [$harness:expr] $except:tt } $($(#[doc = $text:literal])+ $name:ident)+) => {
        $(
            #[test]
            fn $name() {
                $crate::contract::chat_model::check(&$harness, stringify!($name), &$except);
            }
        )+
    };
}

macro_rules! dispatch {
    ({} $($(#[doc = $text:literal])+ $name:ident)+) => {
        /// The clauses of the contract, by name.
        pub const CLAUSES: &[Clause] = &[
            $(Clause { name: stringify!($name), text: concat!($($text),+).trim_ascii() }),+
        ];

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

chat_model_clauses! { dispatch {} }
