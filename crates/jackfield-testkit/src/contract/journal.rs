//! The contract of [`Journal`]: one test per clause.
//!
//! The author of a store writes a [`JournalHarness`] and one line:
//!
//! ```text
//! jackfield_testkit::journal_contract!(AcmeHarness);
//! ```
//!
//! which becomes one test for each of [`CLAUSES`]. A clause that a store cannot satisfy is named with the reason;
//! once it is satisfied after all, that test fails:
//!
//! ```text
//! jackfield_testkit::journal_contract!(AcmeHarness, except: {
//!     a_restart_loses_nothing => "it is a cache",
//! });
//! ```

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use jackfield_domain::time::WallTime;
use jackfield_ports::journal::Journal;

use super::clause::{self, Clause};

mod appending;
mod closing;
mod delivering;
mod due;
mod ending;
mod finding;
mod following;
mod holding;
mod inbox;
mod large;
mod leasing;
mod listing;
mod loading;
mod owning;
mod scene;
mod spending;
mod story;
mod waits;

/// A journal to test, and its clock.
#[async_trait]
pub trait JournalHarness: Send + Sync + Sized + 'static {
    /// An empty journal, separate from all others, whose clock stands at [`START`].
    async fn fresh() -> Self;

    /// The journal.
    fn journal(&self) -> Arc<dyn Journal>;

    /// Sets the journal's clock, which does not advance by itself.
    fn set_clock(&self, now: WallTime);

    /// The same journal as opened by the next process. A journal in memory returns itself.
    async fn reopened(&self) -> Arc<dyn Journal> {
        self.journal()
    }

    /// The same journal as another process has it open meanwhile; `None` if no other process can, and leases never
    /// end.
    async fn another_process(&self) -> Option<Arc<dyn Journal>> {
        None
    }

    /// Lets the leases of [`journal`](Self::journal) pass, as if it had not been heard of for long. A journal whose
    /// leases never end does nothing.
    async fn pass_leases(&self) {}
}

/// The time of a fresh journal's clock.
pub const START: WallTime = WallTime::from_millis(1_800_000_000_000);

/// Checks one clause; this is what the tests of [`journal_contract!`](crate::journal_contract) call.
///
/// `exceptions` are the names of clauses, each with the reason why it is not satisfied.
///
/// # Panics
///
/// If the clause is not satisfied and no exception names it, or if it is satisfied although one does; also if there
/// is no such clause.
pub fn check<H: JournalHarness>(clause: &str, exceptions: &[(&str, &str)]) {
    let perform = || perform::<H>(clause);
    clause::check(CLAUSES, &[], clause, exceptions, perform, String::new);
}

