// What a person can do about a failed model call.

import { say } from './languages.js';

const HELP = {
  budget_exhausted: 'help_budget',
  budget_unavailable: 'help_later',
  content_filter: 'help_filter',
  context_too_long: 'help_shorter',
  forbidden: 'help_administrator',
  interrupted: 'help_again',
  invalid_request: 'help_model',
  model_not_found: 'help_model',
  overloaded: 'help_pause',
  protocol_violation: 'help_administrator',
  rate_limited: 'help_pause',
  server_error: 'help_pause',
  timeout: 'help_again',
  too_large: 'help_smaller',
  tools_unsupported: 'help_model',
  transport: 'help_administrator',
  unauthenticated: 'help_administrator',
  unsupported: 'help_model',
  unusable_reply: 'help_again',
};

export const helpFor = (kind) => (Object.hasOwn(HELP, kind) ? say(HELP[kind]) : '');
