//! Public and special-purpose addresses: the registries of IANA, as tables.
//!
//! `IpAddr::is_global` is not stable, and ignores addresses embedded in others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// The kind of an address that is not public, in words that follow "which is"; `None` if it is public.
///
/// An IPv4 address within an IPv6 one (mapped, NAT64, 6to4) is checked as well.
#[must_use]
pub fn special(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    }
}

/// The canonical address: IPv4 for a mapped IPv6 address.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    let mut table = V4.iter();
    table
        .find(|(network, _)| network.contains(&address))
        .map(|(_, what)| *what)
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return special_v4(mapped);
    }
    let mut table = V6.iter();
    if let Some((_, what)) = table.find(|(network, _)| network.contains(&address)) {
        return Some(what);
    }
    if NAT64.contains(&address) {
        let [.., a, b, c, d] = address.octets();
        return special_v4(Ipv4Addr::new(a, b, c, d));
    }
    if SIX_TO_FOUR.contains(&address) {
        let [_, _, a, b, c, d, ..] = address.octets();
        return special_v4(Ipv4Addr::new(a, b, c, d));
    }
    (!GLOBAL_UNICAST.contains(&address)).then_some("reserved (RFC 4291)")
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(groups: [u16; 3], length: u8) -> Ipv6Net {
    let [a, b, c] = groups;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

/// IANA IPv4 Special-Purpose Address Registry, and multicast; the first match counts.
const V4: &[(Ipv4Net, &str)] = &[
    (v4(0, 0, 0, 0, 32), "unspecified (RFC 1122)"),
    (v4(0, 0, 0, 0, 8), "of this network (RFC 791)"),
    (v4(10, 0, 0, 0, 8), "private (RFC 1918)"),
    (
        v4(100, 64, 0, 0, 10),
        "shared behind a carrier's NAT (RFC 6598)",
    ),
    (v4(127, 0, 0, 0, 8), "this machine (RFC 1122)"),
    // Includes 169.254.169.254, where cloud providers serve credentials.
    (v4(169, 254, 0, 0, 16), "link-local (RFC 3927)"),
    (v4(172, 16, 0, 0, 12), "private (RFC 1918)"),
    (v4(192, 0, 0, 0, 24), "for protocols (RFC 6890)"),
    (v4(192, 0, 2, 0, 24), "for documentation (RFC 5737)"),
    (v4(192, 88, 99, 0, 24), "a 6to4 relay (RFC 7526)"),
    (v4(192, 168, 0, 0, 16), "private (RFC 1918)"),
    (v4(198, 18, 0, 0, 15), "for benchmarks (RFC 2544)"),
    (v4(198, 51, 100, 0, 24), "for documentation (RFC 5737)"),
    (v4(203, 0, 113, 0, 24), "for documentation (RFC 5737)"),
    (v4(224, 0, 0, 0, 4), "multicast (RFC 5771)"),
    (v4(255, 255, 255, 255, 32), "broadcast (RFC 919)"),
    (v4(240, 0, 0, 0, 4), "reserved (RFC 1112)"),
];

/// IANA IPv6 Special-Purpose Address Registry, multicast and deprecated ranges; everything else outside of
/// [`GLOBAL_UNICAST`] is reserved. A few parts of `2001::/23` are reachable, but host no web APIs.
const V6: &[(Ipv6Net, &str)] = &[
    (v6([0, 0, 0], 128), "unspecified (RFC 4291)"),
    (
        Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128),
        "this machine (RFC 4291)",
    ),
    (v6([0, 0, 0], 96), "IPv4-compatible (RFC 4291)"),
    // Local NAT64: its targets are in the local network.
    (v6([0x64, 0xff9b, 1], 48), "behind a local NAT64 (RFC 8215)"),
    (v6([0x100, 0, 0], 64), "discarded (RFC 6666)"),
    (v6([0x2001, 0, 0], 32), "Teredo (RFC 4380)"),
    (v6([0x2001, 2, 0], 48), "for benchmarks (RFC 5180)"),
    (v6([0x2001, 0, 0], 23), "for protocols (RFC 2928)"),
    (v6([0x2001, 0xdb8, 0], 32), "for documentation (RFC 3849)"),
    (v6([0x3fff, 0, 0], 20), "for documentation (RFC 9637)"),
    (v6([0x5f00, 0, 0], 16), "for segment routing (RFC 9602)"),
    (v6([0xfc00, 0, 0], 7), "private (RFC 4193)"),
    (v6([0xfe80, 0, 0], 10), "link-local (RFC 4291)"),
    (v6([0xfec0, 0, 0], 10), "site-local (RFC 3879)"),
    (v6([0xff00, 0, 0], 8), "multicast (RFC 4291)"),
];

/// The well-known prefix of NAT64 (RFC 6052); the last 32 bits are an IPv4 address.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);
/// 6to4 (RFC 3056); bits 16 to 47 are an IPv4 address.
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0], 16);
/// The addresses that IANA allocates for the Internet (RFC 3513).
const GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0], 3);
