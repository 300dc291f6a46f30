import type { Examples } from './example.ts';

export const systemExamples: Examples = {
  check_health: {
    answer: { status: 'ok', version: '0.1.0', uptimeSeconds: 86_400, store: { kind: 'lowdb', writable: true } },
  },
  get_mcp_status: {
    answer: {
      status: 'ok',
      name: 'agent-admin',
      version: '0.1.0',
      protocolVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
      tools: 130,
    },
  },
};
