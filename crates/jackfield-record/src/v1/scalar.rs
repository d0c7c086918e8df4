//! Forms of single values: ids, digests, times, numbers.

use std::time::Duration;

use jackfield_domain::block::CalledName;
use jackfield_domain::digest::Digest;
use jackfield_domain::ids::{
    DeliveryId, ModelAttempt, SessionId, ToolAttempt, ToolCallId, ToolName, ToolboxId, TurnId,
    WaitId,
};
use jackfield_domain::time::{MonoTime, Now, WallTime};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};

use super::stored::{Invalid, Stored};

stored_struct! { ModelAttempt as ModelAttemptForm { round: u32, attempt: u32 } }

stored_struct! { Now as NowForm { wall: WallTime, mono: MonoTime } }

stored_struct! { ToolAttempt as ToolAttemptForm { call: ToolCallId, attempt: u32 } }

/// Ids are stored as text.
macro_rules! stored_ids {
    ($($type:ty),+ $(,)?) => {
        $(
            impl Stored for $type {
                type Form = String;

                fn form(&self) -> String {
                    self.as_str().to_owned()
                }

                fn of(form: String) -> Result<Self, Invalid> {
                    Ok(Self::parse(&form)?)
                }
            }
        )+
    };
}

stored_ids!(
    DeliveryId, SessionId, ToolCallId, ToolName, ToolboxId, TurnId, WaitId
);

impl Stored for CalledName {
    type Form = String;

    fn form(&self) -> String {
        self.as_str().to_owned()
    }

    fn of(form: String) -> Result<Self, Invalid> {
        let name = Self::new(&form);
        if name.as_str() == form {
            Ok(name)
        } else {
            Err(Invalid::LongName(form.chars().count()))
        }
    }
}

/// Digests are stored in hexadecimal.
impl Stored for Digest {
    type Form = String;

    fn form(&self) -> String {
        self.to_hex()
    }

    fn of(form: String) -> Result<Self, Invalid> {
        Self::from_hex(&form).ok_or(Invalid::Digest(form))
    }
}

/// Wall-clock instants are stored as milliseconds since 1970-01-01 UTC.
impl Stored for WallTime {
    type Form = i64;

    fn form(&self) -> i64 {
        self.as_millis()
    }

    fn of(form: i64) -> Result<Self, Invalid> {
        Ok(Self::from_millis(form))
    }
}

/// Monotonic instants are stored as the time since the clock's start.
impl Stored for MonoTime {
    type Form = String;

    fn form(&self) -> String {
        self.elapsed().form()
    }

    fn of(form: String) -> Result<Self, Invalid> {
        Duration::of(form).map(Self::from_start)
    }
}

/// Durations are stored as seconds with up to nine decimals, as text: `30s`, `0.25s`.
impl Stored for Duration {
    type Form = String;

    fn form(&self) -> String {
        match self.subsec_nanos() {
            0 => format!("{}s", self.as_secs()),
            nanos => {
                let decimals = format!("{nanos:09}");
                format!("{}.{}s", self.as_secs(), decimals.trim_end_matches('0'))
            }
        }
    }

    fn of(form: String) -> Result<Self, Invalid> {
        let read = |text: &str| {
            let (seconds, decimals) = text.split_once('.').unwrap_or((text, ""));
            let nanos = format!("{decimals:0<9}");
            let seconds = seconds.parse().ok()?;
            let nanos = nanos.parse().ok().filter(|nanos| *nanos < 1_000_000_000)?;
            Some(Self::new(seconds, nanos))
        };
        let time = form.strip_suffix('s').and_then(read);
        // Each duration has exactly one valid form.
        time.filter(|time| time.form() == form)
            .ok_or(Invalid::Duration(form))
    }
}

/// A finite number: JSON cannot represent others.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Fraction(f64);

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_finite() {
            return Err(S::Error::custom(format_args!("{} is not a number", self.0)));
        }
        writer.serialize_f64(self.0)
    }
}

impl Stored for f64 {
    type Form = Fraction;

    fn form(&self) -> Fraction {
        Fraction(*self)
    }

    fn of(form: Fraction) -> Result<Self, Invalid> {
        Ok(form.0)
    }
}
