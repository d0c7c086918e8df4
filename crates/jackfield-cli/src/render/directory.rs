//! Users, teams and keys of clients, for people and for programs.

use std::io::{self, Write};
use std::sync::Arc;

use jackfield_domain::directory::{
    ClientKey, DirectoryChange, DirectoryEntry, EntryName, OwnServer,
};
use jackfield_domain::price::Money;
use jackfield_domain::quota::{BudgetUnit, Quota};
use jackfield_domain::text::hidden::revealed;
use jackfield_domain::time::WallTime;
use serde_json::{Value, json};

use crate::render::plain::{BAD, DIM, NAME, WARM};
use crate::render::tools::document;
use crate::since;

/// Prints users.
///
/// # Errors
///
/// The stream cannot be written.
pub fn users(out: &mut impl Write, users: &[DirectoryEntry], as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &users.iter().map(entry_json).collect());
    }
    if users.is_empty() {
        return writeln!(
            out,
            "there are no users: `jackfield users add NAME` adds one"
        );
    }
    for entry in users {
        let DirectoryEntry::User(user) = entry else {
            continue;
        };
        write!(out, "{NAME}{}{NAME:#}", user.name)?;
        if let Some(team) = &user.team {
            write!(out, "  {DIM}{team}{DIM:#}")?;
        }
        write_limits(out, user.quota.as_ref())?;
        if user.is_disabled {
            write!(out, "  {BAD}disabled{BAD:#}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints teams.
///
/// # Errors
///
/// The stream cannot be written.
pub fn teams(out: &mut impl Write, teams: &[DirectoryEntry], as_json: bool) -> io::Result<()> {
    if as_json {
        return document(out, &teams.iter().map(entry_json).collect());
    }
    if teams.is_empty() {
        return writeln!(
            out,
            "there are no teams: `jackfield teams add NAME` adds one"
        );
    }
    for entry in teams {
        let DirectoryEntry::Team(team) = entry else {
            continue;
        };
        write!(out, "{NAME}{}{NAME:#}", team.name)?;
        write_limits(out, team.quota.as_ref())?;
        writeln!(out)?;
    }
    Ok(())
}

/// Prints keys, without secrets.
///
/// # Errors
///
/// The stream cannot be written.
pub fn keys(
    out: &mut impl Write,
    keys: &[ClientKey],
    now: WallTime,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        return document(out, &keys.iter().map(key_json).collect());
    }
    if keys.is_empty() {
        return writeln!(
            out,
            "there are no keys: `jackfield keys create USER` makes one"
        );
    }
    for key in keys {
        write!(out, "{NAME}{}{NAME:#}  {}", key.id, key.user)?;
        if !key.label.is_empty() {
            write!(out, "  {}", revealed(&key.label))?;
        }
        if key.is_admin {
            write!(out, "  {WARM}admin{WARM:#}")?;
        }
        if key.has_no_approvals {
            write!(out, "  {DIM}no approvals{DIM:#}")?;
        }
        if let Some(models) = &key.models {
            write!(out, "  {DIM}models {}{DIM:#}", listed(models))?;
        }
        match &key.tools {
            Some(tools) if tools.is_empty() => write!(out, "  {DIM}no tools{DIM:#}")?,
            Some(tools) => write!(out, "  {DIM}tools {}{DIM:#}", listed(tools))?,
            None => {}
        }
        write_limits(out, key.quota.as_ref())?;
        match (key.revoked, key.expires) {
            (Some(revoked), _) => {
                write!(out, "  {BAD}revoked{BAD:#} {}", since::shown(revoked))?;
            }
            (None, Some(expires)) if expires <= now => {
                write!(out, "  {BAD}expired{BAD:#} {}", since::shown(expires))?;
            }
            (None, Some(expires)) => write!(out, "  until {}", since::shown(expires))?,
            (None, None) => {}
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints the secret of a key that was just made: alone, or with the key.
///
/// # Errors
///
/// The stream cannot be written.
pub fn secret(
    out: &mut impl Write,
    key: &ClientKey,
    secret: &str,
    as_json: bool,
) -> io::Result<()> {
    if as_json {
        let mut value = key_json(key);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("secret".to_owned(), secret.into());
        }
        return document(out, &value);
    }
    writeln!(out, "{secret}")?;
    out.flush()
}

/// Prints changes, the newest last.
///
/// # Errors
///
/// The stream cannot be written.
pub fn changes(
    out: &mut impl Write,
    changes: &[(u64, DirectoryChange)],
    as_json: bool,
) -> io::Result<()> {
    let oldest_first = changes.iter().rev();
    if as_json {
        let all = oldest_first.map(|(number, change)| {
            json!({
                "number": number,
                "at": since::exact(change.at),
                "by": change.by,
                "action": change.action.as_str(),
                "kind": change.entry.kind().as_str(),
                "entry": entry_json(&change.entry),
            })
        });
        return document(out, &all.collect());
    }
    if changes.is_empty() {
        return writeln!(out, "nobody has changed anything yet");
    }
    for (_, change) in oldest_first {
        let at = since::shown(change.at);
        let (kind, action) = (change.entry.kind().as_str(), change.action.as_str());
        let (name, by) = (change.entry.name(), revealed(&change.by));
        let mut of = String::new();
        if let DirectoryEntry::Key(key) = &change.entry {
            of = format!(" of {}", key.user);
        }
        writeln!(
            out,
            "{DIM}{at}{DIM:#}  {action} {kind} {NAME}{name}{NAME:#}{of} {DIM}by {by}{DIM:#}"
        )?;
    }
    Ok(())
}

pub fn limits(quota: Option<&Quota>) -> String {
    let Some(quota) = quota else {
        return "no limits".to_owned();
    };
    let rate = quota.requests_per_minute;
    let rate = rate.map(|limit| format!("{limit} requests per minute"));
    let parallel = quota.parallel.map(|limit| format!("{limit} at once"));
    let budgets = quota.budgets().map(|(period, unit, limit)| {
        let period = period.as_str();
        match unit {
            BudgetUnit::Cost => format!("{} USD per {period}", Money::from_picos(limit)),
            BudgetUnit::Tokens => format!("{limit} tokens per {period}"),
        }
    });
    let unpriced = quota.unpriced.then(|| "unpriced models allowed".to_owned());
    let limits = [rate, parallel].into_iter().flatten().chain(budgets);
    let limits = limits.chain(unpriced);
    limits.collect::<Vec<_>>().join(", ")
}

fn write_limits(out: &mut impl Write, quota: Option<&Quota>) -> io::Result<()> {
    match quota {
        Some(_) => write!(out, "  {DIM}{}{DIM:#}", limits(quota)),
        None => Ok(()),
    }
}

fn quota_json(quota: Option<&Quota>) -> Value {
    quota.map_or(Value::Null, |quota| {
        json!({
            "requests_per_minute": quota.requests_per_minute,
            "parallel": quota.parallel,
            "cost_per_day": quota.cost_per_day.map(|cost| cost.to_string()),
            "cost_per_month": quota.cost_per_month.map(|cost| cost.to_string()),
            "tokens_per_day": quota.tokens_per_day,
            "tokens_per_minute": quota.tokens_per_minute,
            "tokens_per_month": quota.tokens_per_month,
            "unpriced": if quota.unpriced { "allow" } else { "refuse" },
        })
    })
}

fn entry_json(entry: &DirectoryEntry) -> Value {
    match entry {
        DirectoryEntry::Key(key) => key_json(key),
        DirectoryEntry::ProviderKey(key) => json!({
            "user": key.user.as_str(),
            "provider": &*key.provider,
            "hint": &*key.hint,
        }),
        DirectoryEntry::Server(server) => server_json(server),
        DirectoryEntry::SignIn(sign_in) => json!({
            "server": &*sign_in.server,
            "owner": sign_in.owner.to_string(),
            "user": sign_in.user.as_str(),
            "pending": sign_in.is_pending,
        }),
        DirectoryEntry::Team(team) => json!({
            "name": team.name.as_str(),
            "quota": quota_json(team.quota.as_ref()),
        }),
        DirectoryEntry::User(user) => json!({
            "name": user.name.as_str(),
            "team": user.team.as_ref().map(EntryName::as_str),
            "disabled": user.is_disabled,
            "quota": quota_json(user.quota.as_ref()),
        }),
    }
}

/// A server without its secrets.
pub fn server_json(server: &OwnServer) -> Value {
    json!({
        "name": &*server.name,
        "owner": server.owner.to_string(),
        "toolbox": server.toolbox().map(|id| id.to_string()).unwrap_or_default(),
        "url": server.endpoint.url(),
        "program": server.endpoint.program(),
        "secrets": server.secrets,
        "enabled": !server.is_disabled,
    })
}

fn key_json(key: &ClientKey) -> Value {
    json!({
        "id": key.id.as_str(),
        "user": key.user.as_str(),
        "label": key.label,
        "admin": key.is_admin,
        "no_approvals": key.has_no_approvals,
        "models": key.models,
        "tools": key.tools,
        "quota": quota_json(key.quota.as_ref()),
        "expires": key.expires.map(since::exact),
        "revoked": key.revoked.map(since::exact),
        "old_secret_until": key.secrets.get(1).and_then(|old| old.until).map(since::exact),
    })
}

fn listed(patterns: &[Arc<str>]) -> String {
    revealed(&patterns.join(", "))
}
