//! Every class of address that is not public, in every way of writing it.

use jackfield_provider_kit::guarded::{FetchErrorKind as Kind, special};

use super::{Names, client, named, refused};

/// The first and the last address of each class, and a word of what is said.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("0.0.0.0", "0.0.0.0", "unspecified"),
    ("0.0.0.1", "0.255.255.255", "this network"),
    ("10.0.0.0", "10.255.255.255", "RFC 1918"),
    ("100.64.0.0", "100.127.255.255", "carrier"),
    ("127.0.0.0", "127.255.255.255", "this machine"),
    ("169.254.0.0", "169.254.255.255", "link-local"),
    ("169.254.169.254", "169.254.169.254", "link-local"),
    ("172.16.0.0", "172.31.255.255", "RFC 1918"),
    ("192.0.0.0", "192.0.0.255", "protocols"),
    ("192.0.2.0", "192.0.2.255", "documentation"),
    ("192.88.99.0", "192.88.99.255", "6to4"),
    ("192.168.0.0", "192.168.255.255", "RFC 1918"),
    ("198.18.0.0", "198.19.255.255", "benchmarks"),
    ("198.51.100.0", "198.51.100.255", "documentation"),
    ("203.0.113.0", "203.0.113.255", "documentation"),
    ("224.0.0.0", "239.255.255.255", "multicast"),
    ("240.0.0.0", "255.255.255.254", "reserved"),
    ("255.255.255.255", "255.255.255.255", "broadcast"),
    ("::", "::", "unspecified"),
    ("::1", "::1", "this machine"),
    ("::2", "::ffff:ffff", "IPv4-compatible"),
    ("::10.0.0.1", "::8.8.8.8", "IPv4-compatible"),
    ("::ffff:10.0.0.0", "::ffff:10.255.255.255", "RFC 1918"),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1", "this machine"),
    ("64:ff9b::10.0.0.1", "64:ff9b::10.255.255.255", "RFC 1918"),
    (
        "64:ff9b::169.254.169.254",
        "64:ff9b::169.254.169.254",
        "link-local",
    ),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "NAT64"),
    (
        "64:ff9b::1:0:0",
        "64:ff9b:0:ffff:ffff:ffff:ffff:ffff",
        "reserved",
    ),
    ("100::", "100::ffff:ffff:ffff:ffff", "discarded"),
    ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo"),
    (
        "2001:1::",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        "protocols",
    ),
    (
        "2001:2::",
        "2001:2:0:ffff:ffff:ffff:ffff:ffff",
        "benchmarks",
    ),
    (
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        "documentation",
    ),
    (
        "2002:a00::",
        "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff",
        "RFC 1918",
    ),
    ("2002:7f00:1::", "2002:7f00:1::1", "this machine"),
    (
        "3fff::",
        "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
        "documentation",
    ),
    (
        "4000::",
        "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "reserved",
    ),
    (
        "5f00::",
        "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "segment routing",
    ),
    (
        "fc00::",
        "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "RFC 4193",
    ),
    (
        "fe80::",
        "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "link-local",
    ),
    (
        "fec0::",
        "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "site-local",
    ),
    (
        "ff00::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "multicast",
    ),
];

/// The neighbours of the classes, and what everybody knows.
const PUBLIC: &[&str] = &[
    "1.0.0.0",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "191.255.255.255",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.88.100.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.255",
    "198.51.101.0",
    "203.0.112.255",
    "203.0.114.0",
    "223.255.255.255",
    "2001:200::",
    "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
    "2001:db9::",
    "2002:808:808::1",
    "2003::",
    "2606:4700:4700::1111",
    "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "3fff:1000::",
    "64:ff9b::8.8.8.8",
    "::ffff:8.8.8.8",
];

#[test]
fn every_class_is_told_from_what_is_public() {
    for (first, last, what) in SPECIAL {
        for address in [first, last] {
            let told = special(address.parse().unwrap());
            assert!(
                told.is_some_and(|told| told.contains(what)),
                "{address}: {told:?}"
            );
        }
    }
    for address in PUBLIC {
        assert_eq!(special(address.parse().unwrap()), None, "{address}");
    }
}

#[tokio::test]
async fn every_class_is_refused_as_a_literal_and_behind_a_name() {
    for (first, last, what) in SPECIAL {
        for address in [first, last] {
            let literal = if address.contains(':') {
                format!("http://[{address}]/")
            } else {
                format!("http://{address}/")
            };
            let names = Names::new(&[&[address]]);
            for url in [&*literal, "http://named.example/"] {
                let error = refused(&named(&names, &[]), url).await;
                assert_eq!(
                    (error.kind, error.sent),
                    (Kind::Refused, false),
                    "{address} {url}"
                );
                assert!(error.to_string().contains(what), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn no_way_of_writing_an_address_goes_round_the_check() {
    for url in [
        "http://2130706433/",
        "http://017700000001/",
        "http://0x7f000001/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://127.0.0.1./",
        "http://0251.0376.0251.0376/",
        "http://2852039166/",
        "http://１２７.０.０.１/",
        "http://%31%32%37.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://[::ffff:7f00:1]/",
        "http://[0:0:0:0:0:ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
    ] {
        let error = refused(&client(&[]), url).await;
        assert_eq!(
            (error.kind, error.sent),
            (Kind::Refused, false),
            "{url}: {error}"
        );
    }
    // A zone is no part of an address that a URL can have (WHATWG URL, "host parsing").
    for url in ["http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/"] {
        assert!(url::Url::parse(url).is_err(), "{url}");
    }
}
