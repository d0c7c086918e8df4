//! The contract of `ToolboxSource`: two sources keep it, and each clause catches a mistake.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use jackfield_domain::ids::ToolboxId;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::{
    FixedToolboxes, RegisteredToolbox, ToolboxProblem, ToolboxSet, ToolboxSource, ToolboxStatus,
};
use jackfield_testkit::contract::toolbox_source::{CLAUSES, ToolboxSourceHarness, VITAL, check};
use jackfield_testkit::fakes::ScriptedToolbox;

use crate::mutants::{Mutant, check_clauses, check_mutants};

thread_local! {
    /// The mistake of the sources that are made on this thread.
    static MISTAKE: Cell<Mistake> = const { Cell::new(Mistake::None) };
}

/// A mistake of a source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mistake {
    None,
    /// The set of the principal before is returned.
    AnswersTheOneBefore,
    /// A toolbox is taken out of the store, and put back when the request ends.
    LosesWhatIsDropped,
    /// Toolboxes are made anew for each request.
    MakesThemAnew,
    /// An unavailable toolbox is left out without a word.
    OmitsTheBroken,
    /// A turn without a client gets everything.
    OpensAllToNobody,
    /// Ids are numbered in the order in which they were first asked for.
    NumbersIds,
    /// A shared toolbox is returned once more if it is also the principal's own.
    RepeatsTheShared,
    /// One unavailable toolbox makes the request fail.
    StopsAtTheBroken,
}

/// The harness of a source with people.
struct PeopleHarness(Arc<PeopleSource>);

/// A source with a shared toolbox, and one of Ann's and one of Ben's own.
struct PeopleSource {
    broken: Mutex<Option<&'static str>>,
    last: Mutex<Option<ToolboxSet>>,
    mistake: Mistake,
    toolboxes: Mutex<HashMap<&'static str, Arc<dyn Toolbox>>>,
}

impl PeopleSource {
    fn new() -> Self {
        Self {
            broken: Mutex::default(),
            last: Mutex::default(),
            mistake: MISTAKE.get(),
            toolboxes: Mutex::new([SHARED, ANNS, BENS].map(|id| (id, toolbox(id))).into()),
        }
    }

    fn registered(&self, id: &'static str) -> Option<RegisteredToolbox> {
        let mut toolboxes = self
            .toolboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let toolbox = if self.mistake == Mistake::MakesThemAnew {
            toolbox(id)
        } else if self.mistake == Mistake::NumbersIds {
            let nth = NUMBERS.fetch_add(1, Ordering::Relaxed);
            toolbox(&format!("{id}{nth}"))
        } else if self.mistake == Mistake::LosesWhatIsDropped {
            toolboxes.remove(id)?
        } else {
            Arc::clone(toolboxes.get(id)?)
        };
        let status = ToolboxStatus::default();
        Some(RegisteredToolbox { status, toolbox })
    }
}

#[async_trait]
impl ToolboxSource for PeopleSource {
    async fn toolboxes(&self, principal: Option<&str>) -> ToolboxSet {
        let broken = *self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = vec![SHARED];
        match principal {
            Some("ann") => own.push(ANNS),
            Some("ben") => own.push(BENS),
            None if self.mistake == Mistake::OpensAllToNobody => own.extend([ANNS, BENS]),
            _ => {}
        }
        if self.mistake == Mistake::RepeatsTheShared && principal == Some("ann") {
            own.push(SHARED);
        }
        let mut set = ToolboxSet::default();
        for id in own {
            if broken != Some(id) {
                set.toolboxes.extend(self.registered(id));
                continue;
            }
            if self.mistake == Mistake::StopsAtTheBroken {
                set.toolboxes.clear();
            }
            if self.mistake != Mistake::OmitsTheBroken {
                set.problems.push(problem(id));
            }
        }
        if self.mistake == Mistake::LosesWhatIsDropped {
            tokio::task::yield_now().await;
            let mut toolboxes = self
                .toolboxes
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for registered in &set.toolboxes {
                let toolbox = Arc::clone(&registered.toolbox);
                let ids = [SHARED, ANNS, BENS].into_iter();
                let id = ids.filter(|id| *id == toolbox.id().as_str());
                toolboxes.extend(id.map(|id| (id, Arc::clone(&toolbox))));
            }
        }
        if self.mistake == Mistake::AnswersTheOneBefore {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            return last.replace(set.clone()).unwrap_or(set);
        }
        set
    }
}

#[async_trait]
impl ToolboxSourceHarness for PeopleHarness {
    async fn fresh() -> Self {
        Self(Arc::new(PeopleSource::new()))
    }

    fn source(&self) -> Arc<dyn ToolboxSource> {
        Arc::clone(&self.0) as Arc<dyn ToolboxSource>
    }

