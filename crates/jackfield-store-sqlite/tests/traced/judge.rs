//! Judges a trace by SQLite's file format alone: a transaction is in the log when its last frame is,
//! and it is durable when a sync of the log that began afterwards has succeeded.

use crate::trace::Call;

/// What a trace says of the log.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The acknowledged appends before which no sync made them durable.
    pub(crate) not_durable: Vec<u32>,
    pub(crate) told: Vec<u32>,
    /// How many syncs of the log there were after the first acknowledged append was written.
    pub(crate) syncs: usize,
}

/// Judges the calls of a program that says `acknowledged N` of the append with the mark `mark-N`.
pub(crate) fn judge(calls: &[Call]) -> Verdict {
    let transactions = transactions(calls);
    let syncs: Vec<&Call> = calls.iter().filter(|call| is_sync(call)).collect();
    let mut verdict = Verdict {
        not_durable: Vec::new(),
        syncs: 0,
        told: Vec::new(),
    };
    for (nth, told_at) in acknowledged(calls) {
        let mark = format!("mark-{nth:05}").into_bytes();
        let durable = transactions.iter().any(|transaction| {
            transaction.has(&mark)
                && syncs.iter().any(|sync| {
                    sync.succeeded && sync.began > transaction.ended && sync.ended < told_at
                })
        });
        verdict.told.push(nth);
        if !durable {
            verdict.not_durable.push(nth);
        }
    }
    let first = transactions.iter().find(|one| one.has(b"mark-"));
    let first = first.map_or(usize::MAX, |transaction| transaction.ended);
    verdict.syncs = syncs.iter().filter(|sync| sync.began > first).count();
    verdict
}

/// Whether this is a sync of the log.
fn is_sync(call: &Call) -> bool {
    is_log(call) && (call.name == "fdatasync" || call.name == "fsync")
}

fn is_log(call: &Call) -> bool {
    call.file.ends_with("-wal")
}

/// A transaction in the log.
struct Transaction {
    /// When its last frame was written.
    ended: usize,
    pages: Vec<Vec<u8>>,
}

impl Transaction {
    fn has(&self, mark: &[u8]) -> bool {
        let has = |page: &Vec<u8>| page.windows(mark.len()).any(|piece| piece == mark);
        self.pages.iter().any(has)
    }
}

/// The transactions that were written as a whole.
fn transactions(calls: &[Call]) -> Vec<Transaction> {
    let mut transactions = Vec::new();
    let mut pages = Vec::new();
    let mut is_last = false;
    for call in calls.iter().filter(|call| is_log(call)) {
        if call.name != "pwrite64" {
            continue;
        }
        if !call.succeeded {
            // Whatever was begun is begun again.
            pages.clear();
            continue;
        }
        if call.bytes.len() == FRAME_HEADER {
            // The size of the database after the transaction, in its last frame alone.
            is_last = call.bytes[4..8].iter().any(|byte| *byte != 0);
        } else if call.bytes.len() >= SMALLEST_PAGE {
            pages.push(call.bytes.clone());
            if is_last {
                transactions.push(Transaction {
                    ended: call.ended,
                    pages: std::mem::take(&mut pages),
                });
            }
        }
    }
    transactions
}

/// The appends that were acknowledged, and when the word was given.
fn acknowledged(calls: &[Call]) -> Vec<(u32, usize)> {
    let said = calls
        .iter()
        .filter(|call| call.name == "write" && call.descriptor == "1");
    let lines = said.filter_map(|call| {
        let line = String::from_utf8_lossy(&call.bytes);
        let nth = line.strip_prefix("acknowledged ")?.trim_end().parse();
        Some((nth.ok()?, call.began))
    });
    lines.collect()
}

const FRAME_HEADER: usize = 24;
const SMALLEST_PAGE: usize = 512;
