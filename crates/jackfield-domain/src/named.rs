//! Names of the values of an enum, stated once.

/// Gives an enum `as_str`, and `NAMES`: its values with their names, in this order.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($enum:ident: $($value:ident = $name:literal),+ $(,)?) => {
        impl $enum {
            /// The names and their values.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),+];

            /// Its name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $name),+
                }
            }
        }
    };
}
