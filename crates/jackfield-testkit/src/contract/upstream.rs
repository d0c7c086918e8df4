//! The contract of [`Upstream`](jackfield_ports::upstream::Upstream): one test per clause, over a local socket.
//!
//! The author of an adapter writes an [`UpstreamHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::upstream_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that an adapter cannot satisfy is named with the
//! reason; once it is satisfied after all, that test fails:
//!
//! ```text
//! jackfield_testkit::upstream_contract!(AcmeHarness, except: {
//!     pieces_come_as_they_arrive => "acme has no streams",
//! });
//! ```

mod bench;
mod failures;
mod harness;
mod headers;
mod replies;
mod requests;

pub use self::harness::{AddedHeader, AddedTo, UpstreamHarness};

use std::pin::Pin;

use super::clause;

/// Checks one clause; this is what the tests of [`upstream_contract!`](crate::upstream_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause.
pub fn check<H: UpstreamHarness>(harness: &H, clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform(harness, clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them the others prove nothing, or clients get at the key.
pub const VITAL: &[&str] = &[
    "requests_arrive_unchanged",
    "secrets_never_reach_debug_or_errors",
    "the_documented_endpoints_are_served",
];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! upstream_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// A body that breaks off at any byte is `Interrupted` after the bytes before, and never looks complete.
            /// Half a response looks whole to the client.
            a_body_that_breaks_off_is_an_error
            /// A body is the same bytes however it is framed and cut.
            /// Clients cannot read a response that the provider has sent correctly.
            a_body_is_the_same_bytes_however_it_is_cut
            /// A connection that breaks before the response is `Interrupted`, and may have been sent.
            /// A request is sent twice and paid for twice.
            a_connection_that_breaks_before_the_reply_may_have_been_sent
            /// After an error, a body has no piece and no end.
            /// A client that reads on takes the rest for the end of its response.
            an_error_of_a_body_is_final
            /// Dropping the wait for a piece loses nothing of the body.
            /// A response has a gap wherever the gateway did something else for a moment.
            an_abandoned_wait_loses_nothing
            /// A path that is not served, and the methods CONNECT and TRACE, are `Unsupported` before anything is sent.
            /// A client reaches parts of the provider's API that the operator has not opened.
            an_unserved_request_is_refused_before_it_is_sent
            /// A response is returned with any status; a redirect is not followed.
            /// The client does not see what the provider says about its own mistake.
            any_status_is_a_reply
            /// Chunks with a broken framing are `Interrupted`, and not an end.
            /// Half a response looks whole to the client.
            broken_framing_is_an_error
            /// Cookies and credentials of the client are not sent.
            /// A client's password reaches the provider.
            client_credentials_and_cookies_stay_behind
            /// A web page, a compressed body and bytes without a type come as they are.
            /// A client gets bytes that do not match their headers.
            compressed_and_foreign_bodies_stay_as_they_are
            /// A connection that does not come about is `Transport`, and proved not to have been sent.
            /// A request that was never sent counts as one that may have cost money.
            connect_failure_is_before_send
            /// The headers of the client's connection are not sent, nor those that it names.
            /// The connection to the provider breaks because of a header that was meant for ours.
            connection_headers_stay_behind
            /// Dropping the call or the body closes the connection.
            /// An answer without a reader goes on at the provider, and is paid for.
            dropping_the_call_closes_the_connection
            /// All other headers arrive with their values, those of one name in order, and none besides.
            /// A beta that the client asks for is never switched on.
            headers_arrive_but_for_the_named_ones
            /// One call makes one HTTP request, whatever comes of it.
            /// Hidden retries multiply cost and load.
            one_call_makes_one_http_request
            /// A credential of the request is sent in place of the adapter's own key; or the request is refused before it is sent.
            /// What one person asks is paid for by another, or by the operator.
            own_keys_replace_the_adapters_or_are_refused
            /// Each piece of a body is returned as soon as it arrives.
            /// Users see nothing until the answer is whole.
            pieces_come_as_they_arrive
            /// Headers of the response come with their values, without those of its connection, of its origin, and cookies.
            /// A client misses its rate limits, or gets cookies and rules that are not meant for it.
            reply_headers_come_but_for_those_of_the_connection
            /// Method, query and body arrive unchanged, at the resource of the endpoint.
            /// The provider answers something else than what the client asked.
            requests_arrive_unchanged
            /// Keys of the adapter and of the client are in no `Debug`, error, span, event or URL.
            /// A key gets into logs and bug reports, where strangers find it.
            secrets_never_reach_debug_or_errors
            /// The adapter's headers replace the client's, are added to its lists, or are added if it sent none.
            /// The provider refuses every request for want of a key or a version.
            the_adapters_headers_are_added
            /// The key comes back neither in headers nor in the body of an error, which keeps its length.
            /// A client reads the operator's key in a refusal.
            the_key_does_not_come_back
            /// The endpoints are those of the adapter's documentation, each once.
            /// A path that the documentation promises is refused.
            the_documented_endpoints_are_served
        }
    };
}

/// Expands to one test per clause of the contract of `Upstream`.
///
/// Takes a value that is an [`UpstreamHarness`], and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! upstream_contract {
    ($harness:expr $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::upstream_clauses! {
            $crate::clause_tests {
                [|clause: &str, except: &[(&str, &str)]| {
                $crate::contract::upstream::check(&$harness, clause, except)
            }]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        fn perform<'a, H: UpstreamHarness>(
            harness: &'a H,
            clause: &str,
        ) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
            match clause {
                $(stringify!($name) => Box::pin(all::$name(harness)),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

upstream_clauses! { clause::clause_list {} }
upstream_clauses! { dispatch {} }

/// The clauses, each as a function over a harness.
mod all {
    pub(super) use super::failures::*;
    pub(super) use super::headers::*;
    pub(super) use super::replies::*;
    pub(super) use super::requests::*;
}
