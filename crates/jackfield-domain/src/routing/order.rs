//! The order of a route's targets for one turn or request.

use std::cmp::Reverse;

use super::{Route, RouteTarget, Strategy};
use crate::price::{Money, Price};

/// What the order of a route's targets depends on. Each list has an entry for each target of the route.
#[derive(Clone, Copy, Debug)]
pub struct OrderInput<'a> {
    /// The requests in flight.
    pub busy: &'a [u32],
    /// Whether the breaker blocks the target now.
    pub is_blocked: &'a [bool],
    /// Whether the target can serve the request.
    pub is_usable: &'a [bool],
    /// The prices, as far as they are known.
    pub prices: &'a [Option<Price>],
}

/// How much each target of a weighted route is due.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Rotation(Vec<i64>);

/// The indices of the targets that can serve a request, in the order in which they are tried: by tier, then by the
/// strategy. Those for refusals of a content filter come last.
///
/// The rotation gives each target of a weighted route its share of the requests in the long run. `None` leaves it as
/// it is, for a request that goes where an earlier one went.
#[must_use]
pub fn order(route: &Route, input: &OrderInput<'_>, rotation: Option<&mut Rotation>) -> Vec<usize> {
    let usable = route.targets.iter().enumerate();
    let usable = usable.filter(|(index, _)| is(input.is_usable, *index));
    let mut order: Vec<(usize, &RouteTarget)> = usable.collect();
    let rank = |target: &RouteTarget| (target.content_filter, target.tier);
    order.sort_by_key(|(_, target)| rank(target));
    match (route.strategy, rotation) {
        (Strategy::Weighted, Some(rotation)) => {
            let free = || {
                order
                    .iter()
                    .filter(|(index, _)| !is(input.is_blocked, *index))
            };
            let tier = free().next().map(|(_, target)| rank(target));
            let turn = free().filter(|(_, target)| Some(rank(target)) == tier);
            let turn = turn.map(|(index, target)| (*index, i64::from(target.weight)));
            let taken = rotation.take(&turn.collect::<Vec<_>>());
            order.sort_by_key(|(index, target)| {
                let is_other = Some(*index) != taken;
                (rank(target), is_other, Reverse(rotation.due(*index)))
            });
        }
        (Strategy::Weighted | Strategy::Ordered, _) => {}
        (Strategy::Cheapest, _) => {
            order.sort_by_key(|(index, target)| (rank(target), usual_price(input, *index)));
        }
        (Strategy::LeastBusy, _) => order.sort_by(|one, other| {
            let ranks = rank(one.1).cmp(&rank(other.1));
            // Requests for each unit of weight, without fractions.
            let load = busy(input, one.0) * u64::from(other.1.weight);
            let other_load = busy(input, other.0) * u64::from(one.1.weight);
            ranks.then_with(|| load.cmp(&other_load))
        }),
    }
    order.into_iter().map(|(index, _)| index).collect()
}

impl Rotation {
    /// Gives the turn to one of these targets, each with its weight; `None` if there is none.
    ///
    /// Smooth weighted round robin, as in nginx (`ngx_http_upstream_round_robin.c`, 1.29, 2026): each target is due by
    /// its weight more, and the one that is due most pays for all of them.
    fn take(&mut self, turn: &[(usize, i64)]) -> Option<usize> {
        for (index, weight) in turn {
            if self.0.len() <= *index {
                self.0.resize(index + 1, 0);
            }
            if let Some(due) = self.0.get_mut(*index) {
                *due += weight;
            }
        }
        let most = turn.iter().map(|(index, _)| *index);
        let most = most.min_by_key(|index| Reverse(self.due(*index)))?;
        if let Some(due) = self.0.get_mut(most) {
            *due -= turn.iter().map(|(_, weight)| weight).sum::<i64>();
        }
        Some(most)
    }

    fn due(&self, index: usize) -> i64 {
        self.0.get(index).copied().unwrap_or_default()
    }
}

fn is(list: &[bool], index: usize) -> bool {
    list.get(index).copied().unwrap_or_default()
}

fn busy(input: &OrderInput<'_>, index: usize) -> u64 {
    u64::from(input.busy.get(index).copied().unwrap_or_default())
}

/// The price of a usual request; an unknown one is the highest. One in another currency than that of the first known
/// price is unknown here.
fn usual_price(input: &OrderInput<'_>, index: usize) -> Money {
    let currency = input
        .prices
        .iter()
        .flatten()
        .next()
        .map(|price| &price.currency);
    let price = input.prices.get(index).and_then(Option::as_ref);
    let price = price.filter(|price| Some(&price.currency) == currency);
    price.map_or(Money::MAX, |price| {
        price.reserve(None, USUAL_INPUT, USUAL_OUTPUT)
    })
}

/// The tokens by which prices are compared: models read more than they write.
const USUAL_INPUT: u64 = 3_000;
const USUAL_OUTPUT: u64 = 1_000;