/// The only list of the clauses: passes them to a macro, after the arguments for that macro.
#[doc(hidden)]
#[macro_export]
macro_rules! journal_clauses {
    ($callback:path { $($context:tt)* }) => {
        $callback! {
            { $($context)* }
            /// `own` gives a higher epoch than every one before it for that session.
            each_owner_has_a_higher_epoch
            /// The older epochs are stale from then on, whether or not they ever wrote anything.
            an_older_owner_can_append_no_more
            /// What a former owner wrote is its successor's to act upon: even the repetition is refused.
            a_stale_owner_is_refused_even_what_it_wrote
            /// The journal gives a session to another process only once the lease of its owner has passed: until then the request waits, or fails as `Owned`.
            nobody_else_owns_before_a_lease_has_passed
            /// Once another process owns the session, an owner whose lease has passed is refused as stale, even what it wrote.
            an_owner_whose_lease_has_passed_can_append_no_more
            /// `close` releases every session and keeps what was acknowledged; afterwards nothing is appended under its epochs.
            what_is_closed_owns_nothing_and_loses_nothing
            /// Sessions know nothing of each other: owners, steps, waits and deliveries are their own.
            sessions_are_apart
            /// An append whose position is not the journal's end is refused.
            an_append_begins_where_the_journal_ends
            /// The steps of an append are numbered on from its position.
            a_step_has_the_number_of_its_place
            /// An append is written whole or not at all.
            an_append_is_all_or_nothing
            /// An append that is repeated is committed, and not written twice.
            a_repeated_append_is_committed_once
            /// A repetition is recognised by its epoch, position and steps, also after later appends.
            a_repetition_is_recognised_after_later_appends
            /// What differs from what is written there is no repetition.
            another_step_at_a_written_place_is_refused
            /// Of appends to one place, at once and all different, one is committed.
            of_appends_at_once_one_is_committed
            /// An append that closes a wait with an answer that its owner has not seen is refused, for any other end.
            a_wait_with_an_unseen_answer_is_not_closed_otherwise
            /// An append that closes a wait by the answer in the inbox is committed, however much was seen.
            a_wait_is_closed_by_its_answer
            /// An owner that has seen the answer may close the wait in another way.
            a_wait_with_a_seen_answer_may_be_closed_otherwise
            /// A cancel, an answer to another wait, or an answer that was not accepted hinders no append.
            other_unseen_deliveries_hinder_nothing
            /// `load` gives back what was committed: equal, in order, every kind of fact.
            what_was_committed_is_loaded_equal_and_in_order
            /// A text of any size and content is loaded unchanged; repetitions are recognised by it.
            a_large_text_comes_back_whole
            /// A large text that several steps or sessions have stays as long as one of them is there.
            a_large_text_stays_as_long_as_a_session_has_it
            /// `load` gives back what was delivered: equal, in the order in which it came.
            what_was_delivered_is_loaded_equal_and_in_order
            /// A session that was owned and has no steps yet has none.
            a_session_without_steps_loads_empty
            /// A session that never had an owner does not exist: it is neither loaded nor delivered to.
            an_unknown_session_is_an_error
            /// Another process finds everything: steps, deliveries, waits, and the highest epoch.
            a_restart_loses_nothing
            /// `deliver` needs no ownership and takes none: the owner goes on as before.
            anybody_may_deliver
            /// A delivery with an id that was accepted is there already, whether or not its contents differ or its wait was closed.
            a_delivery_is_accepted_once
            /// A delivery has the time of the journal's clock.
            the_journal_sets_the_time_of_a_delivery
            /// A cancel is accepted as long as there is a session, in any state.
            a_cancel_is_always_accepted
            /// What was not accepted is neither in `load` nor in `inbox`, and its id is still free.
            what_is_not_accepted_is_not_kept
            /// An answer that comes at the deadline, by the journal's clock, is in time.
            an_answer_at_the_deadline_is_accepted
            /// An answer that comes after the deadline, by the journal's clock, gets the reply that the wait expired, even if the wait has not been closed yet.
            an_answer_after_the_deadline_is_told_that_it_is_late
            /// An answer that came in time wins over the expiry, even if it is consumed later.
            an_answer_before_the_deadline_wins_over_expiry
            /// Of several answers to a wait the first is accepted; the others get the name of its sender, whether or not it has been consumed.
            the_first_answer_wins
            /// Of several answers at once one is accepted.
            of_answers_at_once_one_is_accepted
            /// An answer to a closed wait gets how and when it ended, and the answer's sender if there was one.
            a_closed_wait_says_how_it_ended
            /// A closed wait keeps its end, and later facts do not change it.
            a_closed_wait_is_not_opened_or_closed_again
            /// An answer to a wait that was never opened gets the reply that there is none.
            an_answer_to_no_wait_is_told_so
            /// An answer of a kind that the wait does not take finds no such wait, and does not keep the right one out.
            an_answer_of_another_kind_finds_no_wait
            /// A delivery is in `load` and in `inbox` from the moment it was accepted.
            an_accepted_delivery_is_in_load_and_inbox
            /// `inbox` gives the deliveries from the place asked for, all of them and in order.
            the_inbox_begins_at_the_place_asked_for
            /// `inbox` answers as soon as there is at least one delivery from that place on, and not before.
            the_inbox_waits_until_there_is_something
            /// Several readers all get the same delivery.
            every_reader_of_the_inbox_is_told
            /// A reader that is dropped while it waits takes no delivery along.
            a_dropped_reader_of_the_inbox_takes_nothing_along
            /// `follow` gives the steps from the number asked for, all of them and in order.
            whoever_follows_gets_the_steps_from_the_number_asked_for
            /// `follow` answers as soon as there is at least one step from that number on, and not before.
            whoever_follows_waits_until_there_is_something
            /// Several followers of a session all get the same step.
            everybody_who_follows_is_told
            /// A follower of a session that is deleted gets the error that there is none.
            whoever_follows_hears_that_the_session_is_deleted
            /// `release` ends an ownership: its epoch is stale, and the session is listed without an owner.
            whoever_lets_go_can_append_no_more
            /// `release` under another epoch than the owner's changes nothing.
            nobody_lets_go_of_what_is_not_his
            /// `delete` leaves nothing of a session: neither in lists nor for a session of the same name.
            what_is_deleted_is_gone
            /// A session that a live process owns is not deleted, not even by that process.
            what_is_owned_is_not_deleted
            /// A session that is held is not deleted, not even by the process that holds it, and is listed as held.
            what_is_held_is_not_deleted
            /// A hold takes no ownership and makes no session: others own, append and deliver as without it.
            a_hold_hinders_nothing_but_deletion
            /// A hold ends when it is dropped, and a session is held as long as one of its holds is there.
            a_hold_ends_when_it_is_dropped
            /// No epoch of a session that was deleted comes again.
            no_epoch_comes_again_after_a_deletion
            /// `sessions` lists the session first to which something was appended or delivered last; of those changed at the same time the one with the greater id.
            sessions_are_listed_the_one_changed_last_first
            /// A list goes on after any row of it, without a gap and without a repetition; any one session is listed alone.
            a_list_goes_on_after_any_row
            /// A row says when a session was made and changed, how many steps and turns it has, and grows with everything that is kept.
            a_row_says_when_and_how_much
            /// A title is the beginning of the first message of the user, in one line of at most 80 characters.
            a_title_is_the_first_message_in_one_line
            /// A row says which turn is open, how many questions of it are, and whether there is nothing to do but wait, from the moment that the append is committed.
            a_row_says_where_the_open_turn_is
            /// An append that is refused or repeated changes no row.
            what_was_refused_changes_no_row
            /// Sessions are found by what users and models said, in every script, regardless of case and spacing.
            sessions_are_found_by_their_words
            /// `open_waits` lists the questions that are neither answered nor closed, in the order in which they were opened.
            open_waits_are_those_that_nobody_answered
            /// `open_waits` lists the newest ones, of one session or of all, and no more than were asked for.
            open_waits_are_the_newest_of_one_session_or_of_all
            /// A session with an open turn that has something to do is due as soon as it has no owner; one without is not.
            what_nobody_is_at_is_due_at_once
            /// A session that a live process owns is not due, regardless of deliveries.
            what_is_owned_is_not_due
            /// A turn that only waits is due at the earliest deadline of its questions and not before, and `due` says when that is.
            what_only_waits_is_due_at_its_earliest_deadline
            /// A turn that waits to ask its model again is due at that instant.
            what_waits_to_ask_its_model_again_is_due_then
            /// A delivery that no owner has seen makes a session with an open turn due at once, and one without never.
            an_unseen_delivery_is_due_at_once
            /// A turn that was taken up three times without getting on is parked: it is due when something is delivered, and not before.
            what_was_taken_up_in_vain_three_times_is_parked
            /// A session that was marked as restored says so when it is loaded, and its open turn is parked, until the next append.
            what_was_restored_is_parked
            /// `due` names no more sessions than were asked for, and says whether there are more.
            no_more_are_due_than_were_asked_for
            /// A delivery that is only there to be known is kept, and makes no session due.
            what_is_only_noted_is_not_due
            /// A turn is found by its id, the body and the idempotency key of its request, its client's calls and what its client was shown, from the moment that the append is committed, and after a restart.
            a_turn_is_found_by_its_marks
            /// What one principal looks for is never found with another.
            nothing_is_found_of_another_principal
            /// Every turn of a session is found by the principal of its first caller alone; one that came before any caller is not found.
            a_session_is_its_first_callers
            /// `find` goes by the order of the marks, names of each mark the newest turns first, and no more of it than were asked for.
            of_each_mark_the_newest_turns_are_found_first
            /// An append that is refused lets nothing be found, and one that is repeated nothing twice.
            what_was_not_written_is_not_found
            /// Nothing of a deleted session is found, also if there is another one of its name.
            what_is_deleted_is_not_found
            /// A spending record comes back equal, with every field.
            a_spending_record_comes_back_equal
            /// A spending record that is recorded again, by any process, is no error, and is stored once.
            a_spending_record_is_stored_once
            /// The first spending record of an id stays: a later one changes nothing, whatever else is in it.
            the_first_spending_record_of_an_id_stays
            /// `records` is ordered by the time of the records, and by the bytes of their ids where the time is the same.
            spending_records_are_ordered_by_time_and_id
            /// Pages that continue each other have every record that was there before the first of them, and none twice, whatever is recorded meanwhile; no page is longer than its limit.
            pages_of_spending_records_have_each_once
            /// `records` begins with the records of the time that was asked for, or after the place that was asked for, whichever comes later.
            spending_records_begin_at_a_time
            /// The next process finds every spending record, and recognises a repetition.
            a_restart_keeps_spending_records
        }
    };
}

