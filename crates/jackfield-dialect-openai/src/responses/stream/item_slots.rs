//! The items of a reply in order, and the deltas that have to wait.

use std::collections::HashMap;

use jackfield_domain::delta::Delta;
use jackfield_domain::opaque::StateOwner;
use serde_json::{Map, Value};

use super::item_reader::{DeltaEmitter, Fault, ItemReader, text};
use crate::responses::reply::ContentFlags;
use jackfield_dialect_kit::outgoing::names::ReplyTools;

/// The most items of a reply.
const LIMIT: usize = 4096;

/// The items so far, in the order in which they started.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// How many of the first items were emitted completely.
    emitted_count: usize,
    /// The index of the next block.
    next_index: u32,
    pub(super) content_flags: ContentFlags,
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    fields: Map<String, Value>,
    id: Option<String>,
    index: Option<i64>,
    /// Whether its kind was guessed from an event for it.
    guessed: bool,
    kind: String,
    /// Deltas that must wait for earlier items.
    pending: Vec<Delta>,
    /// `None` once it has ended.
    reader: Option<ItemReader>,
}

/// An event's reference to its item; servers may omit either part, or get it wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct ItemRef<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) index: Option<i64>,
}

impl Slots {
    /// The item of an event: by index, and by id if several items have the index or the event has none.
    fn find(&self, name: ItemRef<'_>, kind: &str) -> Option<usize> {
        let named = name.id.filter(|id| !id.is_empty());
        let by_id = |slot: &Slot| named.is_some() && slot.id.as_deref() == named;
        let by_index = |slot: &Slot| name.index.is_some() && slot.index == name.index;
        let open = |slot: &Slot| slot.reader.is_some();
        let fits = |slot: &Slot| kind.is_empty() || slot.kind == kind;
        let nameless = named.is_none() && name.index.is_none();
        let matchers: [&dyn Fn(&Slot) -> bool; 5] = [
            &|slot| by_index(slot) && by_id(slot) && fits(slot),
            &|slot| by_index(slot) && open(slot) && fits(slot),
            &|slot| by_id(slot) && fits(slot),
            &|slot| by_index(slot) && fits(slot),
            &|slot| nameless && open(slot) && fits(slot),
        ];
        let mut matchers = matchers.iter();
        matchers.find_map(|way| self.slots.iter().rposition(way))
    }

    /// Starts an item. A repeated start is ignored.
    pub(super) fn begin(
        &mut self,
        name: ItemRef<'_>,
        fields: Map<String, Value>,
        owner: &StateOwner,
        tools: &ReplyTools,
    ) -> Result<(), Fault> {
        let kind = text(&fields, "type")
            .ok_or("an item has no type")?
            .to_owned();
        let id = name.id.or_else(|| text(&fields, "id"));
        let name = ItemRef { id, ..name };
        let known = self
            .find(name, &kind)
            .and_then(|place| self.slots.get_mut(place));
        let call = |fields: &Map<String, Value>| text(fields, "call_id").map(str::to_owned);
        if let Some(slot) = known.filter(|slot| slot.reader.is_some() && slot.kind == kind) {
            let same_id = slot.id.as_deref() == id || slot.id.is_none() || id.is_none();
            if slot.guessed || (same_id && call(&slot.fields) == call(&fields)) {
                slot.id = id.map(str::to_owned).or_else(|| slot.id.take());
                slot.index = name.index.or(slot.index);
                slot.guessed = false;
                slot.fields = fields;
                return Ok(());
            }
        }
        let id = id.map(str::to_owned);
        self.add(id, name.index, fields, owner, tools)?;
        Ok(())
    }

    fn add(
        &mut self,
        id: Option<String>,
        index: Option<i64>,
        fields: Map<String, Value>,
        owner: &StateOwner,
        tools: &ReplyTools,
    ) -> Result<usize, Fault> {
        if self.slots.len() == LIMIT {
            return Err("the reply has too many items");
        }
        let kind = text(&fields, "type").unwrap_or_default().to_owned();
        self.content_flags.call |= matches!(kind.as_str(), "custom_tool_call" | "function_call");
        let mut held = Vec::new();
        let mut emitter = DeltaEmitter {
            next_index: &mut self.next_index,
            deltas: &mut held,
            owner,
        };
        let reading = {
            let id = id.as_deref().or_else(|| text(&fields, "id"));
            ItemReader::begin(&fields, id, tools, &mut emitter)
        };
        self.slots.push(Slot {
            fields,
            guessed: false,
            pending: held,
            id,
            index,
            kind,
            reader: Some(reading),
        });
        Ok(self.slots.len() - 1)
    }

