/** What stands in a path where an agent could: `/agents/health`. A test holds them to the routes. */
export const BESIDE_AGENTS: readonly string[] = ['flows', 'health', 'memory', 'models', 'skills', 'tools'];
