//! Arrays in the place of objects.

use jackfield_testkit::arrays::arrays_for_objects;
use serde_json::json;

#[test]
fn each_object_in_turn_but_the_outermost_and_the_free_ones() {
    let whole = json!({ "a": { "b/c": { "d": 1 } }, "e": [{}, { "f": 2 }], "any": { "g": {} } });
    let made = arrays_for_objects(&whole, &["any"]);
    let places: Vec<&str> = made.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(places, ["a.b/c", "a", "e.1"]);
    assert_eq!(made[0].1["a"], json!({ "b/c": [1] }));
    assert_eq!(made[1].1["a"], json!([{ "d": 1 }]));
    assert_eq!(made[2].1["e"], json!([{}, [2]]));
}
