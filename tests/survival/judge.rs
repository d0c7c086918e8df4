//! The judge: what was promised, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use serde_json::{Value, json};

use crate::client::Heard;
use crate::deaths::{Life, When, live};
use crate::kept::Kept;
use crate::world::World;

/// What must be zero. Each with words for whoever has to find out why.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) acted_asleep: Vec<String>,
    pub(crate) begun_twice: Vec<String>,
    pub(crate) facts_lost: Vec<String>,
    pub(crate) finished_run_again: Vec<String>,
    pub(crate) invalid: Vec<String>,
    pub(crate) not_answered: Vec<String>,
    pub(crate) not_done: Vec<String>,
    pub(crate) run_twice: Vec<String>,
    pub(crate) turns_lost: Vec<String>,
}

impl Verdict {
    /// What was promised, and how often it was broken.
    pub(crate) fn counts(&self) -> [(&'static str, &Vec<String>); 9] {
        [
            ("turns lost", &self.turns_lost),
            ("facts lost", &self.facts_lost),
            ("finished calls run again", &self.finished_run_again),
            ("non-idempotent calls run twice", &self.run_twice),
            ("finished calls that did nothing", &self.not_done),
            ("requests that began a second turn", &self.begun_twice),
            ("answers owed and not given", &self.not_answered),
            ("transcripts invalid for a provider", &self.invalid),
            ("acts after a lease had passed", &self.acted_asleep),
        ]
    }
}

impl AddAssign for Verdict {
    fn add_assign(&mut self, other: Self) {
        self.acted_asleep.extend(other.acted_asleep);
        self.begun_twice.extend(other.begun_twice);
        self.facts_lost.extend(other.facts_lost);
        self.finished_run_again.extend(other.finished_run_again);
        self.invalid.extend(other.invalid);
        self.not_answered.extend(other.not_answered);
        self.not_done.extend(other.not_done);
        self.run_twice.extend(other.run_twice);
        self.turns_lost.extend(other.turns_lost);
    }
}

/// A death, and where the turn was.
#[derive(Clone, Debug)]
pub(crate) struct Death {
    pub(crate) state: String,
    pub(crate) when: When,
}

/// What came of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survived {
    pub(crate) deaths: Vec<Death>,
    pub(crate) verdict: Verdict,
}

impl Survived {
    /// Every promise was kept.
    pub(crate) fn held(&self) {
        for (promise, broken) in self.verdict.counts() {
            assert!(broken.is_empty(), "{promise}:\n{}", broken.join("\n"));
        }
    }
}

/// Looks at one world, after each life and at the end.
pub(crate) struct Judge<'w> {
    accepted: bool,
    /// Whether it looks at all sessions, of which there is to be one.
    all: bool,
    finished: BTreeSet<String>,
    label: String,
    lives: Vec<String>,
    seen: usize,
    survived: Survived,
    /// What was told in this life by other means.
    told: Vec<Value>,
    world: &'w World,
}

impl<'w> Judge<'w> {
    pub(crate) fn new(world: &'w World, label: impl Into<String>) -> Self {
        Self {
            accepted: false,
            all: false,
            finished: BTreeSet::new(),
            label: label.into(),
            lives: Vec::new(),
            seen: 0,
            survived: Survived::default(),
            told: Vec::new(),
            world,
        }
    }

    /// One that looks at all sessions of the world.
    pub(crate) fn of_all(world: &'w World, label: impl Into<String>) -> Self {
        Self {
            all: true,
            ..Self::new(world, label)
        }
    }

    /// Looks at an answer, as far as it came, and at what had come of it before.
    pub(crate) fn heard(&mut self, heard: &Heard, before: Option<&Heard>) {
        let mut told = Vec::new();
        if let Some(id) = &heard.id {
            // The id of a reply is that of its turn, between what the dialect and the segment add.
            let turn = id.find("turn_").map(|at| &id[at..]);
            let turn = turn.and_then(|turn| turn.rsplit_once('_'));
            told.push(json!({ "event": "turn_started", "turn": turn.map(|(turn, _)| turn) }));
        }
        let outcomes = heard
            .shown
            .iter()
            .filter_map(|id| Some(&id[id.find("call_")?..]));
        told.extend(outcomes.map(|id| json!({ "event": "tool_finished", "id": id })));
        if heard.whole && heard.calls.is_empty() {
            told.push(json!({ "event": "turn_ended" }));
        }
        self.told.extend(told);
        if let Some(refused) = &heard.refused {
            self.unanswered(&format!("it was answered {refused}"));
        }
        if let Some(before) = before
            && let (Some(was), Some(is)) = (&before.id, &heard.id)
        {
            if was != is {
                let twice = self.word(&format!("{was} is {is} when it is sent again"));
                self.survived.verdict.begun_twice.push(twice);
            }
            if heard.whole && !heard.text.starts_with(&before.text) {
                let (was, is) = (&before.text, &heard.text);
                self.unanswered(&format!(
                    "{was:?} was told, and {is:?} when it was sent again"
                ));
            }
        }
    }

