//! How acme puts calls on the wire, in every manner.

use jackfield_testkit::contract::chat_model::{Manner, ScriptedBlock, VendorReply};
use serde_json::{Value, json};

/// Calls that follow one another, until something else comes.
pub(super) struct Calls {
    count: usize,
    first: Option<String>,
    manner: Manner,
    waiting: Vec<Events>,
}

/// The events of one call.
struct Events {
    begin: Value,
    pieces: Vec<Value>,
    end: Vec<Value>,
}

impl Calls {
    pub(super) const fn new(reply: &VendorReply) -> Self {
        Self {
            count: 0,
            first: None,
            manner: reply.manner,
            waiting: Vec::new(),
        }
    }

    /// Takes the block if it is a call.
    pub(super) fn take(&mut self, block: &ScriptedBlock) -> bool {
        let (id, name, pieces) = match block {
            ScriptedBlock::CustomCall { id, input, name } => (id, name, input),
            ScriptedBlock::ToolCall {
                arguments,
                id,
                name,
                ..
            } => (id, name, arguments),
            ScriptedBlock::Reasoning { .. }
            | ScriptedBlock::Refusal(_)
            | ScriptedBlock::Text { .. } => return false,
        };
        let manner = self.manner;
        let whole = pieces.concat();
        let mut call = json!({ "name": name });
        match block {
            ScriptedBlock::CustomCall { .. } => call["free"] = json!(true),
            ScriptedBlock::ToolCall {
                state: Some(state), ..
            } => call["mark"] = json!(state),
            _ => {}
        }
        match manner {
            Manner::IdEmpty => call["id"] = json!(""),
            Manner::IdMissing => {}
            Manner::IdSame => {
                call["id"] = json!(self.first.get_or_insert_with(|| id.clone()));
            }
            _ => call["id"] = json!(id),
        }
        let at_once = [Manner::ArgumentsAtOnce, Manner::CallsInOnePiece].contains(&manner);
        if at_once {
            call["args"] = json!(whole);
        }
        let pieces: Vec<Value> = match manner {
            _ if at_once || manner == Manner::ArgumentsAtEnd => Vec::new(),
            Manner::ArgumentsAsObject if whole.is_empty() => Vec::new(),
            Manner::ArgumentsAsObject => vec![serde_json::from_str(&whole).unwrap()],
            Manner::ArgumentsCumulative => {
                let sums = pieces.iter().scan(String::new(), |sum, piece| {
                    sum.push_str(piece);
                    Some(json!(sum))
                });
                sums.collect()
            }
            Manner::ArgumentsEmpty if whole.is_empty() => vec![json!("")],
            Manner::ArgumentsNull if whole.is_empty() => vec![Value::Null],
            _ => pieces.iter().map(|piece| json!(piece)).collect(),
        };
        let mut pieces: Vec<Value> = pieces
            .into_iter()
            .map(|args| json!({ "args": args }))
            .collect();
        let mut end = vec![json!({ "called": {} })];
        match manner {
            Manner::ArgumentsAtEnd => end = vec![json!({ "called": { "args": whole } })],
            Manner::LaterIdAndNameEmpty => {
                for piece in &mut pieces {
                    piece["id"] = json!("");
                    piece["name"] = json!("");
                }
            }
            Manner::NameLate => {
                call["name"] = Value::Null;
                end.insert(0, json!({ "name": name }));
            }
            Manner::NameRepeated => {
                for piece in &mut pieces {
                    piece["name"] = json!(name);
                }
            }
            _ => {}
        }
        if let Some(number) = self.number() {
            call["n"] = json!(number);
            for event in pieces.iter_mut().chain(&mut end) {
                let event = match event.get("called") {
                    Some(_) => &mut event["called"],
                    None => event,
                };
                event["n"] = json!(number);
            }
        }
        self.count += 1;
        self.waiting.push(Events {
            begin: call,
            pieces,
            end,
        });
        true
    }

    /// The events of the calls so far.
    pub(super) fn events(&mut self) -> Vec<Value> {
        let calls = std::mem::take(&mut self.waiting);
        let begun = |call: Value| json!({ "call": call });
        match self.manner {
            Manner::ArgumentsInterleaved => {
                let mut events: Vec<Value> =
                    calls.iter().map(|call| begun(call.begin.clone())).collect();
                let longest = calls.iter().map(|call| call.pieces.len()).max();
                for turn in 0..longest.unwrap_or(0) {
                    events.extend(
                        calls
                            .iter()
                            .filter_map(|call| call.pieces.get(turn).cloned()),
                    );
                }
                events.extend(calls.into_iter().flat_map(|call| call.end));
                events
            }
            Manner::CallsInOnePiece if !calls.is_empty() => {
                let calls: Vec<Value> = calls.into_iter().map(|call| call.begin).collect();
                vec![json!({ "calls": calls })]
            }
            _ => calls
                .into_iter()
                .flat_map(|call| {
                    let events = std::iter::once(begun(call.begin)).chain(call.pieces);
                    events.chain(call.end)
                })
                .collect(),
        }
    }

    fn number(&self) -> Option<i64> {
        let place = i64::try_from(self.count).unwrap();
        match self.manner {
            Manner::IndexMissing => None,
            Manner::IndexNegative => Some(-1),
            Manner::IndexOneBased => Some(place + 1),
            Manner::IndexReused => Some(0),
            _ => Some(place),
        }
    }
}
