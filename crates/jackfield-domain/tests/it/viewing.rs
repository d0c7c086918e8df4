//! Viewing by example: what one reply to a client holds, whatever its turn went through.

use std::sync::Arc;

use jackfield_domain::accumulator::ReplyAccumulator;
use jackfield_domain::block::{Block, Content, RanBy, Thinking};
use jackfield_domain::client_view::{self, ClientEvent, ClientView, SegmentEnd, facts_before};
use jackfield_domain::cursor::Cursor;
use jackfield_domain::delta::{BlockStart, Delta};
use jackfield_domain::fact::{Envelope, Fact, InputKind, ModelCallEnd, ToolUse, TurnEnd};
use jackfield_domain::failure::{ModelFailure, ModelFailureKind, Phase};
use jackfield_domain::ids::{ModelAttempt, SessionId, TurnId};
use jackfield_domain::limits::Limits;
use jackfield_domain::message::{Message, Role};
use jackfield_domain::opaque::{OpaqueState, StateOwner, StateScope};
use jackfield_domain::reply::{FinishReason, Reply, ReplyEnd};
use jackfield_domain::server_tool::ServerTool;
use jackfield_domain::session_events::EventStream;
use jackfield_domain::setup::Opening;
use jackfield_domain::time::{Now, WallTime};
use jackfield_domain::usage::Usage;
use serde_json::json;

use crate::talk::{Part, Talk};

fn text(words: &str) -> Part {
    Part::Text(words.into())
}

/// A turn in which tools of both sides are called, and one that is none, and one that cannot be run.
fn mixed(server_tools: bool) -> Talk {
    let mut talk = Talk::new("s", server_tools);
    let first = vec![
        text("One moment."),
        Part::Server("read"),
        Part::Client("{\"n\":1}".to_owned()),
        Part::Client("{\"broken\":".to_owned()),
        Part::Server("denied"),
        Part::Server("gone"),
        text("So."),
    ];
    let second = vec![text("Once more."), Part::Server("write")];
    talk.say("go", &[first, second, vec![text("Done.")]]);
    talk
}

/// The blocks of a message, a word for each.
fn outline(message: &Message) -> Vec<String> {
    let blocks = message.blocks.iter().map(|block| {
        let tool = ServerTool::from_states(&block.opaque);
        let by = tool.map_or_else(String::new, |tool| {
            format!(" of {}/{}", tool.server, tool.tool)
        });
        match &block.content {
            Content::Text(text) => text.text.to_string(),
            Content::ToolCall(call) => {
                format!("{:?} calls {}{by}", call.ran_by, call.name.as_str())
            }
            Content::ToolOutcome(outcome) if outcome.result.is_error => format!("error{by}"),
            Content::ToolOutcome(_) => format!("outcome{by}"),
            other => format!("{other:?}"),
        }
    });
    blocks.collect()
}

#[test]
fn calls_of_ours_are_left_out_or_shown_to_their_end() {
    let hidden = mixed(false);
    assert_eq!(
        outline(&hidden.history[1]),
        ["One moment.", "So.", "Client calls client"]
    );
    let answer = hidden.history.last().expect("an answer");
    assert_eq!(outline(answer), ["Once more.", "Done."]);
    let shown = mixed(true);
    assert_eq!(
        outline(&shown.history[1]),
        [
            "One moment.",
            "So.",
            "Provider calls read of box/read",
            "Client calls client",
            "Provider calls denied of box/denied",
            "outcome of box/read",
            "error of box/denied",
        ]
    );
    let answer = shown.history.last().expect("an answer");
    assert_eq!(
        outline(answer),
        [
            "Once more.",
            "Provider calls write of box/write",
            "outcome of box/write",
            "Done."
        ]
    );
    // It makes no difference for where the next request belongs.
    assert_eq!(hidden.view(), shown.view());
}