    /// Something was done under a lease that had passed.
    pub(crate) fn acted_asleep(&mut self, what: &str) {
        let word = self.word(what);
        self.survived.verdict.acted_asleep.push(word);
    }

    /// An answer that was owed was not given.
    pub(crate) fn unanswered(&mut self, what: &str) {
        let word = self.word(what);
        self.survived.verdict.not_answered.push(word);
    }

    async fn kept(&self) -> Kept {
        if self.all {
            Kept::read_all(self.world).await
        } else {
            Kept::read(self.world).await
        }
    }

    /// Lets the program begin the turn.
    pub(crate) async fn asks(&mut self, when: When) -> (Life, Kept) {
        let program = self.world.ask(when.crash().as_deref());
        self.lives(live(program, when).await, when).await
    }

    /// Lets the program go on with the turn.
    pub(crate) async fn resumes(&mut self, when: When) -> (Life, Kept) {
        let program = self.world.resume(when.crash().as_deref());
        self.lives(live(program, when).await, when).await
    }

    /// Looks at a life that is over.
    pub(crate) async fn lives(&mut self, mut life: Life, when: When) -> (Life, Kept) {
        life.told.append(&mut self.told);
        // Read first: what the tools do from now on is not yet finished in it, as others may be at work.
        let kept = self.kept().await;
        for effect in self.world.effects().into_iter().skip(self.seen) {
            self.seen += 1;
            let key = effect["key"].as_str().unwrap_or_default();
            if self.finished.contains(key) {
                let again = self.word(&format!("{effect} after its outcome was recorded"));
                self.survived.verdict.finished_run_again.push(again);
            }
        }
        for told in life.told.iter().filter(|told| !kept.holds(told)) {
            let lost = self.word(&format!("{told} was told, and is not in the journal"));
            self.survived.verdict.facts_lost.push(lost);
        }
        self.accepted |= life.told.iter().any(|told| told["event"] == "turn_started");
        self.finished = kept.finished();
        let state = kept.state();
        self.lives.push(format!(
            "{when:?} in {state}: {:?} {}",
            life.code, life.wrong
        ));
        if life.was_killed {
            self.survived.deaths.push(Death { state, when });
        }
        (life, kept)
    }

    /// Looks at a death of which nobody heard.
    pub(crate) async fn died(&mut self, when: When) {
        let kept = Kept::read(self.world).await;
        let state = kept.state();
        self.accepted |= kept.has_begun();
        self.finished = kept.finished();
        self.seen = self.world.effects().len();
        self.lives.push(format!("{when:?} in {state}"));
        self.survived.deaths.push(Death { state, when });
    }

    /// Goes on until the turn has ended, as far as it will.
    pub(crate) async fn until_it_ends(&mut self) {
        let mut kept = Kept::read(self.world).await;
        for _ in 0..MAX_RESUMES {
            if !kept.is_open() {
                break;
            }
            (_, kept) = self.resumes(When::Never).await;
        }
    }

    /// The verdict, when everything is over.
    pub(crate) async fn verdict(mut self) -> Survived {
        let kept = self.kept().await;
        if self.all && kept.turns() > 1 {
            let twice = self.word(&format!("there are {} turns", kept.turns()));
            self.survived.verdict.begun_twice.push(twice);
        }
        if self.accepted && kept.end().is_none() {
            let lost = self.word(&format!("it stays in {}", kept.state()));
            self.survived.verdict.turns_lost.push(lost);
        }
        let effects = self.world.effects();
        let mut times: BTreeMap<String, u32> = BTreeMap::new();
        for effect in effects.iter().filter(|effect| effect["tool"] == "pay") {
            *times.entry(effect["arguments"].to_string()).or_default() += 1;
        }
        for (payment, times) in times.into_iter().filter(|(_, times)| *times > 1) {
            let twice = self.word(&format!("payment {payment} was made {times} times"));
            self.survived.verdict.run_twice.push(twice);
        }
        let done: BTreeSet<&str> = effects.iter().filter_map(key).collect();
        for call in self
            .finished
            .iter()
            .filter(|call| !done.contains(call.as_str()))
        {
            let nothing = self.word(&format!("{call} has an outcome and did nothing"));
            self.survived.verdict.not_done.push(nothing);
        }
        for broken in self.world.claude.violations() {
            let invalid = self.word(&broken);
            self.survived.verdict.invalid.push(invalid);
        }
        let mut broken = self.world.bank_violations();
        // A cancellation may cross the answer (MCP 2025-11-25, "Cancellation"), as where a gateway sleeps between them.
        broken.retain(|broken| !broken.ends_with("can be cancelled"));
        assert_eq!(broken, [""; 0], "{}", self.label);
        self.survived
    }

    fn word(&self, what: &str) -> String {
        format!("{}: {what}\n    {}", self.label, self.lives.join("\n    "))
    }
}

fn key(effect: &Value) -> Option<&str> {
    effect["key"].as_str()
}

/// More than the tries without progress after which a turn is left to a person.
const MAX_RESUMES: u32 = 5;
