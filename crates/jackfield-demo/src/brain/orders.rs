//! Orders to the model: to write a note, or to send an invoice; and the question which invoices were sent.

use super::text::{first_of, lower, spaces};
use super::{DemoTask, is_named};

/// The one task of a text that is an order. What else stands in it, such as a sum in a note, is no question.
pub(super) fn find(text: &str) -> Option<DemoTask> {
    let small = lower(text);
    note(text, &small).or_else(|| invoice(&small))
}

/// Whether a tool carries out an order, or lists what was sent.
pub(super) fn is_tool(name: &str) -> bool {
    [ADD_NOTE, SEND_INVOICE, SENT_INVOICES]
        .iter()
        .any(|tool| is_named(name, tool))
}

/// The note behind the colon. Its first sentence is its title.
fn note(text: &str, small: &[char]) -> Option<DemoTask> {
    let (order, text) = text.split_once(':')?;
    let end = order.chars().count();
    first_of(small.get(..end)?, WRITE)?;
    let text = text.trim();
    let title = text.split(['.', '!', '?', '。', '\n']).next()?;
    let title: String = title.trim().chars().take(LONGEST_TITLE).collect();
    (!title.is_empty()).then(|| DemoTask::AddNote {
        text: text.to_owned(),
        title,
    })
}

fn invoice(small: &[char]) -> Option<DemoTask> {
    if first_of(small, SENT).is_some() {
        return Some(DemoTask::ListInvoices);
    }
    let (_, end) = first_of(small, SEND)?;
    let digits = small.get(spaces(small, end)..)?.iter();
    let digits: String = digits.take_while(|c| c.is_ascii_digit()).collect();
    let number = digits.parse().ok()?;
    Some(DemoTask::SendInvoice { number })
}

pub(super) const ADD_NOTE: &str = "add_note";
pub(super) const SEND_INVOICE: &str = "send_invoice";
pub(super) const SENT_INVOICES: &str = "sent_invoices";
/// The most characters of a title.
const LONGEST_TITLE: usize = 60;
/// What comes before the number of an invoice.
const SEND: &[&str] = &[
    "send invoice",
    "send the invoice",
    "отправь счет",
    "发送发票",
];
const SENT: &[&str] = &[
    "invoices were sent",
    "sent invoices",
    "счета отправлены",
    "отправленные счета",
    "发了哪些发票",
];
/// What comes before the colon.
const WRITE: &[&str] = &[
    "add a note",
    "write a note",
    "note down",
    "запиши заметку",
    "добавь заметку",
    "写一条笔记",
    "添加笔记",
];
