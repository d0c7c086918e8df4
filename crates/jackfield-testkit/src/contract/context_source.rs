//! The contract of [`ContextSource`]: one test per clause.
//!
//! The author of a source writes a [`ContextSourceHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::context_source_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that a source cannot satisfy is named with the reason:
//!
//! ```text
//! jackfield_testkit::context_source_contract!(AcmeHarness, except: {
//!     a_completion_begins_as_the_value => "acme completes nothing",
//! });
//! ```

use std::collections::BTreeSet;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_ports::context_source::{
    CompletionRequest, ContextChange, ContextChanges, ContextError, ContextErrorKind,
    ContextSource, PromptArguments,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::clause;

/// A source to test.
#[async_trait]
pub trait ContextSourceHarness: Send + Sync + Sized + 'static {
    /// A source with at least one resource and one prompt with a required argument.
    async fn fresh() -> Self;

    /// The source.
    fn source(&self) -> Arc<dyn ContextSource>;

    /// The name of a prompt with a required argument, and the values of its arguments.
    fn prompt(&self) -> (&'static str, PromptArguments);

    /// A request that has values.
    fn completion(&self) -> CompletionRequest;

    /// Changes the first listed resource, so that the source announces it.
    async fn change(&self);
}

/// Checks one clause; this is what the tests of [`context_source_contract!`](crate::context_source_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause.
pub fn check<H: ContextSourceHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, VITAL, clause, exceptions, perform, String::new);
}

/// The clauses that have no exceptions: without them a model takes a part of a file for all of it.
pub const VITAL: &[&str] = &["a_resource_is_whole_or_refused"];

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! context_source_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// A completion has values that begin as the given one.
            /// A person who presses Tab gets what does not continue the word.
            a_completion_begins_as_the_value
            /// Dropping a request loses nothing: the next one is answered.
            /// After a key is pressed during a completion, the server is lost.
            a_dropped_request_loses_nothing
            /// A prompt without its required argument is refused as invalid arguments.
            /// A model gets a question with a gap in it.
            a_prompt_needs_its_required_arguments
            /// A resource above the limit is refused as too large.
            /// A model takes a part of a file for all of it.
            a_resource_is_whole_or_refused
            /// A watch begins before it reports a change, and reports the change of its resource.
            /// A page shows what a file was an hour ago.
            a_watch_reports_changes
            /// An unknown resource is refused as not found, and is not empty.
            /// A model answers about a file that does not exist.
            an_unknown_resource_is_not_found
            /// Each URI and each name occurs once.
            /// A client that keeps a table of them drops the whole list.
            each_item_occurs_once
            /// A listed resource can be read, and read again with the same contents.
            /// A person picks a resource from the list, and gets an error.
            listed_resources_can_be_read
        }
    };
}

