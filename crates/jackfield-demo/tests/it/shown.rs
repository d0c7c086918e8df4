//! Every question that the documents, the help, the model itself and the tests of the program show.

use serde_json::{Value, json};

use crate::asking::{Talk, calculate, calls, tell};

fn check(text: &str, wanted: &[(String, Value)]) {
    assert_eq!(calls(&Talk::asking(text).reply()), *wanted, "{text}");
}

#[test]
fn the_questions_of_the_documents_and_the_programs_tests_are_understood() {
    let percent = calculate("15% of 2500");
    for text in [
        "What is 15% of 2500, and what time is it in Tokyo?",
        "Сколько будет 15% от 2500, и который час в Токио?",
        "2500的15%是多少？东京现在几点？",
    ] {
        check(text, &[percent.clone(), tell("Asia/Tokyo")]);
    }
    check("What is 15% of 2500?", &[percent]);
    check("What time is it in Tokyo?", &[tell("Asia/Tokyo")]);
    let here = ("current_datetime".to_owned(), json!({}));
    check("What time is it here?", &[here]);
    for (text, expression) in [
        ("What is 12 * 12?", "12 * 12"),
        ("what is 12 * 12", "12 * 12"),
        ("What is 17 * 4?", "17 * 4"),
        ("1+1", "1 + 1"),
        ("2+2", "2 + 2"),
    ] {
        check(text, &[calculate(expression)]);
    }
}

#[test]
fn the_examples_that_the_model_gives_are_understood() {
    let cities = [tell("Asia/Tokyo"), tell("Europe/Paris")];
    let sums = [calculate("15% of 2500"), calculate("sqrt(2) * 10")];
    for (hello, quotes) in [("Hello", "\"\""), ("Привет", "«»"), ("你好", "“”")] {
        let said = Talk::asking(hello).reply().text;
        let mut parts = said.split(|c| quotes.contains(c)).skip(1).step_by(2);
        for sum in &sums {
            check(parts.next().unwrap_or_default(), std::slice::from_ref(sum));
        }
        check(parts.next().unwrap_or_default(), &cities);
        assert_eq!(parts.next(), None, "{said}");
    }
}
