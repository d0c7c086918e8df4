//! A journal with users as text. An optional field that is missing is left out, so that a later optional field changes
//! no text.

use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use jackfield_domain::digest::Digest;
use jackfield_domain::directory::{
    ClientKey, DirectoryChange, DirectoryEntry, KeySecret, OwnServer, ProviderKey, SignIn, Team,
    User,
};
use jackfield_domain::quota::{Meter, MeterOperation, MeterOutcome, PeriodTotal, Quota};
use jackfield_domain::spending_record::SpendingRecord;
use jackfield_domain::time::WallTime;
use jackfield_domain::wait::WaitKind;
use jackfield_engine::MasterKeys;
use jackfield_ports::journal::Journal;
use jackfield_ports::journal::directory::ChangeQuery;
use jackfield_ports::journal::sessions::{SessionQuery, WaitQuery};
use jackfield_ports::journal::spending::SpendingQuery;
use serde_json::Value;

use super::{AccountsJournal, AccountsSecrets};
use crate::harness::MASTER;

/// What was used, as the program sums it.
pub(crate) async fn usage(journal: &AccountsJournal) -> String {
    let mut text = String::new();
    for by in ["user", "model"] {
        let usage = ["usage", "--by", by, "--json"];
        let ran = journal.run(&usage).run().await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let report: Value = serde_json::from_str(&ran.out).expect("JSON");
        head(&mut text, &format!("usage by {by}"));
        for line in report["lines"].as_array().expect("lines") {
            let number = |name: &str| line[name].as_u64().expect("a number");
            let costs = line["cost"].as_array().into_iter().flatten();
            let costs = costs.map(|cost| format!(", {} {}", cost["amount"], cost["currency"]));
            let costs: String = costs.collect();
            let _written = writeln!(
                text,
                "  {}: {} turns, {} replies, {} with own keys, {} in, {} out{}",
                line[by].as_str().expect("a name"),
                number("turns"),
                number("replies"),
                number("own_key_replies"),
                number("input_tokens"),
                number("output_tokens"),
                costs.replace('"', "")
            );
        }
    }
    text
}

/// What is in the journal itself.
pub(crate) async fn journal(journal: &dyn Journal, secrets: &AccountsSecrets) -> String {
    let mut text = String::new();
    let meters = changes(&mut text, journal).await;
    clients(&mut text, journal, secrets).await;
    sealed(&mut text, journal).await;
    totals(&mut text, journal, meters).await;
    spending(&mut text, journal).await;
    sessions(&mut text, journal).await;
    text
}

/// All changes, the oldest first. Returns the names of the meters of what was changed.
async fn changes(text: &mut String, journal: &dyn Journal) -> BTreeSet<Arc<str>> {
    head(text, "changes of users, teams, keys and what users bring");
    let directory = journal.directory().expect("a directory");
    let all = ChangeQuery {
        limit: MANY,
        ..ChangeQuery::default()
    };
    let mut meters = BTreeSet::new();
    for (number, change) in directory.changes(&all).await.expect("a list").iter().rev() {
        let DirectoryChange {
            action,
            at,
            by,
            entry,
            revision,
        } = change;
        let (kind, name) = (entry.kind(), entry.name());
        let found = directory.entry(kind, &name).await.expect("an answer");
        assert!(found.is_some_and(|newest| newest.revision >= *revision));
        meters.insert(Arc::from(format!("{}:{name}", kind.as_str())));
        let _written = writeln!(
            text,
            "  {number} {} {} {name}, revision {revision}, {}, by {by}",
            action.as_str(),
            kind.as_str(),
            at.to_rfc3339()
        );
        let _written = writeln!(text, "    {}", described(entry));
    }
    meters
}

/// The key or the login of each secret.
async fn clients(text: &mut String, journal: &dyn Journal, secrets: &AccountsSecrets) {
    head(text, "what each secret opens");
    let directory = journal.directory().expect("a directory");
    let logins = journal.logins().expect("logins");
    for (name, secret) in secrets {
        let opens = if let Some((_, value)) = secret.split_once('=') {
            let found = logins.find_login(&Digest::of(value.as_bytes())).await;
            let login = found.expect("an answer").expect("a login");
            format!(
                "a login of {} until {}",
                login.client,
                login.expires.to_rfc3339()
            )
        } else {
            let found = directory.find_key(&Digest::of(secret.as_bytes())).await;
            found.expect("an answer").map_or_else(
                || "nothing".to_owned(),
                |key| format!("{} at revision {}", key.entry.name(), key.revision),
            )
        };
        let _written = writeln!(text, "  {name}: {opens}");
    }
}

