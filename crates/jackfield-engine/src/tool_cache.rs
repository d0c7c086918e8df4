//! Results of tools that are kept for a while, and given to equal calls of the same principal.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hashlink::LruCache;
use jackfield_domain::approval;
use jackfield_domain::digest::Digest;
use jackfield_domain::fact::CachedCall;
use jackfield_domain::ids::ToolboxId;
use jackfield_domain::outcome::ToolResult;
use jackfield_domain::policy::matches_tool;
use jackfield_domain::request::ToolRun;
use jackfield_domain::setup::Setup;
use jackfield_domain::time::Now;
use jackfield_domain::tool::{CatalogEntry, Safety, ToolOrigin};
use jackfield_domain::tool_loop::Input;
use jackfield_ports::toolbox::Toolbox;
use jackfield_ports::toolbox_source::ToolboxSet;

/// Which results of tools are kept, for how long, and how many of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolCacheSettings {
    /// The maximum size of all kept results, in bytes.
    pub bytes: usize,
    /// The maximum number of kept results.
    pub entries: usize,
    /// The rules; the last match wins. Without a match, no result is kept.
    pub rules: Vec<ToolCacheRule>,
}

impl Default for ToolCacheSettings {
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            entries: 1000,
            rules: Vec::new(),
        }
    }
}

/// A rule for the results of tools.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolCacheRule {
    /// A pattern, as in [`PolicyRule`](jackfield_domain::policy::PolicyRule). It covers read-only tools of trusted
    /// toolboxes, and the one tool that it names as `toolbox/tool`.
    pub pattern: Arc<str>,
    /// How long a result is used again, from the start of the call; `None` is never.
    pub ttl: Option<Duration>,
}

impl ToolCacheRule {
    /// Whether it names exactly this tool.
    fn names(&self, tool: &ToolOrigin) -> bool {
        let named = self.pattern.split_once('/');
        named == Some((tool.toolbox.as_str(), &*tool.tool))
    }
}

/// The kept results. They live in memory only: a later process begins without any.
pub(crate) struct ToolCache {
    settings: ToolCacheSettings,
    state: Mutex<CacheState>,
}

struct CacheState {
    /// The size of all results, in bytes.
    bytes: usize,
    /// How often a call may have changed what is behind a toolbox.
    changes: HashMap<ToolboxId, u64>,
    results: LruCache<CacheKey, KeptResult>,
}

/// Calls with equal keys may share an outcome.
#[derive(Clone, Eq, Hash, PartialEq)]
struct CacheKey {
    /// A toolbox cuts longer outcomes.
    max_bytes: usize,
    principal: Option<Arc<str>>,
    /// The digest of toolbox, tool, definition and canonical arguments.
    subject: Digest,
    toolbox: ToolboxId,
}

struct KeptResult {
    from: Arc<CachedCall>,
    /// The instance that ran the call. Under another configuration, another one may have its id.
    instance: Weak<dyn Toolbox>,
    result: ToolResult,
    size: usize,
    started: Now,
}

/// The answer of the cache to a call.
pub(crate) enum CacheLookup {
    /// The outcome of an equal call is valid: an input of the loop.
    Hit(Input),
    /// The tool has to run, and its result may be kept.
    Miss(CacheMiss),
    /// The tool has to run, and its result is not kept.
    Uncached,
}

/// A call whose result may be kept.
pub(crate) struct CacheMiss {
    /// The changes of the toolbox before the call: a result is not kept if another call may have outdated it.
    changes: u64,
    instance: Weak<dyn Toolbox>,
    key: CacheKey,
    started: Now,
}

/// A call that may change what is behind its toolbox. Results from before its end are not used later.
pub(crate) struct ToolboxChange<'a> {
    cache: &'a ToolCache,
    toolbox: &'a ToolboxId,
}

impl ToolCache {
    pub(crate) fn new(settings: ToolCacheSettings) -> Self {
        Self {
            settings,
            state: Mutex::new(CacheState {
                bytes: 0,
                changes: HashMap::new(),
                results: LruCache::new_unbounded(),
            }),
        }
    }

