//! Strict deserialization: objects only from objects, and a text or a list.
//!
//! Serde also deserializes an object from an array of its fields in order, and it buffers an untagged value before
//! it chooses a variant. Neither is acceptable for untrusted input.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A type that is deserialized from the fields of an object. [`objects!`](crate::objects) implements it.
pub trait Fields<'de>: Sized {
    /// Deserializes the type.
    ///
    /// # Errors
    ///
    /// Those of the deserializer.
    fn read<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error>;
}

/// Makes types deserialize only from objects. Each derives `Deserialize` and `Serialize` with
/// `#[serde(remote = "Self")]`.
///
/// ```text
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Debug, Deserialize, Serialize)]
/// #[serde(remote = "Self")]
/// struct Named {
///     name: String,
/// }
/// jackfield_dialect_kit::objects!(Named);
///
/// assert!(serde_json::from_str::<Named>(r#"{"name": "it"}"#).is_ok());
/// assert!(serde_json::from_str::<Named>(r#"["it"]"#).is_err());
/// ```
#[macro_export]
macro_rules! objects {
    ($($wire:ty),+ $(,)?) => {$(
        impl<'de> $crate::form::Fields<'de> for $wire {
            fn read<D: ::serde::Deserializer<'de>>(fields: D) -> ::std::result::Result<Self, D::Error> {
                <$wire>::deserialize(fields)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $wire {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                $crate::form::object(deserializer)
            }
        }

        impl ::serde::Serialize for $wire {
            fn serialize<S: ::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                <$wire>::serialize(self, serializer)
            }
        }
    )+};
}

/// Deserializes an object.
///
/// # Errors
///
/// Those of the deserializer, and an error if the value is not an object.
pub fn object<'de, D: Deserializer<'de>, T: Fields<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Fields<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::read(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Object(PhantomData))
}

/// Deserializes a string or an object.
///
/// # Errors
///
/// Those of the deserializer, and an error with this expectation if the value is neither.
pub fn word_or_object<'de, D: Deserializer<'de>, T: Fields<'de>>(
    deserializer: D,
    expected: &'static str,
    word: fn(String) -> T,
) -> Result<T, D::Error> {
    struct Either<T> {
        expected: &'static str,
        word: fn(String) -> T,
    }

    impl<'de, T: Fields<'de>> Visitor<'de> for Either<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expected)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            Ok((self.word)(text.to_owned()))
        }

        fn visit_string<E: serde::de::Error>(self, text: String) -> Result<T, E> {
            Ok((self.word)(text))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::read(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_any(Either { expected, word })
}

/// Deserializes a string or a list.
///
/// # Errors
///
/// Those of the deserializer, and an error with this expectation if the value is neither.
pub fn text_or_list<'de, D: Deserializer<'de>, T, P: Deserialize<'de>>(
    deserializer: D,
    expected: &'static str,
    text: fn(String) -> T,
    list: fn(Vec<P>) -> T,
) -> Result<T, D::Error> {
    struct Either<T, P> {
        expected: &'static str,
        list: fn(Vec<P>) -> T,
        text: fn(String) -> T,
    }

    impl<'de, T, P: Deserialize<'de>> Visitor<'de> for Either<T, P> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.expected)
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            Ok((self.text)(text.to_owned()))
        }

        fn visit_string<E: serde::de::Error>(self, text: String) -> Result<T, E> {
            Ok((self.text)(text))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq)).map(self.list)
        }
    }

    deserializer.deserialize_any(Either {
        expected,
        list,
        text,
    })
}
