//! Conversions between domain values and their stored forms.
//!
//! The domain's types do not use serde. Each has a counterpart here, which one of two macros generates from a
//! list of its fields or variants. Both directions match exhaustively, so a new field or variant in the domain
//! does not compile until its form is decided.
//!
//! ```text
//! stored_struct! { reply::ReplyEnd as ReplyEnd { finish: FinishReason; maybe model: Arc<str>; many notes: Note } }
//! ```
//!
//! `maybe` fields are options, omitted if `None`; `many` fields are lists, omitted if empty; `flag` fields are
//! omitted if false; `zero` fields are numbers, omitted if zero. Names are stored in snake case. A variant
//! without fields is a string, one with fields an object with its name as the only key.

use std::borrow::Cow;
use std::sync::Arc;

use jackfield_domain::directory::InvalidEntryName;
use jackfield_domain::ids::InvalidId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

/// A domain value with a stored form.
pub(crate) trait Stored: Sized {
    /// The form, which serde serializes and deserializes.
    type Form: DeserializeOwned + Serialize;

    /// Converts this value to its form.
    fn form(&self) -> Self::Form;

    /// Converts a form to its value.
    fn of(form: Self::Form) -> Result<Self, Invalid>;
}

/// A form without a valid value.
#[derive(Debug, Error)]
pub(crate) enum Invalid {
    #[error("two tools are called `{0}`, or it is not in the order of the names")]
    CatalogName(String),
    #[error("`{0}` is not a digest")]
    Digest(String),
    #[error("`{0}` is not a length of time")]
    Duration(String),
    #[error(transparent)]
    EntryName(#[from] InvalidEntryName),
    #[error(transparent)]
    Id(#[from] InvalidId),
    #[error("a tool's name has {0} characters")]
    LongName(usize),
    #[error("{0} bytes are more than this machine can count")]
    Size(u64),
}

/// Deserializes an optional field that is present; `null` is an ordinary value.
pub(super) fn present<'de, D, T>(reader: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(reader).map(Some)
}

/// Whether a number is zero and therefore omitted.
pub(super) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// Defines the form of a struct.
macro_rules! stored_struct {
    (
        $domain:ty as $form:ident {
            $($field:ident: $type:ty),*
            $(; maybe $($maybe:ident: $maybe_type:ty),+)?
            $(; many $($many:ident: $many_type:ty),+)?
            $(; flag $($flag:ident),+)?
            $(; zero $($zero:ident),+)?
            $(,)?
        }
    ) => {
        #[derive(serde::Deserialize, serde::Serialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $form {
            $($field: <$type as $crate::v1::stored::Stored>::Form,)*
            $($(
                #[serde(
                    default,
                    skip_serializing_if = "Option::is_none",
                    deserialize_with = "crate::v1::stored::present"
                )]
                $maybe: Option<<$maybe_type as $crate::v1::stored::Stored>::Form>,
            )+)?
            $($(
                #[serde(default, skip_serializing_if = "Vec::is_empty")]
                $many: Vec<<$many_type as $crate::v1::stored::Stored>::Form>,
            )+)?
            $($(
                #[serde(default, skip_serializing_if = "std::ops::Not::not")]
                $flag: bool,
            )+)?
            $($(
                #[serde(default, skip_serializing_if = "crate::v1::stored::is_zero")]
                $zero: u64,
            )+)?
        }

        impl $crate::v1::stored::Stored for $domain {
            type Form = $form;

            fn form(&self) -> $form {
                let Self { $($field,)* $($($maybe,)+)? $($($many,)+)? $($($flag,)+)? $($($zero,)+)? } = self;
                $form {
                    $($field: $crate::v1::stored::Stored::form($field),)*
                    $($($maybe: $crate::v1::stored::Stored::form($maybe),)+)?
                    $($($many: $crate::v1::stored::Stored::form($many),)+)?
                    $($($flag: *$flag,)+)?
                    $($($zero: *$zero,)+)?
                }
            }

            fn of(form: $form) -> Result<Self, $crate::v1::stored::Invalid> {
                let $form { $($field,)* $($($maybe,)+)? $($($many,)+)? $($($flag,)+)? $($($zero,)+)? } = form;
                Ok(Self {
                    $($field: $crate::v1::stored::Stored::of($field)?,)*
                    $($($maybe: $crate::v1::stored::Stored::of($maybe)?,)+)?
                    $($($many: $crate::v1::stored::Stored::of($many)?,)+)?
                    $($($flag,)+)?
                    $($($zero,)+)?
                })
            }
        }
    };
}

