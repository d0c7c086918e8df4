//! Tools that are sent again with every request.

use std::cell::Cell;
use std::sync::Arc;

use jackfield_dialect_kit::notes::Notes;
use jackfield_dialect_kit::written::Written;
use jackfield_domain::ids::ToolName;
use jackfield_domain::note::{Note, NoteEffect};
use jackfield_domain::tool::{InputFormat, ToolDefinition};

fn definition(description: &str) -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        description: description.into(),
        extensions: Vec::new(),
        input: InputFormat::Text(None),
        name: ToolName::parse("one").expect("a name"),
        output: None,
        strict: None,
    })
}

/// A shelf, and how often something was written for it.
#[derive(Default)]
struct Writer {
    shelf: Written<String>,
    written: Cell<u32>,
}

impl Writer {
    fn write(&self, tool: &Arc<ToolDefinition>, n: usize, form: u8) -> (String, Vec<Note>) {
        let mut notes = Notes::default();
        let written = self.shelf.of(tool, n, form, &mut notes, |notes| {
            self.written.set(self.written.get() + 1);
            notes.dropped(NoteEffect::Cosmetic, "left_out", format_args!("tools[{n}]"));
            format!("{} {form}", tool.description)
        });
        let text = serde_json::to_string(&written).expect("a text");
        (text, notes.into_vec())
    }
}

#[test]
fn the_same_definition_is_written_once_for_each_form_and_number() {
    let writer = Writer::default();
    let (one, equal) = (definition("a"), definition("a"));
    let first = writer.write(&one, 0, 1);
    assert_eq!(first.0, "\"a 1\"");
    assert_eq!(first.1.len(), 1);
    assert_eq!(writer.write(&one, 0, 1), first);
    assert_eq!(writer.written.get(), 1);
    assert_eq!(writer.write(&one, 0, 2).0, "\"a 2\"");
    assert_eq!(writer.write(&one, 3, 1).1[0].path, "tools[3]");
    // Another one is known by nothing, however equal it is.
    assert_eq!(writer.write(&equal, 0, 1), first);
    assert_eq!(writer.written.get(), 4);
}

#[test]
fn a_definition_in_the_place_of_one_that_is_gone_is_another() {
    let writer = Writer::default();
    for n in 0..64 {
        let description = n.to_string();
        let written = writer.write(&definition(&description), 0, 0);
        assert_eq!(written.0, format!("\"{n} 0\""));
    }
}

#[test]
fn what_is_too_long_is_written_each_time_and_the_oldest_goes_first() {
    let writer = Writer::default();
    let long = definition(&"x".repeat(70_000));
    assert_eq!(writer.write(&long, 0, 0), writer.write(&long, 0, 0));
    assert_eq!(writer.written.get(), 2);
    let many: Vec<_> = (0..40).map(|_| definition(&"x".repeat(60_000))).collect();
    for tool in &many {
        writer.write(tool, 0, 0);
    }
    writer.write(&many[39], 0, 0);
    assert_eq!(writer.written.get(), 42, "the last one is kept");
    writer.write(&many[0], 0, 0);
    assert_eq!(writer.written.get(), 43, "the first one is not");
}
