//! Routes: names that stand for several models, and are named as models are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_domain::request::ModelRef;
use jackfield_domain::routing::{Abilities, OnExhausted, Route, RouteTarget, Strategy};
use jackfield_engine::Capabilities;

use crate::place::ValueSource;

/// A route as files configure it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfiguredRoute {
    /// The tokens from which on a conversation without a session stays at its target.
    pub cache_minimum: u64,
    /// The targets for requests that a content filter refused, in order.
    pub content_filter: Vec<ConfiguredTarget>,
    /// The time limit to the first piece of a reply of targets without one of their own.
    pub first_byte: Option<Duration>,
    /// What a client of the gateway gets when no target answers.
    pub on_exhausted: OnExhausted,
    /// Where it is configured.
    pub place: ValueSource,
    /// Whether a conversation stays at the target that answered it before.
    pub sticky: bool,
    /// How the targets of a tier are sorted.
    pub strategy: Strategy,
    /// The targets, in order.
    pub targets: Vec<ConfiguredTarget>,
}

/// A target as files configure it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredTarget {
    /// Whether the model takes audio, if it differs from its provider.
    pub audio: Option<bool>,
    /// Whether the model takes documents, if it differs from its provider.
    pub documents: Option<bool>,
    /// The time limit to the first piece of its reply.
    pub first_byte: Option<Duration>,
    /// Whether the model takes images, if it differs from its provider.
    pub images: Option<bool>,
    /// The model, once names are resolved.
    pub model: ModelRef,
    /// The model as written: an alias, or provider/model.
    pub name: Arc<str>,
    /// Its tier: those of the lowest come first.
    pub tier: u32,
    /// Whether the model takes tools, if it differs from its provider.
    pub tools: Option<bool>,
    /// Its share among the targets of its tier; never 0.
    pub weight: u32,
}

impl ConfiguredTarget {
    /// A target of this name.
    pub(crate) fn named(name: Arc<str>) -> Self {
        Self {
            audio: None,
            documents: None,
            first_byte: None,
            images: None,
            model: ModelRef {
                model: "".into(),
                provider: "".into(),
            },
            name,
            tier: 0,
            tools: None,
            weight: 1,
        }
    }

    fn target(
        &self,
        can: Option<&Capabilities>,
        first_byte: Option<Duration>,
        content_filter: bool,
    ) -> RouteTarget {
        let provider = can.map_or(Abilities::ALL, |can| Abilities {
            audio: can.audio,
            documents: can.documents,
            images: can.images,
            tools: can.tools,
        });
        RouteTarget {
            abilities: Abilities {
                audio: self.audio.unwrap_or(provider.audio),
                documents: self.documents.unwrap_or(provider.documents),
                images: self.images.unwrap_or(provider.images),
                tools: self.tools.unwrap_or(provider.tools),
            },
            content_filter,
            first_byte: self.first_byte.or(first_byte),
            model: self.model.clone(),
            tier: self.tier,
            weight: self.weight,
        }
    }
}

impl ConfiguredRoute {
    /// An empty route, configured here.
    pub(crate) const fn at(place: ValueSource) -> Self {
        Self {
            cache_minimum: 1024,
            content_filter: Vec::new(),
            first_byte: None,
            on_exhausted: OnExhausted::Unavailable,
            place,
            sticky: true,
            strategy: Strategy::Ordered,
            targets: Vec::new(),
        }
    }

    /// The route, with what the providers of its targets can do.
    pub(crate) fn route(
        &self,
        name: &Arc<str>,
        providers: &BTreeMap<Arc<str>, Capabilities>,
    ) -> Route {
        let target = |one: &ConfiguredTarget, content_filter| {
            let can = providers.get(&one.model.provider);
            one.target(can, self.first_byte, content_filter)
        };
        let targets = self.targets.iter().map(|one| target(one, false));
        let filtered = self.content_filter.iter().map(|one| target(one, true));
        Route {
            cache_minimum: self.cache_minimum,
            name: Arc::clone(name),
            on_exhausted: self.on_exhausted,
            sticky: self.sticky,
            strategy: self.strategy,
            targets: targets.chain(filtered).collect(),
        }
    }

    /// The models of all targets.
    pub(crate) fn models(&self) -> impl Iterator<Item = &ModelRef> {
        let targets = self.targets.iter().chain(&self.content_filter);
        targets.map(|target| &target.model)
    }

    /// The first target's model, whose provider's options turns of the route have.
    pub(crate) fn first_model(&self) -> Option<&ModelRef> {
        self.targets.first().map(|target| &target.model)
    }
}