/// Expands to one test per clause of the contract of `ContextSource`.
///
/// Takes a type that is a [`ContextSourceHarness`], and perhaps `except: { clause => "reason" }`.
#[macro_export]
macro_rules! context_source_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::context_source_clauses! {
            $crate::clause_tests {
                [$crate::contract::context_source::check::<$harness>]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
        fn perform<H: ContextSourceHarness>(clause: &str) -> Pin<Box<dyn Future<Output = ()>>> {
            match clause {
                $(stringify!($name) => Box::pin($name::<H>()),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

context_source_clauses! { clause::clause_list {} }
context_source_clauses! { dispatch {} }

async fn a_completion_begins_as_the_value<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let request = harness.completion();
    let found = ok(harness.source().complete(&request).await);
    assert!(!found.values.is_empty(), "{request:?} has no values");
    for value in &found.values {
        assert!(
            value.starts_with(&request.value),
            "{value:?} does not begin as {request:?}"
        );
    }
}

async fn a_dropped_request_loses_nothing<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    {
        let request = pin!(source.resources());
        let mut context = Context::from_waker(Waker::noop());
        let _polled_once = request.poll(&mut context);
    }
    let listed = ok(source.resources().await);
    assert!(
        !listed.resources.is_empty(),
        "no resources after a request was dropped"
    );
}

async fn a_prompt_needs_its_required_arguments<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let (source, (name, arguments)) = (harness.source(), harness.prompt());
    let made = ok(source.prompt(name, &arguments, MUCH, &mut ()).await);
    assert!(!made.messages.is_empty(), "`{name}` has no messages");
    assert_eq!(
        made.messages.len(),
        made.original.len(),
        "the messages as they were sent"
    );
    let refused = source
        .prompt(name, &PromptArguments::new(), MUCH, &mut ())
        .await;
    assert_eq!(kind(refused), Some(ContextErrorKind::InvalidArguments));
}

async fn a_resource_is_whole_or_refused<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    for resource in ok(source.resources().await).resources {
        let whole = ok(source.read(&resource.uri, MUCH, &mut ()).await);
        assert!(!whole.parts.is_empty(), "`{}` is empty", resource.uri);
        let refused = source.read(&resource.uri, 1, &mut ()).await;
        assert_eq!(
            kind(refused),
            Some(ContextErrorKind::TooLarge),
            "`{}`",
            resource.uri
        );
    }
}

async fn a_watch_reports_changes<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    let listed = ok(source.resources().await).resources;
    let uri = match listed.as_slice() {
        [first, ..] => &first.uri,
        [] => panic!("the harness has no resources"),
    };
    let (sender, mut changes) = mpsc::unbounded_channel();
    let (uris, mut sink) = ([Arc::clone(uri)], ChangeSender(sender));
    let watching = source.watch(&uris, &mut sink);
    let following = async {
        assert_eq!(changes.recv().await, Some(ContextChange::Watching));
        harness.change().await;
        loop {
            match changes.recv().await {
                Some(ContextChange::Resource(changed)) => return assert_eq!(changed, *uri),
                Some(_) => {}
                None => panic!("the watch reports nothing any more"),
            }
        }
    };
    let watched = async {
        tokio::select! {
            ended = watching => panic!("the watch ended: {ended}"),
            () = following => {}
        }
    };
    let watched = timeout(TIME_LIMIT, watched).await;
    assert!(watched.is_ok(), "the change of `{uri}` was not reported");
}

/// Passes changes on to the clause.
struct ChangeSender(mpsc::UnboundedSender<ContextChange>);

#[async_trait]
impl ContextChanges for ChangeSender {
    async fn changed(&mut self, change: ContextChange) {
        let _ended = self.0.send(change);
    }
}

async fn an_unknown_resource_is_not_found<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let read = harness
        .source()
        .read("unknown://there/is/none", MUCH, &mut ())
        .await;
    assert_eq!(kind(read), Some(ContextErrorKind::NotFound));
}

async fn each_item_occurs_once<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    let listed = ok(source.resources().await);
    let uris = listed.resources.iter().map(|one| &one.uri);
    assert_eq!(
        uris.collect::<BTreeSet<_>>().len(),
        listed.resources.len(),
        "a URI occurs twice"
    );
    let templates = listed.templates.iter().map(|one| &one.uri_template);
    assert_eq!(
        templates.collect::<BTreeSet<_>>().len(),
        listed.templates.len(),
        "a template occurs twice"
    );
    let prompts = ok(source.prompts().await);
    let names = prompts.iter().map(|one| &one.name);
    assert_eq!(
        names.collect::<BTreeSet<_>>().len(),
        prompts.len(),
        "a prompt occurs twice"
    );
}

async fn listed_resources_can_be_read<H: ContextSourceHarness>() {
    let harness = H::fresh().await;
    let source = harness.source();
    let listed = ok(source.resources().await).resources;
    assert!(!listed.is_empty(), "the harness has no resources");
    for resource in listed {
        let first = ok(source.read(&resource.uri, MUCH, &mut ()).await);
        let again = ok(source.read(&resource.uri, MUCH, &mut ()).await);
        assert_eq!(first, again, "`{}`, read again", resource.uri);
    }
}

#[track_caller]
fn ok<T>(answered: Result<T, ContextError>) -> T {
    answered.unwrap_or_else(|error| panic!("{:?}: {error}", error.kind))
}

fn kind<T>(answered: Result<T, ContextError>) -> Option<ContextErrorKind> {
    answered.err().map(|error| error.kind)
}

/// How long a change may take to be reported.
const TIME_LIMIT: Duration = Duration::from_secs(20);
/// A limit that no test reaches.
const MUCH: usize = 1 << 20;
