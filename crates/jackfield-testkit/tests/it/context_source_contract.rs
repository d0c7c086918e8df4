//! The contract of `ContextSource`: a source keeps it, and each clause catches a mistake.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use jackfield_domain::message::Role;
use jackfield_domain::outcome::OutcomePart;
use jackfield_ports::context_source::{
    Completion, CompletionRequest, CompletionSubject, ContextChange, ContextChanges, ContextError,
    ContextErrorKind, ContextSource, PromptArgument, PromptArguments, PromptMessages, PromptSpec,
    ResourceContents, ResourceList, ResourceSpec,
};
use jackfield_ports::question_handler::QuestionHandler;
use jackfield_testkit::contract::context_source::{CLAUSES, ContextSourceHarness, VITAL, check};
use serde_json::json;
use tokio::sync::Notify;

use crate::mutants::{Mutant, check_clauses, check_mutants};

thread_local! {
    /// The mistake of the sources that are made on this thread.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
}

/// A mistake of a source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mistake {
    None,
    /// Contents are cut to the limit.
    CutsContents,
    /// All values are completions.
    CompletesAnything,
    /// What is unknown is empty.
    EmptyIfUnknown,
    /// A request that was dropped keeps the place of the next one.
    HoldsAfterDrop,
    /// A resource is listed twice.
    ListsTwice,
    /// Resources can be read once.
    ReadsOnce,
    /// A missing argument is empty.
    TakesNoArguments,
    /// A change is reported to a watch as one of another resource.
    WatchesAnother,
}

/// One resource, and one prompt.
struct Shelf {
    changed: Notify,
    mistake: Mistake,
    open: AtomicUsize,
    reads: AtomicUsize,
}

#[async_trait]
impl ContextSource for Shelf {
    async fn resources(&self) -> Result<ResourceList, ContextError> {
        if self.mistake == Mistake::HoldsAfterDrop && self.open.fetch_add(1, Ordering::Relaxed) > 0
        {
            return Ok(ResourceList::default());
        }
        tokio::task::yield_now().await;
        self.open.store(0, Ordering::Relaxed);
        let resource = ResourceSpec {
            description: None,
            media_type: None,
            name: "a".into(),
            original: json!({ "uri": URI, "name": "a" }).into(),
            size: None,
            title: None,
            uri: URI.into(),
        };
        let times = if self.mistake == Mistake::ListsTwice {
            2
        } else {
            1
        };
        Ok(ResourceList {
            resources: vec![resource; times],
            ..ResourceList::default()
        })
    }

    async fn read(
        &self,
        uri: &str,
        max_bytes: usize,
        _questions: &mut dyn QuestionHandler,
    ) -> Result<ResourceContents, ContextError> {
        let mut text = "words";
        if uri != URI {
            if self.mistake != Mistake::EmptyIfUnknown {
                return Err(ContextError::new(
                    ContextErrorKind::NotFound,
                    "no such resource",
                ));
            }
            text = "";
        }
        if text.len() > max_bytes {
            if self.mistake != Mistake::CutsContents {
                return Err(ContextError::new(ContextErrorKind::TooLarge, "too long"));
            }
            text = &text[..max_bytes];
        }
        if self.mistake == Mistake::ReadsOnce && self.reads.fetch_add(1, Ordering::Relaxed) > 0 {
            text = "other words";
        }
        Ok(ResourceContents {
            original: vec![json!({ "uri": uri, "text": text })],
            parts: vec![OutcomePart::Text(text.into())],
        })
    }

    async fn prompts(&self) -> Result<Vec<PromptSpec>, ContextError> {
        let who = PromptArgument {
            description: None,
            name: "who".into(),
            required: true,
        };
        Ok(vec![PromptSpec {
            arguments: vec![who],
            description: None,
            name: "greet".into(),
            original: json!({ "name": "greet" }).into(),
            title: None,
        }])
    }

