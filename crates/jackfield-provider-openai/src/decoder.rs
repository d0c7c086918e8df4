//! The decoder of either API.

use jackfield_dialect_openai::{chat, responses};
use jackfield_domain::delta::Delta;
use jackfield_domain::reply::ReplyEnd;
use jackfield_domain::usage::Usage;
use jackfield_provider_kit::exchange::{DecodeError, DecodeReply};

/// Reads a reply of one of the two APIs.
#[derive(Debug)]
pub enum Decoder {
    /// A reply of Chat Completions.
    ChatCompletions(chat::stream::Decoder),
    Responses(responses::stream::Decoder),
}

impl DecodeReply for Decoder {
    fn push(&mut self, name: Option<&str>, data: &str) -> Result<Vec<Delta>, DecodeError> {
        match self {
            Self::ChatCompletions(decoder) => decoder.push(name, data),
            Self::Responses(decoder) => decoder.push(name, data),
        }
    }

    fn usage(&self) -> Option<Usage> {
        match self {
            Self::ChatCompletions(decoder) => decoder.usage(),
            Self::Responses(decoder) => decoder.usage(),
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::ChatCompletions(decoder) => decoder.is_complete(),
            Self::Responses(decoder) => decoder.is_complete(),
        }
    }

    fn rest(&mut self) -> Result<Vec<Delta>, DecodeError> {
        match self {
            Self::ChatCompletions(decoder) => decoder.rest(),
            Self::Responses(decoder) => decoder.rest(),
        }
    }

    fn finish(self) -> Result<ReplyEnd, DecodeError> {
        match self {
            Self::ChatCompletions(decoder) => decoder.finish(),
            Self::Responses(decoder) => decoder.finish(),
        }
    }

    fn read_whole(self, body: &[u8]) -> Result<(Vec<Delta>, ReplyEnd), DecodeError> {
        match self {
            Self::ChatCompletions(decoder) => decoder.read_whole(body),
            Self::Responses(decoder) => decoder.read_whole(body),
        }
    }
}