/// Expands to one test per clause of the contract of `Journal`.
///
/// Takes a type that is a [`JournalHarness`], and perhaps
/// `except: { clause => "reason" }`.
#[macro_export]
macro_rules! journal_contract {
    ($harness:ty $(, except: { $($clause:ident => $reason:literal),+ $(,)? })? $(,)?) => {
        $crate::journal_clauses! {
            $crate::journal_tests { [$harness] [$($((stringify!($clause), $reason)),+)?] }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! journal_tests {
    ({ [$harness:ty] $except:tt } $(#[doc = $text:literal] $name:ident)+) => {
        $crate::journal_tests!(@each [$harness] $except $($name)+);
    };
    (@each [$harness:ty] $except:tt) => {};
    (@each [$harness:ty] $except:tt $name:ident $($more:ident)*) => {
        #[test]
        fn $name() {
            $crate::contract::journal::check::<$harness>(stringify!($name), &$except);
        }

        $crate::journal_tests!(@each [$harness] $except $($more)*);
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] $name:ident)+) => {
        /// The clauses of the contract, by name.
        pub const CLAUSES: &[Clause] = &[
            $(Clause { name: stringify!($name), text: $text.trim_ascii() }),+
        ];

        /// Runs a clause in the caller's runtime. It panics if the clause is not satisfied.
        #[must_use]
        pub fn perform<H: JournalHarness>(
            clause: &str,
        ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
            match clause {
                $(stringify!($name) => Box::pin(all::$name::<H>()),)+
                other => panic!("there is no clause `{other}`"),
            }
        }
    };
}

journal_clauses! { dispatch {} }

/// The clauses, each as a function over a harness.
mod all {
    pub(super) use super::appending::*;
    pub(super) use super::closing::*;
    pub(super) use super::delivering::*;
    pub(super) use super::due::*;
    pub(super) use super::ending::*;
    pub(super) use super::finding::*;
    pub(super) use super::following::*;
    pub(super) use super::holding::*;
    pub(super) use super::inbox::*;
    pub(super) use super::large::*;
    pub(super) use super::leasing::*;
    pub(super) use super::listing::*;
    pub(super) use super::loading::*;
    pub(super) use super::owning::*;
    pub(super) use super::spending::*;
    pub(super) use super::waits::*;
}
