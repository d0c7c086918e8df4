//! Values that a configuration and a command line have in one form.

use jackfield_assembly::{listen_address, size_in_bytes};

use crate::world::World;

#[test]
fn addresses_are_read_as_people_write_them() {
    for (text, address) in [
        ("127.0.0.1:9000", Some("127.0.0.1:9000")),
        ("localhost:9000", Some("127.0.0.1:9000")),
        ("LocalHost:0", Some("127.0.0.1:0")),
        (":9000", Some("127.0.0.1:9000")),
        ("9000", Some("127.0.0.1:9000")),
        ("0.0.0.0:80", Some("0.0.0.0:80")),
        ("[::1]:80", Some("[::1]:80")),
        ("localhost", None),
        ("127.0.0.1", None),
        ("example.com:80", None),
        ("localhost:99999", None),
        ("", None),
    ] {
        let read = listen_address(text).ok().map(|address| address.to_string());
        assert_eq!(read.as_deref(), address, "{text}");
    }
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, bytes) in [
        ("256KiB", Some(262_144)),
        ("4 MiB", Some(4_194_304)),
        ("1mb", Some(1_000_000)),
        ("17", Some(17)),
        ("0b", Some(0)),
        ("KiB", None),
        ("1.5KiB", None),
        ("-1KiB", None),
        ("4 parsecs", None),
        ("99999999999999999999", None),
        ("99999999999999999GiB", None),
        ("", None),
    ] {
        assert_eq!(size_in_bytes(text).ok(), bytes, "{text}");
        let world = World::new().with_user(format!("limits.shown = '{text}'"));
        let shown = world
            .load()
            .map(|config| config.options.limits.shown as u64);
        assert_eq!(shown.ok(), bytes, "{text}");
    }
}
