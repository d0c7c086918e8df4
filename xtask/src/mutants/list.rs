//! The mutants: known mistakes, and the property that must catch each.
//!
//! An entry looks like this:
//!
//! ```text
//! Mutant {
//!     name: "results-in-finish-order",
//!     file: "crates/jackfield-domain/src/tool_loop/state.rs",
//!     from: "outcomes.sort_by_key(|outcome| outcome.ordinal);",
//!     to: "",
//!     package: "jackfield-domain",
//!     test: "props::results_keep_call_order_when_tools_finish_out_of_order",
//! },
//! ```

/// A mistake that could be made, and who must notice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mutant {
    /// The mistake in a few words, joined by hyphens.
    pub(crate) name: &'static str,
    /// Where it is made, from the root.
    pub(crate) file: &'static str,
    /// What stands there; exactly once in the file.
    pub(crate) from: &'static str,
    /// What the mistake makes of it; it has to compile.
    pub(crate) to: &'static str,
    /// The package whose `it` tests hold the property.
    pub(crate) package: &'static str,
    /// The property: the full name of a test in the package's `it` binary.
    pub(crate) test: &'static str,
}

/// Every mutant.
pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "started-written-for-the-whole-batch",
        file: "crates/jackfield-domain/src/tool_loop/calls.rs",
        from: "call.holds_slot()).count() >= parallel {",
        to: "call.holds_slot()).count() >= parallel.max(usize::MAX) {",
        package: "jackfield-domain",
        test: "loop_properties::a_call_is_started_only_when_a_slot_is_free",
    },
    Mutant {
        name: "unknown-taken-as-not-started",
        file: "crates/jackfield-domain/src/tool_loop/recover.rs",
        from: "if running.may_repeat && may_start {",
        to: "if may_start {",
        package: "jackfield-domain",
        test: "loop_properties::what_must_not_be_repeated_is_never_asked_for_twice",
    },
    Mutant {
        name: "policy-read-again-on-recovery",
        file: "crates/jackfield-domain/src/tool_loop/recover.rs",
        from: "CallState::Granted(_) | CallState::Queued => self.restrict(&call, attempts),",
        to: "CallState::Granted(_) => self.open_wait(&call, crate::wait::WaitKind::Approval { subject: None }),\n                CallState::Queued => self.restrict(&call, attempts),",
        package: "jackfield-domain",
        test: "loop_properties::a_granted_approval_stays_granted",
    },
    Mutant {
        name: "strictness-is-not-asked-for",
        file: "crates/jackfield-domain/src/tool_loop/rounds.rs",
        from: "strict: setup.strict,",
        to: "strict: None,",
        package: "jackfield-domain",
        test: "loop_properties::every_request_says_what_the_setup_says",
    },
    Mutant {
        name: "strict-about-worse-only",
        file: "crates/jackfield-dialect-kit/src/strict.rs",
        from: "note.effect >= strict;",
        to: "note.effect > strict;",
        package: "jackfield-dialect-kit",
        test: "strict::a_request_is_refused_for_what_counts",
    },
    Mutant {
        name: "timeout-as-failure",
        file: "crates/jackfield-domain/src/tool_loop/calls.rs",
        from: "ToolFailure::unknown(ToolFailureKind::Timeout, message)",
        to: "ToolFailure::not_sent(ToolFailureKind::Timeout, message)",
        package: "jackfield-domain",
        test: "loop_properties::a_timeout_is_an_unknown_outcome",
    },
    Mutant {
        name: "results-in-finish-order",
        file: "crates/jackfield-domain/src/turn.rs",
        from: "call.state = CallState::Closed(Arc::new(outcome));",
        to: "call.state = CallState::Closed(Arc::new(outcome));\n        let place = batch.calls.iter().position(|call| call.call.id == *id).unwrap_or(0);\n        let closed = batch.calls.remove(place);\n        batch.calls.push(closed);",
        package: "jackfield-domain",
        test: "loop_properties::outcomes_keep_call_order_whatever_finished_first",
    },
    Mutant {
        name: "cut-again-with-todays-limit",
        file: "crates/jackfield-domain/src/turn.rs",
        from: "shown.and_then(|limit| result.cut(limit))",
        to: "shown.and_then(|_| result.cut(crate::limits::Limits::default().shown))",
        package: "jackfield-domain",
        test: "loop_properties::the_model_is_shown_what_the_journal_says",
    },
    Mutant {
        name: "expiry-beats-an-earlier-delivery",
        file: "crates/jackfield-domain/src/tool_loop/waits.rs",
        from: "delivery.at <= wait.deadline",
        to: "self.now.wall <= wait.deadline",
        package: "jackfield-domain",
        test: "loop_properties::an_answer_in_time_beats_the_expiry",
    },
    Mutant {
        name: "act-before-commit",
        file: "crates/jackfield-engine/src/driver.rs",
        from: "while !batch.steps.is_empty() {",
        to: "self.workers.perform(std::mem::take(&mut batch.actions));\n        while !batch.steps.is_empty() {",
        package: "jackfield-engine",
        test: "ordering::nothing_is_performed_before_it_is_committed",
    },
    Mutant {
        name: "tell-before-commit",
        file: "crates/jackfield-engine/src/driver.rs",
        from: "while !batch.steps.is_empty() {",
        to: "self.tell(&batch);\n        while !batch.steps.is_empty() {",
        package: "jackfield-engine",
        test: "ordering::nothing_is_told_before_it_is_committed",
    },
    Mutant {
        name: "every-schema-checked-on-the-spot",
        file: "crates/jackfield-engine/src/validate/plain.rs",
        from: "_ => return None,",
        to: "_ => {}",
        package: "jackfield-engine",
        test: "patterns::a_pattern_is_never_matched_on_the_spot",
    },
    Mutant {
        name: "stale-epoch-accepted",
        file: "crates/jackfield-store-memory/src/session.rs",
        from: "if append.epoch.0 != self.epoch {",
        to: "if append.epoch.0 > self.epoch {",
        package: "jackfield-store-memory",
        test: "contract::an_older_owner_can_append_no_more",
    },
    Mutant {
        name: "not-sent-without-proof",
        file: "crates/jackfield-tools-mcp/src/request.rs",
        from: "        self.mark.withdraw()\n    }",
        to: "        self.mark.withdraw();\n        true\n    }",
        package: "jackfield-tools-mcp",
        test: "calls::what_was_never_written_is_proved_not_to_have_been_sent",
    },
    Mutant {
        name: "abandoned-call-goes-on",
        file: "crates/jackfield-tools-mcp/src/request.rs",
        from: "if self.mark.withdraw() {",
        to: "self.mark.withdraw();\n        if peer.is_transport_closed() || !peer.is_transport_closed() {",
        package: "jackfield-tools-mcp",
        test: "calls::a_call_whose_caller_went_away_is_taken_back_in_both_eras",
    },
    Mutant {
        name: "progress-goes-on-for-ever",
        file: "crates/jackfield-tools-mcp/src/call.rs",
        from: "sleep_until(silent.min(limits.deadline))",
        to: "sleep_until(silent)",
        package: "jackfield-tools-mcp",
        test: "calls::progress_does_not_go_on_for_ever",
    },
    Mutant {
        name: "hints-of-strangers-count",
        file: "crates/jackfield-tools-mcp/src/mapping/definition.rs",
        from: "trusted && hint(name)",
        to: "(trusted || !trusted) && hint(name)",
        package: "jackfield-tools-mcp",
        test: "lists::a_definition_says_what_the_server_says",
    },
    Mutant {
        name: "fresh-is-the-old-one",
        file: "crates/jackfield-tools-mcp/src/toolbox.rs",
        from: "connection.is_at(call))",
        to: "connection.is_at(call) && !connection.is_open())",
        package: "jackfield-tools-mcp",
        test: "calls::a_fresh_server_is_started_for_a_call_that_the_old_one_may_be_at",
    },
    Mutant {
        name: "servers-get-our-whole-environment",
        file: "crates/jackfield-tools-mcp/src/child.rs",
        from: "            .env_clear()\n",
        to: "",
        package: "jackfield-tools-mcp",
        test: "processes::a_server_gets_what_programs_need_and_no_keys",
    },
    Mutant {
        name: "crashes-without-a-pause",
        file: "crates/jackfield-tools-mcp/src/supervisor.rs",
        from: "settings.backoff.saturating_mul(doubled)",
        to: "settings.backoff.saturating_mul(doubled.min(0))",
        package: "jackfield-tools-mcp",
        test: "faults::a_server_that_always_ends_is_started_after_longer_and_longer_pauses",
    },
    Mutant {
        name: "state-goes-to-any-owner",
        file: "crates/jackfield-dialect-kit/src/state.rs",
        from: "*state.kind == *kind && state.owner == *owner",
        to: "*state.kind == *kind && !owner.dialect.is_empty()",
        package: "jackfield-provider-claude",
        test: "contract::state_of_another_owner_is_withheld_and_noted",
    },
    Mutant {
        name: "key-told-in-errors",
        file: "crates/jackfield-provider-kit/src/exchange.rs",
        from: "failure.message = key.redact(&failure.message);",
        to: "let _kept = key;",
        package: "jackfield-provider-claude",
        test: "contract::secrets_never_reach_debug_or_errors",
    },
    Mutant {
        name: "system-prompt-forgotten",
        file: "crates/jackfield-dialect-claude/src/request.rs",
        from: "system: (!said.system.is_empty())",
        to: "system: (said.system.is_empty())",
        package: "jackfield-provider-claude",
        test: "contract::every_change_of_a_request_is_sent_or_noted",
    },
    Mutant {
        name: "broken-stream-taken-for-whole",
        file: "crates/jackfield-dialect-claude/src/stream/decoder.rs",
        from: "if self.stage != Stage::Stopped {",
        to: "if self.stage == Stage::Waiting {",
        package: "jackfield-provider-claude",
        test: "contract::ending_without_finish_is_an_error",
    },
];
