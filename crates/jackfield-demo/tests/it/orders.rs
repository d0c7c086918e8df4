//! Orders to the model, to write a note or to send an invoice; and answers as a table.

use std::sync::Arc;

use jackfield_domain::outcome::ToolResult;
use serde_json::{Value, json};

use crate::asking::{Talk, calculate, calls, definition, tell};

fn asking(text: &str) -> Talk {
    let schema = |properties: Value| json!({ "type": "object", "properties": properties });
    let mut talk = Talk::asking(text);
    let tools = Arc::make_mut(&mut talk.request.tools);
    let note = json!({ "title": { "type": "string" }, "text": { "type": "string" } });
    tools.push(definition("add_note", schema(note)));
    tools.push(definition("send_invoice", schema(json!({ "number": {} }))));
    tools.push(definition("sent_invoices", schema(json!({}))));
    talk
}

#[test]
fn an_order_is_one_call_and_its_result_the_answer() {
    let note = |title: &str, text: &str| ("add_note", json!({ "title": title, "text": text }));
    for (text, (tool, arguments), before) in [
        (
            "Add a note: Tea for Lin. 2 * 3 bags, and what time is it in Tokyo?",
            note(
                "Tea for Lin",
                "Tea for Lin. 2 * 3 bags, and what time is it in Tokyo?",
            ),
            "I will see to it.",
        ),
        ("Запиши заметку: чай", note("чай", "чай"), "Сейчас сделаю."),
        ("添加笔记：茶。绿的", note("茶", "茶。绿的"), "我来办。"),
        (
            "Send invoice 7.",
            ("send_invoice", json!({ "number": 7 })),
            "I will see to it.",
        ),
        (
            "Отправь счёт 12",
            ("send_invoice", json!({ "number": 12 })),
            "Сейчас сделаю.",
        ),
        (
            "发送发票7",
            ("send_invoice", json!({ "number": 7 })),
            "我来办。",
        ),
        (
            "Which invoices were sent?",
            ("sent_invoices", json!({})),
            "I will see to it.",
        ),
    ] {
        let mut talk = asking(text);
        let first = talk.reply();
        assert_eq!(calls(&first), [(tool.to_owned(), arguments)], "{text}");
        assert_eq!(first.text, before, "{text}");
        talk.outcomes(&first, vec![ToolResult::text("Done.")]);
        let answer = talk.reply();
        assert_eq!(
            (answer.text.as_str(), answer.calls.len()),
            ("Done.", 0),
            "{text}"
        );
    }
}

#[test]
fn an_order_without_what_is_needed_is_none() {
    for text in [
        "Add a note: ",
        "Add a note",
        "Send invoice",
        "Send invoice x",
    ] {
        assert_eq!(calls(&asking(text).reply()), [], "{text}");
    }
}

#[test]
fn answers_are_a_table_where_one_is_asked_for() {
    let results = ["375", "It is\n9 | 10"].map(ToolResult::text).to_vec();
    for (text, expected) in [
        (
            "As a table: 15% of 2500, and what time is it in Tokyo?",
            "| Asked | Answer |\n|---|---|\n| 15% of 2500 | 375 |\n| In Tokyo | It is; 9 \\| 10 |",
        ),
        (
            "Таблицей: сколько будет 15% от 2500, и который час в Токио?",
            "| Вопрос | Ответ |\n|---|---|\n| 15% of 2500 | 375 |\n| в Токио | It is; 9 \\| 10 |",
        ),
        (
            "用表格：2500的15%是多少？东京现在几点？",
            "| 问题 | 答案 |\n|---|---|\n| 15% of 2500 | 375 |\n| 东京 | It is; 9 \\| 10 |",
        ),
    ] {
        let mut talk = asking(text);
        let first = talk.reply();
        let wanted = [calculate("15% of 2500"), tell("Asia/Tokyo")];
        assert_eq!(calls(&first), wanted, "{text}");
        talk.outcomes(&first, results.clone());
        assert_eq!(talk.reply().text, expected);
        // What failed does not fit in a row.
        let mut talk = asking(text);
        let first = talk.reply();
        talk.outcomes(
            &first,
            vec![ToolResult::text("375"), ToolResult::error("no")],
        );
        assert!(!talk.reply().text.contains('|'), "{text}");
    }
}
