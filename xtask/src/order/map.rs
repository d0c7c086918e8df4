//! The map that lld writes: where each function of a program is.

use std::collections::BTreeSet;

/// Functions by their addresses.
pub(super) struct Functions<'m>(Vec<Function<'m>>);

struct Function<'m> {
    begin: u64,
    end: u64,
    name: &'m str,
}

impl<'m> Functions<'m> {
    /// Reads a map. Its lines are an address, another one, a size, an alignment, and a name, which stands
    /// below its kind in the first line: a part of the program, a file's part in it, or a function.
    pub(super) fn read(map: &'m str) -> Self {
        let mut lines = map.lines();
        let head = lines.next().unwrap_or_default();
        let (parts, functions) = (head.find("Out"), head.find("Symbol"));
        let mut found: Vec<Function<'m>> = Vec::new();
        let mut is_code = false;
        for line in lines {
            let Some((begin, size, name)) = fields(line) else {
                continue;
            };
            let place = Some(line.trim_end().len() - name.len());
            if place == parts {
                is_code = name == ".text";
            } else if place == functions && is_code && size > 0 {
                let end = begin + size;
                found.push(Function { begin, end, name });
            }
        }
        found.sort_by_key(|function| function.begin);
        Self(found)
    }

    /// The names of those that have one of these instructions.
    pub(super) fn of(&self, addresses: &BTreeSet<u64>) -> Vec<&'m str> {
        let ran = |function: &&Function<'m>| {
            let mut inside = addresses.range(function.begin..function.end);
            inside.next().is_some()
        };
        self.0.iter().filter(ran).map(|ran| ran.name).collect()
    }
}

/// The address, the size and the name of a line.
fn fields(line: &str) -> Option<(u64, u64, &str)> {
    let mut rest = line.trim_start();
    let mut numbers = [0_u64; 3];
    for number in &mut numbers {
        let (first, others) = rest.split_once(' ')?;
        *number = u64::from_str_radix(first, 16).ok()?;
        rest = others.trim_start();
    }
    let (_alignment, name) = rest.split_once(' ')?;
    let [begin, _, size] = numbers;
    Some((begin, size, name.trim()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Functions;

    const MAP: &str = "
             VMA              LMA     Size Align Out     In      Symbol
             100              100       20     8 .rodata
             100              100       20     8         /x/a.o:(.rodata.words)
             100              100       20     1                 words
            2000             2000       40    16 .text
            2000             2000       30    16         /x/a.o:(.text._ZN1a1bE)
            2000             2000       30     1                 _ZN1a1bE
            2030             2030       10    16         /x/a.o:(.text._ZN1a1cE)
            2030             2030       10     1                 _ZN1a1cE
            2030             2030        0     1                 a_mark
";

    #[test]
    fn an_instruction_belongs_to_the_function_around_it() {
        let functions = Functions::read(MAP.trim_start_matches('\n'));
        let of = |address| functions.of(&BTreeSet::from([address]));
        assert_eq!(of(0x2000), ["_ZN1a1bE"]);
        assert_eq!(of(0x202f), ["_ZN1a1bE"]);
        assert_eq!(of(0x2030), ["_ZN1a1cE"]);
        assert!(of(0x2040).is_empty());
        assert!(of(0x100).is_empty(), "it is no code");
    }
}
