//! The tool by which a model finds others.

use jackfield_domain::find_tools::{entry, is, names, outcome};
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::tool::{Catalog, CatalogEntry, ToolOrigin};

#[test]
fn an_outcome_names_what_was_found_and_nothing_else_does() {
    let tool = entry(&Catalog::default()).expect("the tool");
    assert!(is(&tool));
    let found = names(&outcome(&[&tool, &tool]));
    assert_eq!(found, vec![tool.definition.name.clone(); 2]);
    assert_eq!(names(&outcome(&[])), []);
    for other in ["", "[]", "{}", r#"{"tools":[{"name":"no tool"},{},7]}"#] {
        assert_eq!(names(&ToolResult::text(other)), [], "{other}");
    }
    let other = CatalogEntry {
        origin: ToolOrigin {
            tool: "other".into(),
            ..tool.origin.clone()
        },
        ..tool
    };
    assert!(!is(&other));
}
