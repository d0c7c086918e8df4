//! What callgrind saw of a run: the addresses of the instructions, as the program's file has them.

use std::collections::BTreeSet;
use std::path::Path;

/// The addresses of this program's instructions that ran.
pub(super) fn addresses(dump: &str, program: &Path) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let mut is_ours = false;
    for line in dump.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_ours = Path::new(object) == program;
        } else if is_ours
            && let Some(line) = line.strip_prefix("0x")
            && let Some(address) = line.split(' ').next()
        {
            found.extend(u64::from_str_radix(address, 16));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::addresses;

    #[test]
    fn only_what_the_program_itself_ran_is_found() {
        let dump = "positions: instr\nevents: Ir\n\nob=/lib/libc.so\nfn=memcpy\n0x10 3\n\n\
                    ob=/x/jackfield\nfn=0x2000\n0x2000 7\n0x2004 7\ncob=/lib/libc.so\ncfn=memcpy\ncalls=1 0x10\n0x2008 9\n\n\
                    ob=/lib/libm.so\n0x30 1\n";
        let found = addresses(dump, Path::new("/x/jackfield"));
        assert_eq!(Vec::from_iter(found), [0x2000, 0x2004, 0x2008]);
    }
}