/// Defines the form of an enum. A variant that only wraps a value is written `Variant(name: Type)`.
macro_rules! stored_enum {
    (
        $domain:ty as $form:ident {
            $(
                $variant:ident
                $({
                    $($field:ident: $type:ty),*
                    $(; maybe $($maybe:ident: $maybe_type:ty),+)?
                    $(; many $($many:ident: $many_type:ty),+)?
                    $(; flag $($flag:ident),+)?
                    $(; zero $($zero:ident),+)?
                    $(,)?
                })?
                $(($wrapped:ident: $wrapped_type:ty))?
            ),+ $(,)?
        }
    ) => {
        #[derive(serde::Deserialize, serde::Serialize)]
        #[serde(deny_unknown_fields, rename_all = "snake_case")]
        pub(crate) enum $form {
            $(
                $variant
                $({
                    $($field: <$type as $crate::v1::stored::Stored>::Form,)*
                    $($(
                        #[serde(
                            default,
                            skip_serializing_if = "Option::is_none",
                            deserialize_with = "crate::v1::stored::present"
                        )]
                        $maybe: Option<<$maybe_type as $crate::v1::stored::Stored>::Form>,
                    )+)?
                    $($(
                        #[serde(default, skip_serializing_if = "Vec::is_empty")]
                        $many: Vec<<$many_type as $crate::v1::stored::Stored>::Form>,
                    )+)?
                    $($(
                        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
                        $flag: bool,
                    )+)?
                    $($(
                        #[serde(default, skip_serializing_if = "crate::v1::stored::is_zero")]
                        $zero: u32,
                    )+)?
                })?
                $((<$wrapped_type as $crate::v1::stored::Stored>::Form))?,
            )+
        }

        impl $crate::v1::stored::Stored for $domain {
            type Form = $form;

            fn form(&self) -> $form {
                match self {
                    $(
                        Self::$variant
                        $({ $($field,)* $($($maybe,)+)? $($($many,)+)? $($($flag,)+)? $($($zero,)+)? })?
                        $(($wrapped))?
                        => $form::$variant
                        $({
                            $($field: $crate::v1::stored::Stored::form($field),)*
                            $($($maybe: $crate::v1::stored::Stored::form($maybe),)+)?
                            $($($many: $crate::v1::stored::Stored::form($many),)+)?
                            $($($flag: *$flag,)+)?
                            $($($zero: *$zero,)+)?
                        })?
                        $(($crate::v1::stored::Stored::form($wrapped)))?,
                    )+
                }
            }

            fn of(form: $form) -> Result<Self, $crate::v1::stored::Invalid> {
                Ok(match form {
                    $(
                        $form::$variant
                        $({ $($field,)* $($($maybe,)+)? $($($many,)+)? $($($flag,)+)? $($($zero,)+)? })?
                        $(($wrapped))?
                        => Self::$variant
                        $({
                            $($field: $crate::v1::stored::Stored::of($field)?,)*
                            $($($maybe: $crate::v1::stored::Stored::of($maybe)?,)+)?
                            $($($many: $crate::v1::stored::Stored::of($many)?,)+)?
                            $($($flag,)+)?
                            $($($zero,)+)?
                        })?
                        $(($crate::v1::stored::Stored::of($wrapped)?))?,
                    )+
                })
            }
        }
    };
}

/// Values that are stored as they are.
macro_rules! stored_as_they_are {
    ($($type:ty),+ $(,)?) => {
        $(
            impl Stored for $type {
                type Form = Self;

                fn form(&self) -> Self {
                    self.clone()
                }

                fn of(form: Self) -> Result<Self, Invalid> {
                    Ok(form)
                }
            }
        )+
    };
}

stored_as_they_are!(Arc<str>, Map<String, Value>, String, Value, bool, i64, u32, u64);

impl Stored for Cow<'static, str> {
    type Form = String;

    fn form(&self) -> String {
        self.clone().into_owned()
    }

    fn of(form: String) -> Result<Self, Invalid> {
        Ok(Cow::Owned(form))
    }
}

impl Stored for usize {
    type Form = u64;

    fn form(&self) -> u64 {
        *self as u64
    }

    fn of(form: u64) -> Result<Self, Invalid> {
        Self::try_from(form).map_err(|_| Invalid::Size(form))
    }
}

impl<T: Stored> Stored for Arc<T> {
    type Form = Box<T::Form>;

    fn form(&self) -> Self::Form {
        Box::new(T::form(self))
    }

    fn of(form: Self::Form) -> Result<Self, Invalid> {
        T::of(*form).map(Self::new)
    }
}

impl<T: Stored> Stored for Option<T> {
    type Form = Option<T::Form>;

    fn form(&self) -> Self::Form {
        self.as_ref().map(T::form)
    }

    fn of(form: Self::Form) -> Result<Self, Invalid> {
        form.map(T::of).transpose()
    }
}

impl<T: Stored> Stored for Vec<T> {
    type Form = Vec<T::Form>;

    fn form(&self) -> Self::Form {
        self.iter().map(T::form).collect()
    }

    fn of(form: Self::Form) -> Result<Self, Invalid> {
        form.into_iter().map(T::of).collect()
    }
}
