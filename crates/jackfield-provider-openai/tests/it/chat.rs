//! How Chat Completions puts things on the wire, written by hand from the vendor's documentation and the
//! official SDK's types (openai-python 3.54.0); what only other servers do, from what their users report
//! (2026-11).

mod echo;
mod message;

use bytes::Bytes;
use jackfield_domain::reply::FinishReason;
use jackfield_ports::chat_model::Capabilities;
use jackfield_provider_kit::by_model::ByModel;
use jackfield_provider_openai::client::OpenAi;
use jackfield_provider_openai::config::{Api, Profile};
use jackfield_testkit::contract::chat_model::{
    BlockKind, ChatModelHarness, Echo, Manner, Recording, RequestPart, ScriptedBlock,
    ScriptedFailure, VendorReply, WireReply,
};
use jackfield_testkit::server::RecordedRequest;
use serde_json::json;

use self::message::{streamed, whole};
use crate::harness::{self, MODEL, connect, data, failed};
use crate::recordings;

const AT_END: (Manner, &str) = (Manner::ArgumentsAtEnd, "no event ends a call");

/// OpenAI's own, and DeepSeek, which shows its reasoning and wants all of it back.
pub(crate) enum ChatHarness {
    DeepSeek,
    OpenAi,
}

impl ChatModelHarness for ChatHarness {
    type Model = OpenAi;

    fn connect(&self, base_url: &str, key: &str) -> OpenAi {
        match self {
            Self::DeepSeek => {
                let mut config = harness::config(base_url, Api::ChatCompletions);
                config.key = Some(jackfield_provider_kit::secret::Secret::new(key));
                config.profile = ByModel::always(Profile::DEEPSEEK);
                config.provider = "deepseek".into();
                connect(config)
            }
            Self::OpenAi => harness::model(base_url, Api::ChatCompletions, key),
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut can = Capabilities::NONE;
        can.forced_tools = true;
        can.parallel_calls = true;
        can.streaming = true;
        can.tools = true;
        match self {
            Self::DeepSeek => can.reasoning = true,
            Self::OpenAi => {
                can.documents = true;
                can.images = true;
                can.structured_output = true;
            }
        }
        can
    }

    fn model(&self) -> &str {
        match self {
            Self::DeepSeek => "deepseek-v4-pro",
            Self::OpenAi => MODEL,
        }
    }

    fn provider(&self) -> &str {
        match self {
            Self::DeepSeek => "deepseek",
            Self::OpenAi => "openai",
        }
    }

    fn impossible(&self) -> &[(Manner, &str)] {
        &[AT_END]
    }

    fn usual(&self) -> &[Manner] {
        match self {
            Self::DeepSeek => &[Manner::ArgumentsEmpty],
            Self::OpenAi => &[Manner::ArgumentsEmpty, Manner::UsageApart],
        }
    }

    fn never_sends(&self) -> &[(BlockKind, &str)] {
        match self {
            Self::DeepSeek => &[
                (BlockKind::CustomCall, "it does not know free text"),
                (BlockKind::TextWithState, "a text is a text alone"),
            ],
            Self::OpenAi => &[(
                BlockKind::Reasoning,
                "reasoning is counted here and never shown",
            )],
        }
    }

    fn never_takes(&self) -> &[(RequestPart, &str)] {
        &[(RequestPart::OutcomeTool, "a result goes by its call's id")]
    }

    fn recordings(&self) -> Vec<Recording> {
        match self {
            Self::DeepSeek => Vec::new(),
            Self::OpenAi => recordings::chat(),
        }
    }

    fn render(&self, reply: &VendorReply) -> Option<WireReply> {
        let impossible = |(manner, _): &(Manner, &str)| *manner == reply.manner;
        if self.impossible().iter().any(impossible) {
            return None;
        }
        let (reasons, customs) = match self {
            Self::DeepSeek => (true, false),
            Self::OpenAi => (false, true),
        };
        for block in &reply.blocks {
            match block {
                ScriptedBlock::CustomCall { .. } if !customs => return None,
                ScriptedBlock::Reasoning { .. } if !reasons => return None,
                ScriptedBlock::CustomCall { .. }
                | ScriptedBlock::Reasoning { .. }
                | ScriptedBlock::Refusal(_)
                | ScriptedBlock::Text { .. }
                | ScriptedBlock::ToolCall { .. } => {}
            }
        }
        let finish = match &reply.finish {
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Length => "length",
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls if reply.manner == Manner::FinishSaysStop => "stop",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::Unrecognized(reason) => reason,
            FinishReason::ContextFull
            | FinishReason::Paused
            | FinishReason::Refused
            | FinishReason::StopSequence(_) => return None,
        };
        let wire = if reply.manner == Manner::NotStreamed {
            WireReply::json(200, whole(reply, finish).to_string())
        } else {
            // DeepSeek tells the usage with the end.
            let apart = match self {
                Self::DeepSeek => reply.manner == Manner::UsageApart,
                Self::OpenAi => true,
            };
            streamed(reply, finish, apart)
        };
        Some(wire.header("x-request-id", "req_1"))
    }

    fn echo(&self, request: &RecordedRequest) -> Echo {
        echo::read(&request.json())
    }

    fn render_failure(&self, failure: &ScriptedFailure) -> WireReply {
        failed(failure)
    }

    fn render_models(&self, ids: &[&str]) -> Option<Vec<WireReply>> {
        Some(vec![harness::models(ids)])
    }

    fn render_failure_event(&self, failure: &ScriptedFailure) -> Option<Bytes> {
        let body = failed(failure).pieces.concat();
        Some(data(&serde_json::from_slice(&body).unwrap()))
    }

    fn unknown_events(&self) -> Vec<Bytes> {
        vec![
            ": OPENROUTER PROCESSING\n\n".into(),
            data(&json!({ "choices": [], "prompt_filter_results": [{ "prompt_index": 0 }] })),
            data(&json!({
                "choices": [{ "index": 0, "delta": { "mood": ["fine"] }, "finish_reason": null }],
                "obfuscation": "Kx9",
            })),
        ]
    }

    fn broken_event(&self) -> Option<Bytes> {
        Some("data: {\"choices\":[{\"ind\n\n".into())
    }
}
