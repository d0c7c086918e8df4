//! Groups of deployments, aliases and fallbacks, as aliases and routes.

use std::collections::BTreeMap;

use super::Import;
use super::deployment::{Deployment, rounded};
use super::settings::Fallbacks;

/// The deployments of one `model_name`.
pub(super) struct Group {
    pub(super) deployments: Vec<Deployment>,
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) place: String,
}

/// What a name stands for in the configuration that is written.
pub(super) enum Named {
    Alias(String),
    /// Several, or one with properties.
    Route {
        content_filter: Vec<String>,
        targets: Vec<WrittenTarget>,
    },
}

/// A target of a route.
pub(super) struct WrittenTarget {
    pub(super) first_byte: Option<f64>,
    pub(super) images: Option<bool>,
    pub(super) model: String,
    pub(super) tier: u32,
    pub(super) tools: Option<bool>,
    pub(super) weight: u32,
}

impl Import<'_> {
    /// Makes names of the groups, with their fallbacks, and of the aliases.
    pub(super) fn finish_groups(&mut self) {
        let mut groups = std::mem::take(&mut self.groups);
        for group in &mut groups {
            self.finish_weights(group);
        }
        let mut named: Vec<(String, String)> = Vec::new();
        for group in &groups {
            let meaning = self.meaning(group, &groups);
            if let Named::Alias(model) = &meaning
                && *model == group.name
            {
                // Clients can go on naming it like that.
                named.push((group.name.clone(), group.name.clone()));
                continue;
            }
            let name = self.free_name(&group.name, group.line, &group.place);
            named.push((group.name.clone(), name.clone()));
            self.settings.names.push((name, meaning));
        }
        for (alias, model, line) in std::mem::take(&mut self.settings.aliases) {
            let place = format!("router_settings.model_group_alias.{alias}");
            let Some(group) = groups.iter().find(|group| group.name == model) else {
                self.remark(
                    line,
                    place,
                    format!("was left out: there is no model `{model}`"),
                );
                continue;
            };
            if groups.iter().any(|group| group.name == alias) {
                self.remark(line, place, "was left out: a model has this name");
                continue;
            }
            let meaning = self.meaning(group, &groups);
            let name = self.free_name(&alias, line, &place);
            self.settings.names.push((name, meaning));
        }
        self.settings.model = named.into_iter().next().map(|(_, name)| name);
        self.unused_fallbacks(&groups);
        self.groups = groups;
    }

    fn meaning(&mut self, group: &Group, groups: &[Group]) -> Named {
        let mut tiers: Vec<(u64, &Deployment)> = group
            .deployments
            .iter()
            .map(|deployment| (u64::from(deployment.tier), deployment))
            .collect();
        for name in self.settings.fallbacks.of(&group.name) {
            let next = tiers
                .iter()
                .map(|(tier, _)| tier.saturating_add(1))
                .max()
                .unwrap_or(0);
            let fallback = groups.iter().find(|group| group.name == *name);
            for deployment in fallback
                .map(|group| &*group.deployments)
                .unwrap_or_default()
            {
                // As many fallbacks as a file can have do not fill 64 bits.
                tiers.push((next.saturating_add(deployment.tier.into()), deployment));
            }
        }
        let content_filter: Vec<String> = self
            .settings
            .content_fallbacks
            .of(&group.name)
            .iter()
            .filter_map(|name| groups.iter().find(|group| group.name == *name))
            .flat_map(|group| &group.deployments)
            .map(|deployment| self.model_name(deployment))
            .collect();
        let numbers = tier_numbers(&tiers);
        let mut targets: Vec<WrittenTarget> = Vec::new();
        for (tier, deployment) in tiers {
            let model = self.model_name(deployment);
            if targets.iter().any(|target| target.model == model) {
                // A fallback that is a target already.
                continue;
            }
            targets.push(WrittenTarget {
                first_byte: deployment.first_byte,
                images: deployment.images,
                model,
                tier: numbers.get(&tier).copied().unwrap_or(0),
                tools: deployment.tools,
                weight: rounded(Some(deployment.weight)),
            });
        }
        targets.sort_by_key(|target| target.tier);
        if targets.len() > MAX_TARGETS {
            targets.truncate(MAX_TARGETS);
            let text = format!(
                "has more deployments than the {MAX_TARGETS} targets of a route: the first were taken"
            );
            self.remark(group.line, group.place.clone(), text);
        }
        let is_plain = |target: &WrittenTarget| {
            target.first_byte.is_none() && target.images.is_none() && target.tools.is_none()
        };
        match &*targets {
            [only] if is_plain(only) && content_filter.is_empty() => {
                Named::Alias(only.model.clone())
            }
            _ => Named::Route {
                content_filter,
                targets,
            },
        }
    }

    /// The name itself, or one like it that Jackfield can have.
    fn free_name(&mut self, wanted: &str, line: usize, place: &str) -> String {
        let plain: String = wanted
            .chars()
            .map(|character| {
                if character == '/' || character.is_control() {
                    '-'
                } else {
                    character
                }
            })
            .collect();
        let plain = if plain.trim().is_empty() {
            "model".to_owned()
        } else {
            plain
        };
        let is_free = |name: &String| self.settings.names.iter().all(|(taken, _)| taken != name);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let name = names.find(is_free).unwrap_or_default();
        if name != wanted {
            let text =
                format!("is called `{name}`: a short name has no `/`; change it in the clients");
            self.remark(line, place, text);
        }
        name
    }

    /// Names fallbacks from or to models that there are not.
    fn unused_fallbacks(&mut self, groups: &[Group]) {
        let fallbacks = std::mem::take(&mut self.settings.fallbacks);
        let content = std::mem::take(&mut self.settings.content_fallbacks);
        for one in [fallbacks, content] {
            let Fallbacks { default, of } = one;
            for (line, place, name) in default.into_iter().chain(of.into_iter().flat_map(|row| {
                let (line, place) = (row.line, row.place);
                let names = std::iter::once(row.from).chain(row.to);
                names.map(move |name| (line, place.clone(), name))
            })) {
                if !groups.iter().any(|group| group.name == name) {
                    let text = format!(
                        "names a model that `model_list` has not, or that was left out: `{name}`"
                    );
                    self.remark(line, place, text);
                }
            }
        }
    }
}

/// Tiers without gaps, from 0.
fn tier_numbers(tiers: &[(u64, &Deployment)]) -> BTreeMap<u64, u32> {
    let mut sorted: Vec<u64> = tiers.iter().map(|(tier, _)| *tier).collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.into_iter().zip(0..).collect()
}

/// The most targets of a route in Jackfield.
const MAX_TARGETS: usize = 32;
