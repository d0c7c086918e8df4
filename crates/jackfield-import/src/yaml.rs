//! YAML as a tree whose nodes know their lines.
//!
//! Anchors, aliases and merge keys are resolved. Depth, nodes and their text are bounded, so that a few lines of
//! aliases cannot become a tree that fills the memory.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use crate::ImportError;

/// A value, and the line where it begins.
#[derive(Clone)]
pub(crate) struct Node {
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// What stands at a place.
#[derive(Clone)]
pub(crate) enum Value {
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Nothing: `null`, `~`, or no text at all.
    Null,
    Text(String),
}

/// A key with its value.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The line of the key.
    pub(crate) line: usize,
    pub(crate) node: Node,
}

impl Node {
    /// The entries of a map; none of anything else.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::List(_) | Value::Null | Value::Text(_) => &[],
        }
    }

    /// The items of a list; anything else but null is a list of one.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            Value::Null => &[],
            Value::Map(_) | Value::Text(_) => std::slice::from_ref(self),
        }
    }

    /// The value under a key; the last one counts, as in Python.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let mut entries = self.entries().iter().rev();
        entries
            .find(|entry| entry.key == key)
            .map(|entry| &entry.node)
    }

    /// The text of a text, a number or a truth value.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::List(_) | Value::Map(_) | Value::Null => None,
        }
    }

    /// The truth value that the text is, as YAML 1.1 has it.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// The finite number that the text is.
    pub(crate) fn number(&self) -> Option<f64> {
        let number: f64 = self.text()?.parse().ok()?;
        number.is_finite().then_some(number)
    }

    fn size(&self) -> Size {
        let mut size = Size { bytes: 0, nodes: 1 };
        match &self.value {
            Value::List(items) => {
                for item in items {
                    size.add(item.size());
                }
            }
            Value::Map(entries) => {
                for entry in entries {
                    size.bytes += entry.key.len();
                    size.add(entry.node.size());
                }
            }
            Value::Null => {}
            Value::Text(text) => size.bytes += text.len(),
        }
        size
    }
}

/// How much of the memory nodes take.
#[derive(Clone, Copy, Default)]
struct Size {
    /// The bytes of their texts and keys.
    bytes: usize,
    nodes: usize,
}

impl Size {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.nodes += other.nodes;
    }
}

/// Reads the first document of a text.
pub(crate) fn read(text: &str) -> Result<Node, ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge { bound: "1 MiB" });
    }
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| ImportError::Malformed {
            line: error.marker().line(),
            problem: "this is not valid YAML".to_owned(),
        })?;
        if tree.take(event, span.start.line())? {
            break;
        }
    }
    Ok(tree.root.unwrap_or(Node {
        line: 1,
        value: Value::Null,
    }))
}

/// The tree as far as it is read.
#[derive(Default)]
struct Tree {
    anchors: HashMap<usize, Node>,
    open: Vec<Open>,
    root: Option<Node>,
    /// The size of all nodes, those that stand for anchors and aliases among them.
    size: Size,
}

/// A list or map that is not complete.
struct Open {
    anchor: usize,
    items: Vec<Node>,
    is_map: bool,
    line: usize,
}

impl Tree {
    /// Takes an event; true at the end of the first document.
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<bool, ImportError> {
        match event {
            Event::Alias(anchor) => {
                let Some(size) = self.anchors.get(&anchor).map(Node::size) else {
                    return Err(ImportError::Malformed {
                        line,
                        problem: "the alias stands before the end of its anchor".to_owned(),
                    });
                };
                self.grow(size)?;
                if let Some(node) = self.anchors.get(&anchor).cloned() {
                    self.put(Node { line, ..node }, 0)?;
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let is_null = style == ScalarStyle::Plain
                    && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                let value = if is_null {
                    Value::Null
                } else {
                    Value::Text(text.into_owned())
                };
                let node = Node { line, value };
                self.grow(node.size())?;
                self.put(node, anchor)?;
            }
            Event::SequenceStart(anchor, _) => self.open(anchor, false, line)?,
            Event::MappingStart(anchor, _) => self.open(anchor, true, line)?,
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::DocumentEnd => return Ok(true),
            Event::DocumentStart(_) | Event::Nothing | Event::StreamEnd | Event::StreamStart => {}
        }
        Ok(false)
    }

    fn open(&mut self, anchor: usize, is_map: bool, line: usize) -> Result<(), ImportError> {
        if self.open.len() >= MAX_DEPTH {
            let bound = "64 levels";
            return Err(ImportError::TooLarge { bound });
        }
        self.grow(Size { bytes: 0, nodes: 1 })?;
        self.open.push(Open {
            anchor,
            items: Vec::new(),
            is_map,
            line,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), ImportError> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let value = if open.is_map {
            Value::Map(entries(open.items))
        } else {
            Value::List(open.items)
        };
        self.put(
            Node {
                line: open.line,
                value,
            },
            open.anchor,
        )
    }

    /// Counts nodes before they are made.
    fn grow(&mut self, by: Size) -> Result<(), ImportError> {
        self.size.add(by);
        let bound = if self.size.nodes > MAX_NODES {
            "100,000 values"
        } else if self.size.bytes > MAX_TEXT {
            "8 MiB of text"
        } else {
            return Ok(());
        };
        Err(ImportError::TooLarge { bound })
    }

    fn put(&mut self, node: Node, anchor: usize) -> Result<(), ImportError> {
        if anchor != 0 {
            self.grow(node.size())?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            Some(open) => open.items.push(node),
            None => self.root = Some(node),
        }
        Ok(())
    }
}

/// The entries of a map from its keys and values in turn. What `<<` merges stands before, so that the map's own
/// entries count.
fn entries(items: Vec<Node>) -> Vec<Entry> {
    let mut merged = Vec::new();
    let mut own = Vec::new();
    let mut items = items.into_iter();
    while let (Some(key), Some(node)) = (items.next(), items.next()) {
        match key.value {
            Value::Text(text) if text == "<<" => {
                // Of several maps, the first counts.
                for map in node.items().iter().rev() {
                    merged.extend_from_slice(map.entries());
                }
            }
            Value::Text(text) => own.push(Entry {
                key: text,
                line: key.line,
                node,
            }),
            // No key of any file we read.
            Value::List(_) | Value::Map(_) | Value::Null => {}
        }
    }
    merged.append(&mut own);
    merged
}

const MAX_BYTES: usize = 1024 * 1024;
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 100_000;
/// The most text with all aliases resolved, in bytes.
const MAX_TEXT: usize = 8 * 1024 * 1024;
