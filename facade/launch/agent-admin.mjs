#!/usr/bin/env node
/** The program that npm installs as `agent-admin`. */
process.argv.splice(2, 0, 'commands/agent-admin');
await import('./launch.mjs');