/// The secrets of entries, decrypted.
async fn sealed(text: &mut String, journal: &dyn Journal) {
    head(text, "secrets under the master key of the tests");
    let keys = MasterKeys::parse(MASTER).expect("a master key");
    let secrets = journal.secrets().expect("secrets");
    for (place, sealed) in secrets.page(None, MANY).await.expect("a page") {
        let opened = keys.open(&place, &sealed).expect("it can be opened");
        let _written = writeln!(
            text,
            "  {} {} {}, under {}: {}",
            place.kind,
            place.entry,
            place.name,
            sealed.master_key,
            opened.expose()
        );
    }
}

/// What is counted for budgets.
async fn totals(text: &mut String, journal: &dyn Journal, names: BTreeSet<Arc<str>>) {
    head(text, "counted for budgets");
    let meters: Vec<_> = names.into_iter().collect();
    let look = MeterOperation::Look {
        meters: meters.clone(),
    };
    let seen = journal.meters().expect("meters").perform(&look).await;
    let MeterOutcome::Seen(seen) = seen.expect("an answer") else {
        panic!("nothing is seen");
    };
    for (name, meter) in meters.iter().zip(seen) {
        let Meter {
            day,
            holds: _,
            minute: _,
            minute_before: _,
            month,
            next_request: _,
            reservations,
        } = meter;
        if (day, month, reservations.len()) == (None, None, 0) {
            continue;
        }
        let period = |total: Option<PeriodTotal>, begins: fn(i64) -> WallTime| {
            let total = total.map(|PeriodTotal { period, spent }| {
                let begins = begins(period).to_rfc3339();
                format!(
                    "{}: {} USD, {} tokens",
                    &begins[..10],
                    spent.cost,
                    spent.tokens
                )
            });
            total.unwrap_or_default()
        };
        let (day, month) = (
            period(day, WallTime::at_utc_day),
            period(month, WallTime::at_utc_month),
        );
        let _written = writeln!(text, "  {name}, day of {day}, month of {month}");
        if !reservations.is_empty() {
            let tokens: u64 = reservations.iter().map(|one| one.amount.tokens).sum();
            let calls = reservations.len();
            let _written = writeln!(text, "    reserved by {calls} call: {tokens} tokens");
        }
    }
}

/// The spending records.
async fn spending(text: &mut String, journal: &dyn Journal) {
    head(text, "spending records");
    let all = SpendingQuery {
        limit: MANY,
        ..SpendingQuery::default()
    };
    let log = journal.spending().expect("a log");
    let page = log.records(&all).await.expect("a page");
    assert_eq!(page.unreadable, []);
    for record in page.records {
        let cost = record
            .price
            .as_ref()
            .and_then(|price| price.cost(&record.usage));
        let SpendingRecord {
            at,
            endpoint,
            id,
            model,
            own_key,
            principal,
            repeats_facts,
            settled,
            usage,
            ..
        } = record;
        let mut line = format!(
            "  {id} {}: {principal}, {endpoint}, {}/{}, {} in, {} out",
            at.to_rfc3339(),
            model.provider,
            model.model,
            usage.input,
            usage.output
        );
        said(&mut line, "USD", cost);
        flag(&mut line, "own key", own_key);
        flag(&mut line, "of a turn", repeats_facts);
        for budget in settled {
            said(&mut line, "for", Some(&budget.budget));
            said(&mut line, "USD", budget.cost);
            said(&mut line, "tokens", budget.tokens);
        }
        let _written = writeln!(text, "{line}");
    }
}

/// The sessions, with their turns.
async fn sessions(text: &mut String, journal: &dyn Journal) {
    head(text, "sessions");
    let all = SessionQuery {
        limit: MANY,
        ..SessionQuery::default()
    };
    let mut rows = journal.sessions(&all).await.expect("a list");
    rows.sort_by_key(|row| (row.created, row.session.clone()));
    for row in rows {
        assert_eq!(row.unreadable, None);
        let mut line = format!("  {} {:?}", row.session, row.title);
        said(&mut line, "of", row.principal);
        said(&mut line, "turns", Some(row.turns));
        said(&mut line, "steps", Some(row.steps));
        if let Some(open) = row.open {
            flag(&mut line, "parked", open.parked);
            flag(&mut line, "at work", !open.only_waits);
        }
        let query = WaitQuery {
            limit: MANY,
            session: Some(row.session.clone()),
            ..WaitQuery::default()
        };
        for listed in journal.waits(&query).await.expect("a list") {
            let kind = match listed.row.wait.kind {
                WaitKind::Approval { .. } => "waits for an approval",
                WaitKind::Budget { .. } => "waits for a budget",
                WaitKind::ClientResult => "waits for its client",
                WaitKind::Elicitation { .. } => "waits for an answer",
                WaitKind::UnknownOutcome => "waits for a decision",
            };
            flag(&mut line, kind, true);
        }
        let loaded = journal.load(&row.session).await.expect("loaded");
        let facts = loaded
            .steps
            .iter()
            .map(|step| step.facts.len())
            .sum::<usize>();
        said(&mut line, "facts", Some(facts));
        said(&mut line, "deliveries", Some(loaded.deliveries.len()));
        let _written = writeln!(text, "{line}");
    }
}