    async fn prompt(
        &self,
        _name: &str,
        arguments: &PromptArguments,
        _max_bytes: usize,
        _questions: &mut dyn QuestionHandler,
    ) -> Result<PromptMessages, ContextError> {
        let who = match arguments.get("who") {
            Some(who) => who.as_str(),
            None if self.mistake == Mistake::TakesNoArguments => "",
            None => {
                let kind = ContextErrorKind::InvalidArguments;
                return Err(ContextError::new(kind, "who is missing"));
            }
        };
        let text = format!("Greet {who}.");
        Ok(PromptMessages {
            description: None,
            original: vec![json!({ "role": "user", "content": { "type": "text", "text": text } })],
            messages: vec![(Role::User, vec![OutcomePart::Text(text.into())])],
        })
    }

    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ContextError> {
        let names = ["Ann", "Anton", "Ben"].into_iter();
        let fits = |name: &&str| {
            self.mistake == Mistake::CompletesAnything || name.starts_with(&request.value)
        };
        Ok(Completion {
            values: names.filter(fits).map(str::to_owned).collect(),
            ..Completion::default()
        })
    }

    async fn watch(&self, uris: &[Arc<str>], changes: &mut dyn ContextChanges) -> ContextError {
        changes.changed(ContextChange::Watching).await;
        loop {
            self.changed.notified().await;
            let other: Arc<str> = "note://b".into();
            let is_right = self.mistake != Mistake::WatchesAnother;
            let changed = uris.first().filter(|_| is_right).unwrap_or(&other);
            changes
                .changed(ContextChange::Resource(Arc::clone(changed)))
                .await;
        }
    }
}

/// The harness of a shelf.
struct ShelfHarness(Arc<Shelf>);

#[async_trait]
impl ContextSourceHarness for ShelfHarness {
    async fn fresh() -> Self {
        Self(Arc::new(Shelf {
            changed: Notify::new(),
            mistake: MISTAKE.get(),
            open: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
        }))
    }

    fn source(&self) -> Arc<dyn ContextSource> {
        Arc::clone(&self.0) as Arc<dyn ContextSource>
    }

    fn prompt(&self) -> (&'static str, PromptArguments) {
        let who = ("who".to_owned(), "Ann".to_owned());
        ("greet", [who].into())
    }

    fn completion(&self) -> CompletionRequest {
        CompletionRequest {
            argument: "who".to_owned(),
            known: PromptArguments::new(),
            subject: CompletionSubject::Prompt("greet".to_owned()),
            value: "An".to_owned(),
        }
    }

    async fn change(&self) {
        self.0.changed.notify_one();
    }
}

/// A source without a mistake keeps every clause.
mod without_a_mistake_keeps_every_clause {
    use super::ShelfHarness;

    jackfield_testkit::context_source_contract!(ShelfHarness);
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MISTAKES.iter().map(|(mistake, clause)| Mutant {
        caught: fails(*mistake, clause, &[]),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("ContextSource", CLAUSES, &mutants.collect::<Vec<_>>());
}

#[test]
fn a_vital_clause_has_no_exception() {
    for clause in VITAL {
        assert!(CLAUSES.iter().any(|known| known.name == *clause));
        let exceptions = [(*clause, "it never worked")];
        assert!(fails(Mistake::CutsContents, clause, &exceptions));
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("ContextSource", CLAUSES);
}

fn fails(mistake: Mistake, clause: &str, exceptions: &[(&str, &str)]) -> bool {
    MISTAKE.set(mistake);
    let run = || check::<ShelfHarness>(clause, exceptions);
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

const URI: &str = "note://a";

/// Each mistake, and the clause that is there for it.
const MISTAKES: &[(Mistake, &str)] = &[
    (
        Mistake::CompletesAnything,
        "a_completion_begins_as_the_value",
    ),
    (Mistake::CutsContents, "a_resource_is_whole_or_refused"),
    (Mistake::EmptyIfUnknown, "an_unknown_resource_is_not_found"),
    (Mistake::HoldsAfterDrop, "a_dropped_request_loses_nothing"),
    (Mistake::ListsTwice, "each_item_occurs_once"),
    (Mistake::ReadsOnce, "listed_resources_can_be_read"),
    (
        Mistake::TakesNoArguments,
        "a_prompt_needs_its_required_arguments",
    ),
    (Mistake::WatchesAnother, "a_watch_reports_changes"),
];