#[test]
fn calls_that_are_shown_as_they_are_written_keep_their_places() {
    let say = |talk: Talk| {
        let mut talk = talk;
        let first = vec![
            text("One moment."),
            Part::Client("{\"n\":1}".to_owned()),
            Part::Server("read"),
            Part::Server("denied"),
            text("So."),
            Part::Client("{\"n\":2}".to_owned()),
        ];
        talk.say("go", &[first, vec![text("Done.")]]);
        talk
    };
    let whole = say(Talk::new("s", true));
    let talk = say(Talk::new("s", true).shown_as_written());
    assert_eq!(
        outline(&talk.history[1]),
        [
            "One moment.",
            "Client calls client",
            "So.",
            "Client calls client",
            "Provider calls read of box/read",
            "Provider calls denied of box/denied",
            "outcome of box/read",
            "error of box/denied",
        ]
    );
    // It makes no difference for what is kept, and for where the next request belongs.
    assert_eq!(talk.view(), whole.view());
    let ids = |talk: &Talk| {
        let calls = talk.history[1].calls();
        let own = calls.filter(|call| call.ran_by == RanBy::Client);
        own.map(|call| (call.id.clone(), call.input.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&talk), ids(&whole));
}

#[test]
fn a_reply_counts_its_own_rounds() {
    let talk = mixed(false);
    let turn = TurnId::derive(&SessionId::parse("s").expect("an id"), 1);
    let used = |segment| {
        let reply = client_view::reply(&talk.steps, &turn, segment)?.ok()?;
        Some((reply.end.finish, reply.end.usage?.total()))
    };
    assert_eq!(used(0), Some((FinishReason::ToolCalls, 15)));
    assert_eq!(used(1), Some((FinishReason::Stop, 30)));
    // There is no such reply, and there will be none.
    assert_eq!(
        client_view::reply(&talk.steps, &turn, 2),
        Some(Err(TurnEnd::Answered(FinishReason::Stop)))
    );
    let other = TurnId::parse("turn_other").expect("an id");
    assert_eq!(client_view::reply(&talk.steps, &other, 0), None);
    assert_eq!(facts_before(&talk.steps, &turn), Some(0));
    assert_eq!(facts_before(&talk.steps, &other), None);
}

#[test]
fn a_reply_that_is_under_way_is_none_yet() {
    let talk = mixed(false);
    let turn = TurnId::derive(&SessionId::parse("s").expect("an id"), 1);
    let asked = talk
        .steps
        .iter()
        .position(|step| step.input == InputKind::Delivered);
    let asked = asked.expect("a delivery");
    assert!(client_view::reply(&talk.steps[..asked], &turn, 0).is_some());
    assert_eq!(client_view::reply(&talk.steps[..asked], &turn, 1), None);
}

const FIRST: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 1,
};

const SECOND: ModelAttempt = ModelAttempt {
    round: 1,
    attempt: 2,
};

fn step(facts: Vec<Fact>) -> Envelope {
    Envelope {
        facts,
        input: InputKind::Woke,
        now: Now::default(),
        step: 0,
        version: 1,
    }
}

fn opened() -> Fact {
    Fact::TurnOpened {
        opening: Opening::UserMessage(Arc::new(Message::user("go"))),
        ordinal: 1,
        setup: Arc::new(crate::world::setup(Limits::default())),
        turn: turn(),
    }
}

fn turn() -> TurnId {
    TurnId::derive(&SessionId::parse("by-hand").expect("an id"), 1)
}

fn started(attempt: ModelAttempt) -> Fact {
    Fact::ModelCallStarted {
        active: std::time::Duration::ZERO,
        attempt,
        tools: ToolUse::Allowed,
        choice: None,
        reserved: Vec::new(),
        target: 0,
    }
}

fn received(attempt: ModelAttempt, blocks: Vec<Block>) -> Fact {
    let end = ReplyEnd {
        usage: Some(Usage::default()),
        ..ReplyEnd::new(FinishReason::Stop)
    };
    let message = Arc::new(Message::new(Role::Assistant, blocks));
    Fact::ReplyReceived {
        attempt,
        reply: Arc::new(Reply { end, message }),
        first_token: None,
        settled: Vec::new(),
    }
}

fn ended(end: TurnEnd) -> Fact {
    Fact::TurnEnded { end, view: None }
}

fn broken(attempt: ModelAttempt, why: ModelCallEnd, partial: Option<&str>) -> Fact {
    Fact::ModelCallEnded {
        attempt,
        partial: partial.map(|words| {
            let blocks = vec![Block::text(words)];
            Arc::new(Message::new(Role::Assistant, blocks))
        }),
        retry_at: None,
        usage: None,
        why,
        at_once: false,
        first_token: None,
        settled: Vec::new(),
        withdrawn: false,
    }
}

fn failure() -> ModelFailure {
    ModelFailure::new(ModelFailureKind::Interrupted, Phase::MidReply, "it broke")
}