    /// Looks for the outcome of an equal call. The policy has decided about this one before.
    pub(crate) fn look_up(
        &self,
        tool: Option<&CatalogEntry>,
        run: &ToolRun,
        toolboxes: &ToolboxSet,
        setup: &Setup,
        now: Now,
    ) -> CacheLookup {
        let mut all = toolboxes.toolboxes.iter();
        let registered = all.find(|registered| *registered.toolbox.id() == run.tool.toolbox);
        let (Some(tool), Some(registered)) = (tool, registered) else {
            return CacheLookup::Uncached;
        };
        let Some(ttl) = self.ttl(tool, registered.status.trusted) else {
            return CacheLookup::Uncached;
        };
        let caller = setup.caller.as_ref();
        let key = CacheKey {
            max_bytes: run.max_bytes,
            principal: caller.map(|caller| Arc::clone(&caller.principal)),
            subject: approval::subject(tool, &run.input),
            toolbox: run.tool.toolbox.clone(),
        };
        let instance = Arc::downgrade(&registered.toolbox);
        let mut state = self.state();
        if let Some(kept) = state.results.get(&key) {
            if kept.is_valid(&instance, ttl, now) {
                return CacheLookup::Hit(Input::ToolCached {
                    attempt: run.attempt.clone(),
                    from: Arc::clone(&kept.from),
                    result: kept.result.clone(),
                });
            }
            state.remove(&key);
        }
        CacheLookup::Miss(CacheMiss {
            changes: state.changes_of(&key.toolbox),
            instance,
            key,
            started: now,
        })
    }

    /// Keeps the result of a call, unless it is an error or too large, or may be outdated.
    pub(crate) fn keep(&self, miss: CacheMiss, from: CachedCall, result: &ToolResult) {
        let size = result.size().saturating_add(OVERHEAD);
        let mut state = self.state();
        let is_outdated = state.changes_of(&miss.key.toolbox) != miss.changes;
        if result.is_error || is_outdated || size > self.settings.bytes {
            return;
        }
        state.remove(&miss.key);
        state.bytes += size;
        let kept = KeptResult {
            from: Arc::new(from),
            instance: miss.instance,
            result: result.clone(),
            size,
            started: miss.started,
        };
        state.results.insert(miss.key, kept);
        while state.bytes > self.settings.bytes || state.results.len() > self.settings.entries {
            let Some((_, dropped)) = state.results.remove_lru() else {
                break;
            };
            state.bytes -= dropped.size;
        }
    }

    /// Notes that a call of this tool begins. `None` if it changes nothing. The end of the call is the drop.
    pub(crate) fn begin_change<'a>(
        &'a self,
        tool: Option<&CatalogEntry>,
        toolbox: &'a ToolboxId,
    ) -> Option<ToolboxChange<'a>> {
        let is_read = |tool: &CatalogEntry| {
            let is_named = |rule: &ToolCacheRule| rule.ttl.is_some() && rule.names(&tool.origin);
            tool.safety == Safety::ReadOnly || self.rule(&tool.origin).is_some_and(is_named)
        };
        if self.settings.rules.is_empty() || tool.is_some_and(is_read) {
            return None;
        }
        self.drop_results(toolbox);
        Some(ToolboxChange {
            cache: self,
            toolbox,
        })
    }

    /// How long results of this tool are used, if they are.
    fn ttl(&self, tool: &CatalogEntry, trusted: bool) -> Option<Duration> {
        if tool.asked_by.is_some() {
            // The outcome is a permission for this one call.
            return None;
        }
        let rule = self.rule(&tool.origin)?;
        let is_covered = trusted && tool.safety == Safety::ReadOnly;
        rule.ttl.filter(|_| is_covered || rule.names(&tool.origin))
    }

    fn rule(&self, tool: &ToolOrigin) -> Option<&ToolCacheRule> {
        let mut rules = self.settings.rules.iter().rev();
        rules.find(|rule| matches_tool(&rule.pattern, tool))
    }

    fn drop_results(&self, toolbox: &ToolboxId) {
        let mut state = self.state();
        *state.changes.entry(toolbox.clone()).or_default() += 1;
        let mut dropped = 0;
        state.results.retain(|key, kept| {
            let stays = key.toolbox != *toolbox;
            dropped += if stays { 0 } else { kept.size };
            stays
        });
        state.bytes -= dropped;
    }

    fn state(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ToolCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCache")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl CacheState {
    fn changes_of(&self, toolbox: &ToolboxId) -> u64 {
        self.changes.get(toolbox).copied().unwrap_or_default()
    }

    fn remove(&mut self, key: &CacheKey) {
        if let Some(removed) = self.results.remove(key) {
            self.bytes -= removed.size;
        }
    }
}

impl KeptResult {
    fn is_valid(&self, instance: &Weak<dyn Toolbox>, ttl: Duration, now: Now) -> bool {
        // The monotonic clock may stand still while the machine sleeps.
        let mono = now.mono.since(self.started.mono);
        let age = mono.max(now.wall.since(self.started.wall));
        age < ttl && std::ptr::addr_eq(self.instance.as_ptr(), instance.as_ptr())
    }
}

impl Drop for ToolboxChange<'_> {
    fn drop(&mut self) {
        self.cache.drop_results(self.toolbox);
    }
}

/// What a kept result needs besides its content, in bytes.
const OVERHEAD: usize = 512;
