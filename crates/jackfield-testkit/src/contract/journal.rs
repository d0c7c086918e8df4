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

use super::clause;

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
            /// Two processes write to one session, and neither notices.
            each_owner_has_a_higher_epoch
            /// The older epochs are stale from then on, whether or not they ever wrote anything.
            /// A process that came back to life writes over what its successor has done.
            an_older_owner_can_append_no_more
            /// What a former owner wrote is its successor's to act upon: even the repetition is refused.
            /// A former owner believes that it still owns, and runs a tool that its successor runs, too.
            a_stale_owner_is_refused_even_what_it_wrote
            /// The journal gives a session to another process only once the lease of its owner has passed: until then the request waits, or fails as `Owned`.
            /// Two processes run the same tool call at the same time.
            a_session_has_one_owner_until_its_lease_has_passed
            /// Once another process owns the session, an owner whose lease has passed is refused as stale, even what it wrote.
            /// A process that was paused goes on where another one has taken over.
            an_owner_whose_lease_has_passed_can_append_no_more
            /// An append that begins a turn, a resumption or a call is refused as stale once the lease has passed, although nobody else owns the session.
            /// A request is lost on its way, its client asks another process, and then it arrives: the turn runs twice.
            an_owner_whose_lease_has_passed_begins_nothing
            /// `close` releases every session and keeps what was acknowledged; afterwards nothing is appended under its epochs.
            /// After an orderly stop sessions stay locked, or lack what was acknowledged.
            what_is_closed_owns_nothing_and_loses_nothing
            /// Sessions know nothing of each other: owners, steps, waits and deliveries are their own.
            /// One user's words turn up in another one's conversation.
            sessions_are_apart
            /// An append whose position is not the journal's end is refused.
            /// Two writers put different steps at one place, and the history has two truths.
            an_append_begins_where_the_journal_ends
            /// The steps of an append are numbered on from its position.
            /// Readers that go on from a number skip a step or read one twice.
            a_step_has_the_number_of_its_place
            /// An append is written whole or not at all.
            /// A crash leaves a call without the decision that allowed it.
            an_append_is_all_or_nothing
            /// An append that is repeated is committed, and not written twice.
            /// A retry after a lost acknowledgement writes the turn twice.
            a_repeated_append_is_committed_once
            /// A repetition is recognised by its epoch, position and steps, also after later appends.
            /// A retry that comes late ends the session as if another had written to it.
            a_repetition_is_recognised_after_later_appends
            /// What differs from what is written there is no repetition.
            /// An owner believes that its step was written, and acts on what is not in the journal.
            another_step_at_a_written_place_is_refused
            /// Of appends to one place, at once and all different, one is committed.
            /// Two steps at one place are both acknowledged, and one of them is lost.
            of_appends_at_once_one_is_committed
            /// An append that closes a wait with an answer that its owner has not seen is refused, for any other end.
            /// A person's approval that arrived in time counts as expired.
            a_wait_with_an_unseen_answer_is_not_closed_otherwise
            /// An append that closes a wait by the answer in the inbox is committed, however much was seen.
            /// An answered question stays open, and its turn never goes on.
            a_wait_is_closed_by_its_answer
            /// An owner that has seen the answer may close the wait in another way.
            /// A turn that was cancelled cannot end, because one of its questions was answered.
            a_wait_with_a_seen_answer_may_be_closed_otherwise
            /// A cancel, an answer to another wait, or an answer that was not accepted hinders no append.
            /// Any message to a session stops its turn.
            other_unseen_deliveries_hinder_nothing
            /// `load` gives back what was committed: equal, in order, every kind of fact.
            /// After a restart the model sees another conversation than before.
            what_was_committed_is_loaded_equal_and_in_order
            /// A text of any size and content is loaded unchanged; repetitions are recognised by it.
            /// A long document lacks its end after a restart.
            a_large_text_comes_back_whole
            /// A large text that several steps or sessions have stays as long as one of them is there.
            /// Deleting one session empties a message of another.
            a_large_text_stays_as_long_as_a_session_has_it
            /// `load` gives back what was delivered: equal, in the order in which it came.
            /// An approval of one call is taken for that of another after a restart.
            what_was_delivered_is_loaded_equal_and_in_order
            /// A session that was owned and has no steps yet has none.
            /// A conversation that crashed before its first word cannot be opened again.
            a_session_without_steps_loads_empty
            /// A session that never had an owner does not exist: it is neither loaded nor delivered to.
            /// A typing mistake in a session's name opens an empty conversation instead of an error.
            an_unknown_session_is_an_error
            /// Another process finds everything: steps, deliveries, waits, and the highest epoch.
            /// What users were told is kept is gone after an update.
            a_restart_loses_nothing
            /// `deliver` needs no ownership and takes none: the owner goes on as before.
            /// An approval from another window does not arrive, or throws the running turn out.
            a_delivery_needs_no_ownership
            /// A delivery with an id that was accepted is there already, whether or not its contents differ or its wait was closed.
            /// A doubled click approves two calls.
            a_delivery_is_accepted_once
            /// A delivery has the time of the journal's clock.
            /// A wrong clock at the sender makes an answer in time look late.
            the_journal_sets_the_time_of_a_delivery
            /// A cancel is accepted as long as there is a session, in any state.
            /// A turn that runs wild cannot be stopped.
            a_cancel_is_always_accepted
            /// What was not accepted is neither in `load` nor in `inbox`, and its id is still free.
            /// A refused answer takes effect after a restart.
            what_is_not_accepted_is_not_kept
            /// An answer that comes at the deadline, by the journal's clock, is in time.
            /// Two processes disagree about the last moment, and one of them denies what the other allows.
            an_answer_at_the_deadline_is_accepted
            /// An answer that comes after the deadline, by the journal's clock, gets the reply that the wait expired, even if the wait has not been closed yet.
            /// A person believes to have approved a call that was given up.
            an_answer_after_the_deadline_is_told_that_it_is_late
            /// An answer that came in time wins over the expiry, even if it is consumed later.
            /// An approval given in time is ignored because the program was busy.
            an_answer_before_the_deadline_wins_over_expiry
            /// Of several answers to a wait the first is accepted; the others get the name of its sender, whether or not it has been consumed.
            /// Two persons answer differently, and the call is both approved and denied.
            the_first_answer_wins
            /// Of several answers at once one is accepted.
            /// Both of two persons are told that theirs is the answer.
            of_answers_at_once_one_is_accepted
            /// An answer to a closed wait gets how and when it ended, and the answer's sender if there was one.
            /// A person who answers late does not learn who decided, and how.
            a_closed_wait_says_how_it_ended
            /// A closed wait keeps its end, and later facts do not change it.
            /// A denied call is approved later.
            a_closed_wait_is_not_opened_or_closed_again
            /// An answer to a wait that was never opened gets the reply that there is none.
            /// A person waits for the effect of an answer that no turn reads.
            an_answer_to_no_wait_is_told_so
            /// An answer of a kind that the wait does not take finds no such wait, and does not keep the right one out.
            /// An approval is spent as the result of a client's tool.
            an_answer_of_another_kind_finds_no_wait
            /// A delivery is in `load` and in `inbox` from the moment it was accepted.
            /// An answer that was accepted is never acted upon.
            an_accepted_delivery_is_in_load_and_inbox
            /// `inbox` gives the deliveries from the place asked for, all of them and in order.
            /// Answers are acted upon twice, or skipped.
            the_inbox_begins_at_the_place_asked_for
            /// `inbox` answers as soon as there is at least one delivery from that place on, and not before.
            /// A waiting turn keeps a processor busy, or misses its answer.
            the_inbox_waits_until_there_is_something
            /// Several readers all get the same delivery.
            /// A second window that looks on takes the answer from the turn.
            every_reader_of_the_inbox_gets_each_delivery
            /// A reader that is dropped while it waits takes no delivery along.
            /// An answer disappears with the connection of a client that went away.
            a_dropped_reader_of_the_inbox_takes_nothing_along
            /// `follow` gives the steps from the number asked for, all of them and in order.
            /// A client that connects again shows gaps or repetitions.
            a_watcher_gets_the_steps_from_the_requested_number
            /// `follow` answers as soon as there is at least one step from that number on, and not before.
            /// A second window shows nothing new, or keeps a processor busy.
            a_watcher_waits_for_the_next_step
            /// Several followers of a session all get the same step.
            /// Only one of several windows shows the answer.
            every_watcher_gets_each_step
            /// A follower of a session that is deleted gets the error that there is none.
            /// A window of a deleted session waits for ever.
            a_watcher_learns_that_the_session_is_deleted
            /// `release` ends an ownership: its epoch is stale, and the session is listed without an owner.
            /// A released session is written to by two processes.
            a_released_owner_can_append_no_more
            /// `release` under another epoch than the owner's changes nothing.
            /// A process that is late takes the session from its new owner.
            only_the_owner_can_release_a_session
            /// `delete` leaves nothing of a session: neither in lists nor for a session of the same name.
            /// Words that a user has deleted come up in a search, or in a new session of the same name.
            what_is_deleted_is_gone
            /// A session that a live process owns is not deleted, not even by that process.
            /// A running turn loses its session, and fails.
            what_is_owned_is_not_deleted
            /// A session that is held is not deleted, not even by the process that holds it, and is listed as held.
            /// A conversation is deleted while another window shows it.
            what_is_held_is_not_deleted
            /// A hold takes no ownership and makes no session: others own, append and deliver as without it.
            /// An open window stops the session's turns.
            a_hold_hinders_nothing_but_deletion
            /// A hold ends when it is dropped, and a session is held as long as one of its holds is there.
            /// A session can never be deleted, because a window was once open.
            a_hold_ends_when_it_is_dropped
            /// No epoch of a session that was deleted comes again.
            /// A process from before the deletion writes into the new session.
            no_epoch_comes_again_after_a_deletion
            /// `sessions` lists the session first to which something was appended or delivered last; of those changed at the same time the one with the greater id.
            /// Users do not find the conversation that they have just had.
            sessions_are_listed_the_one_changed_last_first
            /// A list goes on after any row of it, without a gap and without a repetition; any one session is listed alone.
            /// Sessions are missing between two pages of a list.
            a_list_goes_on_after_any_row
            /// A row says when a session was made and changed, how many steps and turns it has, and grows with everything that is kept.
            /// Users cannot see which sessions are old or large, and may be deleted.
            a_row_says_when_and_how_much
            /// A title is the beginning of the first message of the user, in one line of at most 80 characters.
            /// A list of sessions shows nothing by which to recognise them.
            a_title_is_the_first_message_in_one_line
            /// A title that a session was given is listed and found, whichever process owns the session, until it is taken away.
            /// A person names a conversation, and the next message gives it another name.
            a_given_title_is_listed_until_it_is_taken_away
            /// A session that is pinned or archived is listed as such and found by that, beside its title, until it is neither.
            /// What a person has put away comes back, or all of it is gone.
            a_session_is_pinned_and_archived_until_it_is_not
            /// A row says which turn is open, how many questions of it are, and whether there is nothing to do but wait, from the moment that the append is committed.
            /// A question waits for an answer, and no list shows it.
            a_row_says_where_the_open_turn_is
            /// An append that is refused or repeated changes no row.
            /// A list shows a turn that does not exist.
            what_was_refused_changes_no_row
            /// Sessions are found by what users and models said, in every script, regardless of case and spacing.
            /// A search finds nothing in languages without spaces, or only with the right capitals.
            sessions_are_found_by_their_words
            /// `waits` lists the questions that are neither answered nor closed, in the order in which they were opened, and `open_waits_mark` is another one after each change of them.
            /// A person is asked what is decided already, or is not asked at all.
            open_waits_are_those_without_an_answer
            /// `waits` lists the oldest open ones, of one session or of all, no more than were asked for, and goes on after any of them.
            /// Questions are missing between two pages of a list.
            open_waits_are_the_oldest_of_one_session_or_of_all
            /// `waits` finds all waits whose ids begin with a text, the open ones first.
            /// A question cannot be answered, as nothing finds it, or who answers late is told that it never was.
            waits_are_found_by_their_ids
            /// `waits` lists those in the sessions of a principal, of its end users and of nobody, and tells whose each is.
            /// A client gets the questions of another one, or not its own.
            waits_are_listed_by_principal
            /// A session with an open turn that has something to do is due as soon as it has no owner; one without is not.
            /// After a crash a turn stays open until its user asks again.
            an_open_turn_without_owner_is_due_at_once
            /// A session that a live process owns is not due, regardless of deliveries.
            /// A second process takes up a turn that is running.
            what_is_owned_is_not_due
            /// A turn that only waits is due at the earliest deadline of its questions and not before, and `due` says when that is.
            /// A question expires unseen, or its turn wakes up for nothing.
            what_only_waits_is_due_at_its_earliest_deadline
            /// A turn that waits to ask its model again is due at that instant.
            /// A pause before a retry never ends after a restart, or is skipped.
            what_waits_to_ask_its_model_again_is_due_then
            /// A delivery that no owner has seen makes a session with an open turn due at once, and one without never.
            /// A person answers, and nothing happens until the next restart.
            an_unseen_delivery_is_due_at_once
            /// A turn that was taken up three times without getting on is parked: it is due when something is delivered, and not before.
            /// A turn that crashes its process does so again after every start.
            what_was_taken_up_in_vain_three_times_is_parked
            /// A session that was marked as restored says so when it is loaded, and its open turn is parked, until the next append.
            /// A restored backup repeats calls that were made since.
            what_was_restored_is_parked
            /// `due` names no more sessions than were asked for, and says whether there are more.
            /// A process takes up more turns than it can run.
            no_more_are_due_than_were_asked_for
            /// A delivery that is only there to be known is kept, and makes no session due.
            /// A remark starts a turn that has nothing to do.
            what_is_only_noted_is_not_due
            /// A turn is found by its id, the body and the idempotency key of its request, its client's calls and what its client was shown, from the moment that the append is committed, and after a restart.
            /// A request that is sent again is answered twice and paid for twice.
            a_turn_is_found_by_its_marks
            /// What one principal looks for is never found with another.
            /// One customer gets another one's answer.
            nothing_is_found_of_another_principal
            /// Every turn of a session is found by the principal of its first caller alone; one that came before any caller is not found.
            /// A person who guesses a session's name can read it.
            a_session_is_its_first_callers
            /// `find` goes by the order of the marks, names of each mark the newest turns first, and no more of it than were asked for.
            /// A client goes on with an old branch of its conversation.
            of_each_mark_the_newest_turns_are_found_first
            /// An append that is refused lets nothing be found, and one that is repeated nothing twice.
            /// A request is answered with a turn that was never kept.
            what_was_not_written_is_not_found
            /// Nothing of a deleted session is found, also if there is another one of its name.
            /// A deleted answer is delivered once more.
            what_is_deleted_is_not_found
            /// A spending record comes back equal, with every field.
            /// A report loses cost, or counts it for the wrong client or model.
            a_spending_record_comes_back_equal
            /// A spending record that is recorded again, by any process, is no error, and is stored once.
            /// A retry after a lost acknowledgement is paid for twice in every report.
            a_spending_record_is_stored_once
            /// The first spending record of an id stays: a later one changes nothing, whatever else is in it.
            /// A sum that a budget has decided by changes afterwards.
            the_first_spending_record_of_an_id_stays
            /// The count of a request takes the place of its estimate, at the same time, and stays then.
            /// A report and a budget keep a guess although the provider has told what it charges.
            a_count_replaces_its_estimate
            /// `records` is ordered by the time of the records, and by the bytes of their ids where the time is the same.
            /// A report has its lines in another order each time.
            spending_records_are_ordered_by_time_and_id
            /// Pages that continue each other have every record that was there before the first of them, and none twice, whatever is recorded meanwhile; no page is longer than its limit.
            /// A report of a busy gateway counts some requests twice and others never.
            pages_of_spending_records_have_each_once
            /// `records` begins with the records of the time that was asked for, or after the place that was asked for, whichever comes later.
            /// A monthly budget counts the month before.
            spending_records_begin_at_a_time
            /// The next process finds every spending record, and recognises a repetition.
            /// After a restart a spent budget is full again.
            a_restart_keeps_spending_records
            /// `delete_before` deletes the oldest records of earlier times, no others and no more than its limit, in the file too.
            /// Usage that a report is about is gone, or usage that was to be deleted stays for ever.
            old_spending_records_are_deleted
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
            $crate::clause_tests {
                [$crate::contract::journal::check::<$harness>]
                [$($((stringify!($clause), $reason)),+)?]
            }
        }
    };
}

macro_rules! dispatch {
    ({} $(#[doc = $text:literal] #[doc = $why:literal] $name:ident)+) => {
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

journal_clauses! { clause::clause_list {} }
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
