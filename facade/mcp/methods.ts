/** Stays open for as long as its client listens. */
export const LISTEN = 'subscriptions/listen';

/** The methods and notifications that are served, each in the revisions that have it. */
export const SERVED_METHODS = [
  ...(['initialize', 'server/discover', 'ping', 'logging/setLevel', 'completion/complete', LISTEN] as const),
  ...(['tools/list', 'tools/call', 'prompts/list', 'prompts/get'] as const),
  ...(['resources/list', 'resources/templates/list', 'resources/read'] as const),
  ...(['notifications/initialized', 'notifications/cancelled', 'notifications/progress'] as const),
  'notifications/roots/list_changed',
] as const;