/// The value of an entry after a change.
fn described(entry: &DirectoryEntry) -> String {
    let mut line = entry.kind().as_str().to_owned();
    match entry {
        DirectoryEntry::Key(ClientKey {
            expires,
            has_no_approvals,
            id: _,
            is_admin,
            label,
            models,
            quota,
            revoked,
            secrets,
            tools,
            user,
        }) => {
            said(&mut line, "of", Some(user));
            said(&mut line, "label", Some(label));
            flag(&mut line, "admin", *is_admin);
            flag(&mut line, "no approvals", *has_no_approvals);
            said(&mut line, "expires", expires.map(WallTime::to_rfc3339));
            said(&mut line, "revoked", revoked.map(WallTime::to_rfc3339));
            said(
                &mut line,
                "models",
                models.as_ref().map(|all| all.join(" ")),
            );
            said(
                &mut line,
                "tools",
                tools.as_ref().map(|all| format!("{all:?}")),
            );
            for KeySecret { digest, until } in secrets {
                said(&mut line, "secret", digest.to_hex().get(..12));
                said(&mut line, "until", until.map(WallTime::to_rfc3339));
            }
            limits(&mut line, *quota);
        }
        DirectoryEntry::ProviderKey(ProviderKey {
            hint,
            is_removed,
            provider,
            user,
        }) => {
            said(&mut line, "of", Some(user));
            said(&mut line, "at", Some(provider));
            said(&mut line, "hint", Some(hint));
            flag(&mut line, "removed", *is_removed);
        }
        DirectoryEntry::Server(OwnServer {
            endpoint,
            is_disabled,
            is_removed,
            name,
            owner,
            secrets,
        }) => {
            said(&mut line, "name", Some(name));
            said(&mut line, "of", Some(owner));
            said(&mut line, "url", endpoint.url());
            said(&mut line, "program", endpoint.program());
            flag(&mut line, "disabled", *is_disabled);
            flag(&mut line, "removed", *is_removed);
            for name in secrets {
                said(&mut line, "secret", Some(name));
            }
        }
        DirectoryEntry::SignIn(SignIn {
            identity,
            is_pending,
            is_removed,
            owner,
            server,
            user,
        }) => {
            said(&mut line, "of", Some(user));
            said(&mut line, "at", Some(server));
            said(&mut line, "of", Some(owner));
            said(&mut line, "identity", identity.to_hex().get(..12));
            flag(&mut line, "pending", *is_pending);
            flag(&mut line, "removed", *is_removed);
        }
        DirectoryEntry::Team(Team { name: _, quota }) => limits(&mut line, *quota),
        DirectoryEntry::User(User {
            is_disabled,
            name: _,
            quota,
            team,
        }) => {
            said(&mut line, "team", team.as_ref());
            flag(&mut line, "disabled", *is_disabled);
            limits(&mut line, *quota);
        }
    }
    line
}

fn limits(line: &mut String, quota: Option<Quota>) {
    let Quota {
        cost_per_day,
        cost_per_month,
        parallel,
        requests_per_minute,
        tokens_per_day,
        tokens_per_minute,
        tokens_per_month,
        unpriced,
    } = quota.unwrap_or_default();
    said(line, "USD per day", cost_per_day);
    said(line, "USD per month", cost_per_month);
    said(line, "at once", parallel);
    said(line, "requests per minute", requests_per_minute);
    said(line, "tokens per day", tokens_per_day);
    said(line, "tokens per minute", tokens_per_minute);
    said(line, "tokens per month", tokens_per_month);
    flag(line, "unpriced allowed", unpriced);
}

/// A value, if it is there.
fn said(line: &mut String, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        let _written = write!(line, "; {name} {value}");
    }
}

fn flag(line: &mut String, name: &str, is_set: bool) {
    if is_set {
        let _written = write!(line, "; {name}");
    }
}

fn head(text: &mut String, head: &str) {
    let _written = writeln!(text, "\n{head}");
}

/// More than there is of anything.
const MANY: usize = 1_000;
