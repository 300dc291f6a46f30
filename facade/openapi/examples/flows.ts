import type { Examples } from './example.ts';

const id = 'flw_06d3jd7m2vc5x8r1t4w7y9a3s6';

const step = {
  id: 'paused',
  tool: 'list_agents',
  arguments: { status: 'paused', limit: 10 },
  onError: 'stop',
  retry: { attempts: 3, delayMs: 1000 },
};
const note = {
  id: 'note',
  tool: 'create_skill',
  arguments: { name: 'Paused on {{ input.day }}', instructions: '{{ steps.paused.output.data | json }}' },
  when: 'size(steps.paused.output.data) > 0',
  onError: 'stop',
  retry: { attempts: 1, delayMs: 1000 },
};

const flow = {
  id,
  name: 'Nightly check',
  enabled: true,
  trigger: { kind: 'cron', expression: '0 3 * * *', timezone: 'Europe/Berlin' },
  steps: [step, note],
  runAs: { type: 'session', id: 'usr_06d3ja9x5r8p2c7v0b4m6n1k3j', name: 'Ada Acme' },
  createdAt: '2026-03-02T13:00:00.000Z',
  updatedAt: '2026-03-02T13:00:00.000Z',
  revision: 1,
};

const run = {
  id: 'run_06d3jf8n3wd6y9s2v5x8z1b4c7',
  flowId: id,
  status: 'queued',
  trigger: { kind: 'manual', by: flow.runAs },
  runAs: flow.runAs,
  input: { day: 'Monday' },
  steps: [],
  createdAt: '2026-03-03T09:00:00.000Z',
  updatedAt: '2026-03-03T09:00:00.000Z',
  revision: 1,
};

export const flowExamples: Examples = {
  list_flows: { input: { enabled: true, limit: 20 }, answer: { data: [flow], nextCursor: null } },
  get_flow: { input: { id }, answer: flow },
  create_flow: { input: { name: flow.name, trigger: flow.trigger, steps: flow.steps }, answer: flow },
  update_flow: {
    input: { id, enabled: false, expectedRevision: 1 },
    answer: { ...flow, enabled: false, updatedAt: '2026-03-03T09:00:00.000Z', revision: 2 },
  },
  delete_flow: { input: { id } },
  trigger_flow: { input: { id, input: { day: 'Monday' } }, answer: run },
};
