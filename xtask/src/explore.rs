//! `cargo xtask explore`: the properties of the loop, in worlds of new seeds.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

use anyhow::Context as _;

use crate::run;
use crate::testing::test_binary::TestBinary;

/// Plays the worlds of this many new seeds, or those of one seed, and stops at the first that violates a property.
pub(crate) fn run(root: &Path, seed: Option<u64>, times: u32) -> anyhow::Result<()> {
    let seeds: Vec<u64> = match seed {
        Some(seed) => vec![seed],
        // Each state has random keys of its own.
        None => (0..times)
            .map(|nth| RandomState::new().hash_one(nth))
            .collect(),
    };
    let built = TestBinary::build(root, &["it"])?;
    let domain = TestBinary::of_package(&built, "jackfield-domain")?;
    for seed in seeds {
        println!("explore: seed {seed}");
        let mut test = domain.command();
        // How often each class is reached is checked for the seed of CI alone.
        test.args(["loop_properties::", "--skip", "reaches_every_class"]);
        test.env("JACKFIELD_WORLD_SEED", seed.to_string());
        run::succeed(&mut test)
            .with_context(|| format!("play it again with `cargo xtask explore --seed {seed}`"))?;
    }
    Ok(())
}