    async fn restarted(&self) -> Arc<dyn ToolboxSource> {
        Arc::new(PeopleSource::new())
    }

    fn principals(&self) -> Vec<(Option<&'static str>, Vec<&'static str>)> {
        vec![
            (Some("ann"), vec![SHARED, ANNS]),
            (None, vec![SHARED]),
            (Some("ben"), vec![SHARED, BENS]),
            (Some("zoe"), vec![SHARED]),
        ]
    }

    async fn break_one(&self, principal: Option<&str>) -> Option<&'static str> {
        let id = (principal == Some("ann")).then_some(ANNS)?;
        *self.0.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
        Some(id)
    }
}

/// The same toolboxes for all.
struct FixedHarness(FixedToolboxes);

#[async_trait]
impl ToolboxSourceHarness for FixedHarness {
    async fn fresh() -> Self {
        let toolboxes = [SHARED, ANNS].map(|id| RegisteredToolbox {
            status: ToolboxStatus::default(),
            toolbox: toolbox(id),
        });
        Self(FixedToolboxes::new(toolboxes.into()))
    }

    fn source(&self) -> Arc<dyn ToolboxSource> {
        Arc::new(self.0.clone())
    }

    async fn restarted(&self) -> Arc<dyn ToolboxSource> {
        Self::fresh().await.source()
    }

    fn principals(&self) -> Vec<(Option<&'static str>, Vec<&'static str>)> {
        vec![
            (None, vec![SHARED, ANNS]),
            (Some("zoe"), vec![SHARED, ANNS]),
        ]
    }
}

/// A source without a mistake keeps every clause.
mod without_a_mistake_keeps_every_clause {
    use super::PeopleHarness;

    jackfield_testkit::toolbox_source_contract!(PeopleHarness);

    mod fixed {
        use super::super::FixedHarness;

        jackfield_testkit::toolbox_source_contract!(FixedHarness, except: {
            an_unavailable_toolbox_leaves_the_others => "a fixed toolbox is there as long as the engine",
        });
    }
}

#[test]
fn every_clause_catches_its_mutant() {
    let mutants = MISTAKES.iter().map(|(mistake, clause)| Mutant {
        caught: fails(*mistake, clause, &[]),
        clause,
        name: format!("{mistake:?}"),
    });
    check_mutants("ToolboxSource", CLAUSES, &mutants.collect::<Vec<_>>());
}

#[test]
fn a_vital_clause_has_no_exception() {
    for clause in VITAL {
        assert!(CLAUSES.iter().any(|known| known.name == *clause));
        let exceptions = [(*clause, "it never worked")];
        assert!(fails(Mistake::OpensAllToNobody, clause, &exceptions));
    }
}

#[test]
fn every_clause_says_what_it_demands() {
    check_clauses("ToolboxSource", CLAUSES);
}

fn fails(mistake: Mistake, clause: &str, exceptions: &[(&str, &str)]) -> bool {
    MISTAKE.set(mistake);
    let run = || check::<PeopleHarness>(clause, exceptions);
    catch_unwind(AssertUnwindSafe(run)).is_err()
}

fn toolbox(id: &str) -> Arc<dyn Toolbox> {
    let id = ToolboxId::parse(id).unwrap_or_else(|error| panic!("{error}"));
    ScriptedToolbox::new(id).port()
}

fn problem(id: &str) -> ToolboxProblem {
    ToolboxProblem {
        message: "its server is down".to_owned(),
        toolbox: ToolboxId::parse(id).unwrap_or_else(|error| panic!("{error}")),
    }
}

static NUMBERS: AtomicUsize = AtomicUsize::new(0);

const SHARED: &str = "shared";
const ANNS: &str = "anns-notes";
const BENS: &str = "bens-notes";

/// Each mistake, and the clause that is there for it.
const MISTAKES: &[(Mistake, &str)] = &[
    (
        Mistake::AnswersTheOneBefore,
        "each_principal_gets_its_own_toolboxes",
    ),
    (
        Mistake::LosesWhatIsDropped,
        "a_dropped_request_loses_nothing",
    ),
    (
        Mistake::MakesThemAnew,
        "a_toolbox_is_the_same_instance_again",
    ),
    (
        Mistake::OmitsTheBroken,
        "an_unavailable_toolbox_leaves_the_others",
    ),
    (
        Mistake::OpensAllToNobody,
        "each_principal_gets_its_own_toolboxes",
    ),
    (Mistake::NumbersIds, "the_ids_are_the_same_after_a_restart"),
    (Mistake::RepeatsTheShared, "each_id_occurs_once"),
    (
        Mistake::StopsAtTheBroken,
        "an_unavailable_toolbox_leaves_the_others",
    ),
];
