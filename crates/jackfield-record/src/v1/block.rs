//! Forms of blocks.

use std::sync::Arc;

use jackfield_domain::block::{
    Annotation, Block, CachePoint, Content, OpaqueBlock, Text, Thinking, ToolCall,
};
use jackfield_domain::media::{Audio, Document, Image};
use jackfield_domain::opaque::OpaqueState;
use jackfield_domain::outcome::ToolOutcome;
use serde_json::Value;

stored_struct! { Annotation as AnnotationForm {
    dialect: Arc<str>, json: Value; maybe title: Arc<str>, url: Arc<str>
} }

stored_struct! { Block as BlockForm {
    content: Content; maybe cache: CachePoint; many opaque: OpaqueState
} }

stored_struct! { CachePoint as CachePointForm { ; maybe seconds: u32 } }

stored_enum! { Content as ContentForm {
    Audio(audio: Audio),
    Document(document: Document),
    Image(image: Image),
    Opaque(block: OpaqueBlock),
    Refusal(text: Arc<str>),
    Text(text: Text),
    Thinking(thinking: Thinking),
    ToolCall(call: Arc<ToolCall>),
    ToolOutcome(outcome: Arc<ToolOutcome>),
} }

stored_struct! { Text as TextForm { text: Arc<str>; many annotations: Annotation } }

stored_struct! { Thinking as ThinkingForm { text: Arc<str>, redacted: bool } }
