//! What depends on the model that is asked.

use jackfield_provider_kit::by_model::ByModel;

#[test]
fn a_name_is_looked_up_each_time_and_no_name_is_the_usual() {
    let lengths = ByModel::new(str::len);
    assert_eq!(
        (
            lengths.get("four"),
            lengths.get("seven"),
            lengths.default_value()
        ),
        (4, 5, 0)
    );
    assert_eq!(lengths.clone().get("four"), 4);
    assert_eq!(ByModel::always(7).get("four"), 7);
    assert_eq!(format!("{lengths:?}"), "ByModel(0)");
}