/// What is shown of these steps; what was heard of the reply under way by then, after the first of them.
fn shown(steps: &[Envelope], heard: Option<&[Delta]>) -> (String, Option<SegmentEnd>) {
    let mut teller = EventStream::new(Cursor::START);
    let mut viewer = ClientView::new(turn(), 0);
    let (mut words, mut end) = (String::new(), None);
    let mut see = |told| {
        for shown in viewer.apply(&told) {
            match shown {
                ClientEvent::End(ended) => end = Some(ended),
                ClientEvent::Piece {
                    delta: Delta::TextAppended { text, .. },
                    ..
                } => words.push_str(&text),
                ClientEvent::Retried(_) | ClientEvent::Piece { .. } => {}
            }
        }
    };
    for (nth, step) in steps.iter().enumerate() {
        teller.feed(step.clone());
        while let Some((_, told)) = teller.next() {
            see(told);
        }
        if let (0, Some(heard)) = (nth, heard) {
            let mut reply = ReplyAccumulator::new(turn(), FIRST);
            for delta in heard {
                assert_eq!(reply.push(delta), Ok(()));
            }
            while let Some((_, told)) = teller.next_live_piece(step.facts.len() as u64, &reply) {
                see(told);
            }
        }
    }
    (words, end)
}

fn says(words: &str) -> Vec<Delta> {
    let (index, start) = (0, BlockStart::Text);
    let mut deltas = vec![Delta::BlockStarted { index, start }];
    if !words.is_empty() {
        let text = words.into();
        deltas.push(Delta::TextAppended { index, text });
    }
    deltas
}

#[test]
fn what_was_shown_and_is_said_again_ends_the_stream_and_nothing_is_shown_of_it_later() {
    let steps = [
        step(vec![opened(), started(FIRST)]),
        step(vec![
            broken(FIRST, ModelCallEnd::Lost, None),
            started(SECOND),
        ]),
        step(vec![
            received(SECOND, vec![Block::text("All of it.")]),
            ended(TurnEnd::Answered(FinishReason::Stop)),
        ]),
    ];
    let (words, end) = shown(&steps, Some(&says("Half of")));
    assert_eq!(words, "Half of");
    assert!(
        matches!(end, Some(SegmentEnd::BrokenOff(TurnEnd::Interrupted(_)))),
        "{end:?}"
    );
    for heard in [None, Some(says("")), Some(Vec::new())] {
        // Where nothing was to be seen, nobody notices.
        let (words, end) = shown(&steps, heard.as_deref());
        assert_eq!(words, "All of it.");
        assert!(matches!(end, Some(SegmentEnd::Whole(_))), "{end:?}");
    }
}

#[test]
fn whoever_looks_later_is_told_where_a_reply_was_asked_for_again_that_others_may_have_seen() {
    let before = ModelFailure::new(
        ModelFailureKind::Overloaded,
        Phase::BeforeFirstDelta,
        "it is busy",
    );
    for (why, is_told) in [
        (ModelCallEnd::Lost, true),
        (ModelCallEnd::Failed(failure()), true),
        (ModelCallEnd::Failed(before), false),
    ] {
        let mut ended_first = broken(FIRST, why.clone(), None);
        if let Fact::ModelCallEnded { retry_at, .. } = &mut ended_first {
            *retry_at = Some(WallTime::from_millis(0));
        }
        let mut teller = EventStream::new(Cursor::START);
        teller.feed(step(vec![opened(), started(FIRST)]));
        teller.feed(step(vec![ended_first, started(SECOND)]));
        teller.feed(step(vec![
            received(SECOND, vec![Block::text("All of it.")]),
            ended(TurnEnd::Answered(FinishReason::Stop)),
        ]));
        let mut viewer = ClientView::new(turn(), 0);
        let mut all = Vec::new();
        while let Some((_, told)) = teller.next() {
            all.extend(viewer.apply(&told));
        }
        let again =
            |shown: &ClientEvent| matches!(shown, ClientEvent::Retried(TurnEnd::Interrupted(_)));
        assert_eq!(all.first().is_some_and(again), is_told, "{why:?}");
        assert_eq!(
            all.iter().filter(|shown| again(shown)).count(),
            usize::from(is_told)
        );
        assert!(matches!(
            all.last(),
            Some(ClientEvent::End(SegmentEnd::Whole(_)))
        ));
    }
}

#[test]
fn what_is_kept_of_a_reply_that_broke_off_is_shown_once() {
    let steps = [
        step(vec![opened(), started(FIRST)]),
        step(vec![
            broken(FIRST, ModelCallEnd::Failed(failure()), Some("Half of it")),
            ended(TurnEnd::Interrupted(failure())),
        ]),
    ];
    for heard in [None, Some(says("Half")), Some(says("Half of it"))] {
        let (words, end) = shown(&steps, heard.as_deref());
        assert_eq!(words, "Half of it", "{heard:?}");
        let failed = SegmentEnd::Failed(TurnEnd::Interrupted(failure()));
        assert_eq!(end, Some(failed));
    }
}

