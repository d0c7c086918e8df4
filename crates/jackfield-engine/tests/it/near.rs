//! Suggestions for a name that is not known.

use jackfield_engine::near::did_you_mean;

#[test]
fn a_slip_finds_its_name_and_nonsense_finds_the_list() {
    let known = ["rounds", "tool_call", "shown"];
    assert_eq!(did_you_mean("roundz", &known), "; did you mean `rounds`?");
    assert_eq!(
        did_you_mean("toolcall", &known),
        "; did you mean `tool_call`?"
    );
    assert_eq!(
        did_you_mean("xyz", &known),
        "; there are: rounds, shown, tool_call"
    );
    assert_eq!(did_you_mean("xyz", &[] as &[&str]), "");
}