    /// Handles an event for an item, and starts the item if necessary. An event after the item's end is ignored.
    pub(super) fn update(
        &mut self,
        name: ItemRef<'_>,
        kind: &str,
        owner: &StateOwner,
        read: impl FnOnce(&mut ItemReader, &mut DeltaEmitter<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let place = match self.find(name, kind) {
            Some(place) => place,
            None => {
                let fields = Map::from_iter([("type".to_owned(), Value::from(kind))]);
                let id = name.id.map(str::to_owned);
                let place = self.add(id, name.index, fields, owner, &ReplyTools::default())?;
                if let Some(slot) = self.slots.get_mut(place) {
                    slot.guessed = true;
                }
                place
            }
        };
        let next = &mut self.next_index;
        let Some(slot) = self.slots.get_mut(place) else {
            return Ok(());
        };
        let Some(reading) = &mut slot.reader else {
            return Ok(());
        };
        let out = &mut slot.pending;
        read(
            reading,
            &mut DeltaEmitter {
                next_index: next,
                deltas: out,
                owner,
            },
        )?;
        if let ItemReader::Message(message) = reading {
            self.content_flags.refusal |= message.is_refusal();
        }
        Ok(())
    }

    /// Ends an item with its final fields.
    pub(super) fn end(
        &mut self,
        name: ItemRef<'_>,
        fields: Map<String, Value>,
        owner: &StateOwner,
        tools: &ReplyTools,
    ) -> Result<(), Fault> {
        let kind = text(&fields, "type")
            .ok_or("an item has no type")?
            .to_owned();
        let id = name.id.or_else(|| text(&fields, "id"));
        let found = self.find(ItemRef { id, ..name }, &kind);
        let place = match found {
            Some(place) if self.is_of(place, &kind, &fields) => place,
            Some(_) | None => {
                let id = id.map(str::to_owned);
                self.add(id, name.index, fields.clone(), owner, tools)?
            }
        };
        self.end_at(place, &fields, true, owner, tools)
    }

    /// Whether the item at this place is of this kind, and is not another call that has ended.
    fn is_of(&self, place: usize, kind: &str, fields: &Map<String, Value>) -> bool {
        self.slots.get(place).is_some_and(|slot| {
            let same = text(&slot.fields, "call_id") == text(fields, "call_id");
            slot.kind == kind && (slot.reader.is_some() || same)
        })
    }

    fn end_at(
        &mut self,
        place: usize,
        fields: &Map<String, Value>,
        is_final: bool,
        owner: &StateOwner,
        tools: &ReplyTools,
    ) -> Result<(), Fault> {
        let next = &mut self.next_index;
        let Some(slot) = self.slots.get_mut(place) else {
            return Ok(());
        };
        let Some(reading) = slot.reader.take() else {
            return Ok(());
        };
        let out = &mut slot.pending;
        let refusal = reading.end(
            fields,
            is_final,
            tools,
            &mut DeltaEmitter {
                next_index: next,
                deltas: out,
                owner,
            },
        )?;
        self.content_flags.refusal |= refusal;
        slot.fields = only_call_id(fields);
        Ok(())
    }

    /// Handles the end of the reply, which may repeat all items, or send them for the first time. They are matched
    /// by kind and order: ids and indices differ if a server generates them anew, or omits items.
    pub(super) fn finish(
        &mut self,
        output: Vec<Map<String, Value>>,
        owner: &StateOwner,
        tools: &ReplyTools,
    ) -> Result<(), Fault> {
        let mut counted: HashMap<String, usize> = HashMap::new();
        for fields in output {
            let kind = text(&fields, "type")
                .ok_or("an item has no type")?
                .to_owned();
            let nth = counted.entry(kind.clone()).or_default();
            let of_kind = self.slots.iter().enumerate();
            let mut of_kind = of_kind.filter(|(_, slot)| slot.kind == kind);
            let known = of_kind.nth(*nth).map(|(place, _)| place);
            *nth += 1;
            let place = match known {
                Some(place) => place,
                None => self.add(None, None, fields.clone(), owner, tools)?,
            };
            self.end_at(place, &fields, true, owner, tools)?;
        }
        for place in self.emitted_count..self.slots.len() {
            let fields = self.slots.get(place).map(|slot| slot.fields.clone());
            self.end_at(place, &fields.unwrap_or_default(), false, owner, tools)?;
        }
        Ok(())
    }

    /// Takes the deltas that can be emitted: up to the first item that has to be complete before.
    pub(super) fn flush(&mut self, out: &mut Vec<Delta>) {
        for slot in self.slots.iter_mut().skip(self.emitted_count) {
            out.append(&mut slot.pending);
            if slot.reader.as_ref().is_some_and(ItemReader::is_held) {
                break;
            }
        }
        let remaining = self.slots.iter().skip(self.emitted_count);
        self.emitted_count += remaining.take_while(|slot| slot.reader.is_none()).count();
    }
}

/// The only field needed of an item that has ended.
fn only_call_id(fields: &Map<String, Value>) -> Map<String, Value> {
    let id = fields.get("call_id");
    let id = id.map(|id| ("call_id".to_owned(), id.clone()));
    id.into_iter().collect()
}