#[test]
fn what_hangs_on_a_block_is_shown_with_its_end() {
    let state = OpaqueState {
        kind: "signature".into(),
        json: "c2ln".into(),
        owner: StateOwner {
            dialect: "claude".into(),
            endpoint: "https://api.example".into(),
            model: "m".into(),
        },
        scope: StateScope::Block,
    };
    let mut signed = Block::text("thought");
    signed.opaque.push(state.clone());
    let steps = [
        step(vec![opened(), started(FIRST)]),
        step(vec![
            received(FIRST, vec![signed]),
            ended(TurnEnd::Answered(FinishReason::Stop)),
        ]),
    ];
    let reply = client_view::reply(&steps, &turn(), 0);
    let reply = reply.expect("an end").expect("a reply");
    assert_eq!(reply.message.blocks[0].opaque, [state]);
}

#[test]
fn what_a_provider_calls_its_reasoning_and_its_text_is_shown_before_the_words() {
    let thinking = Thinking {
        redacted: false,
        text: "Hm.".into(),
    };
    shows_the_id_first(
        BlockStart::Thinking { redacted: false },
        Block::from(Content::Thinking(thinking)),
    );
    shows_the_id_first(BlockStart::Text, Block::text("Hm."));
}

/// The `id` in the state of this block is shown before the text.
fn shows_the_id_first(start: BlockStart, mut block: Block) {
    let state = |json| OpaqueState {
        kind: "reasoning_item".into(),
        json,
        owner: StateOwner {
            dialect: "openai-responses".into(),
            endpoint: "https://api.example".into(),
            model: "m".into(),
        },
        scope: StateScope::Block,
    };
    let begun = state(json!({ "id": "rs_1" }));
    let whole = state(json!({ "type": "reasoning", "id": "rs_1", "encrypted_content": "c2ln" }));
    let index = 0;
    let deltas = [
        Delta::BlockStarted { index, start },
        Delta::StateSet {
            index,
            state: begun.clone(),
        },
        Delta::TextAppended {
            index,
            text: "Hm.".into(),
        },
        Delta::StateSet {
            index,
            state: whole.clone(),
        },
        Delta::BlockEnded { index },
    ];
    block.opaque.push(whole.clone());
    let opened = step(vec![opened(), started(FIRST)]);
    let ended = step(vec![
        received(FIRST, vec![block]),
        ended(TurnEnd::Answered(FinishReason::Stop)),
    ]);
    // Whoever looks after each piece, after some, and when all is over is shown the same.
    for looks in 0_u32..1 << deltas.len() {
        let mut teller = EventStream::new(Cursor::START);
        let mut viewer = ClientView::new(turn(), 0);
        let mut reply = ReplyAccumulator::new(turn(), FIRST);
        let mut shown = Vec::new();
        let mut see = |told| {
            for one in viewer.apply(&told) {
                if let ClientEvent::Piece { delta, .. } = one {
                    shown.push(delta);
                }
            }
        };
        teller.feed(opened.clone());
        while let Some((_, told)) = teller.next() {
            see(told);
        }
        for (nth, delta) in deltas.iter().enumerate() {
            assert_eq!(reply.push(delta), Ok(()));
            if looks & 1 << nth != 0 {
                while let Some((_, told)) = teller.next_live_piece(2, &reply) {
                    see(told);
                }
            }
        }
        teller.feed(ended.clone());
        while let Some((_, told)) = teller.next() {
            see(told);
        }
        let [start, named, words, end, over] = &deltas;
        assert_eq!(shown, [start, named, words, end, over].map(Clone::clone));
    }
}

#[test]
fn a_turn_that_ends_with_calls_that_nobody_is_to_run_has_stopped() {
    for finish in [FinishReason::ToolCalls, FinishReason::Paused] {
        let mut fact = received(FIRST, vec![Block::text("Well.")]);
        if let Fact::ReplyReceived { reply, .. } = &mut fact {
            Arc::make_mut(reply).end.finish = finish.clone();
        }
        let steps = [
            step(vec![opened(), started(FIRST)]),
            step(vec![fact, ended(TurnEnd::Answered(finish))]),
        ];
        let reply = client_view::reply(&steps, &turn(), 0);
        let reply = reply.expect("an end").expect("a reply");
        assert_eq!(reply.end.finish, FinishReason::Stop);
    }
}

#[test]
fn calls_of_the_client_are_its_own() {
    let talk = mixed(true);
    let calls: Vec<RanBy> = talk.history[1].calls().map(|call| call.ran_by).collect();
    assert_eq!(calls, [RanBy::Provider, RanBy::Client, RanBy::Provider]);
}
