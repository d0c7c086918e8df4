//! The shares of a group's deployments, as weights that Jackfield takes: whole numbers from 1 to a million.

use std::collections::BTreeSet;

use super::Import;
use super::groups::Group;

impl Import<'_> {
    /// Makes the shares of a group's deployments whole, and leaves out those that get no request.
    ///
    /// Only the deployments of one tier share requests.
    pub(super) fn finish_weights(&mut self, group: &mut Group) {
        let has_share = |tier: u32| {
            let mut deployments = group.deployments.iter();
            deployments.any(|one| one.tier == tier && one.weight > 0.0)
        };
        let tiers: BTreeSet<u32> = group.deployments.iter().map(|one| one.tier).collect();
        let used: BTreeSet<u32> = tiers.iter().copied().filter(|t| has_share(*t)).collect();
        let mut kept = Vec::new();
        for mut deployment in std::mem::take(&mut group.deployments) {
            if deployment.weight > 0.0 {
                kept.push(deployment);
                continue;
            }
            let text = if used.contains(&deployment.tier) {
                "the deployment was left out: it gets no request, and a target of Jackfield has a weight of at least 1"
            } else {
                "is 1 in Jackfield: no deployment beside this one has a share, either"
            };
            self.remark(deployment.line, deployment.place.clone(), text);
            if !used.contains(&deployment.tier) {
                deployment.weight = 1.0;
                kept.push(deployment);
            }
        }
        group.deployments = kept;
        for tier in tiers {
            let sharing = || {
                let deployments = group.deployments.iter();
                deployments.filter(|one| one.tier == tier)
            };
            let weights: Vec<f64> = sharing().map(|one| one.weight).collect();
            let (whole, is_exact) = whole(&weights);
            if let (false, Some(first)) = (is_exact, sharing().next()) {
                let text = format!(
                    "the shares of `{}` were rounded to whole numbers of at most {MAX_WEIGHT}",
                    group.name
                );
                self.remark(first.line, first.place.clone(), text);
            }
            let deployments = group.deployments.iter_mut();
            for (deployment, weight) in deployments.filter(|one| one.tier == tier).zip(whole) {
                deployment.weight = weight;
            }
        }
    }
}

/// Whole numbers from 1 to [`MAX_WEIGHT`] in the ratio of these, and whether the ratio is kept.
fn whole(weights: &[f64]) -> (Vec<f64>, bool) {
    if weights.len() == 1 {
        // It shares with no other.
        return (vec![1.0], true);
    }
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let by = |factor: f64| weights.iter().map(move |weight| weight * factor);
    let is_whole = |weight: f64| (weight - weight.round()).abs() < TOLERANCE && weight >= 0.5;
    let factors = POWERS.into_iter().filter(|ten| largest * ten <= MAX_WEIGHT);
    let factor = factors
        .chain([MAX_WEIGHT / largest])
        .find(|factor| by(*factor).all(is_whole));
    let made = by(factor.unwrap_or(MAX_WEIGHT / largest))
        .map(|weight| weight.round().clamp(1.0, MAX_WEIGHT))
        .collect();
    (made, factor.is_some())
}

/// The largest weight of a target in Jackfield.
const MAX_WEIGHT: f64 = 1_000_000.0;
/// Factors that make decimal fractions whole.
const POWERS: [f64; 7] = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
/// How far a product may be from a whole number, as binary fractions are not exact.
const TOLERANCE: f64 = 1e-6;
