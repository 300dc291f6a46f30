import type { AgentRunRecord, TokenUsage } from '../../resources/agent-run.ts';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { NewRecord, Store } from '../../store/port.ts';
import { TOKEN_DETAILS } from '../../tools/core/models/token-usage.ts';
import type { HourOfUsage } from '../../tools/usage/figures.ts';
import { fc } from '../support/property.ts';

export const HOUR_MS = 3_600_000;
export const START = Date.parse('2026-03-01T00:00:00Z');

/** What happened at some time: a call, or a run of an agent. */
export interface Happened {
  readonly at: number;
  readonly who: readonly (readonly [type: string, id: string])[];
  readonly tool: string;
  readonly ms: number;
  readonly outcome: AuditEntry['outcome'];
  readonly model: string | undefined;
  readonly turns: readonly (readonly [input: number, output: number])[];
}

const who = fc.constantFrom<Happened['who']>(
  [['session', 'usr_ann']],
  [['api-key', 'key_one']],
  [
    ['agent', 'agt_one'],
    ['api-key', 'key_one'],
  ],
  [
    ['agent', 'agt_two'],
    ['agent', 'agt_one'],
    ['capsule', 'cap_one'],
  ],
  [
    ['app', 'app_one'],
    ['session', 'usr_ann'],
  ],
  [
    ['flow', 'flw_one'],
    ['api-key', 'key_two'],
  ],
  [['anonymous', 'anonymous']],
);
export const happened: fc.Arbitrary<Happened> = fc.record({
  at: fc.integer({ min: 0, max: 30 * HOUR_MS }).map((ms) => START + ms),
  who,
  tool: fc.constantFrom('get_skill', 'list_agents', 'git__open'),
  ms: fc.integer({ min: 0, max: 5_000_000 }).map((micros) => micros / 1000),
  outcome: fc.constantFrom('ok', 'ok', 'denied', 'invalid', 'failed'),
  model: fc.option(fc.constantFrom('one/small', 'one/large'), { nil: undefined }),
  turns: fc.array(fc.tuple(fc.nat(5000), fc.nat(5000)), { maxLength: 3 }),
});

const refs = ({ who }: Happened) => who.map(([type, id]) => ({ type, id, name: id }));
const chain = (event: Happened) => {
  const [principal = { type: 'session', id: 'x', name: 'x' }, ...onBehalfOf] = refs(event);
  return { principal, ...(onBehalfOf.length > 0 && { onBehalfOf }) };
};

/** Some turns have parts that were cached or reasoning. Parts of which there is nothing are absent. */
export function tokensOf(turns: Happened['turns']): TokenUsage {
  const sum = (of: (input: number, output: number) => number) =>
    turns.reduce((all, [input, output]) => all + of(input, output), 0);
  const details = {
    cachedInputTokens: sum((input) => (input % 2 === 0 ? 0 : Math.floor(input / 3))),
    cacheWriteTokens: sum((input) => (input % 3 === 0 ? 0 : Math.floor(input / 5))),
    reasoningTokens: sum((_, output) => (output % 2 === 0 ? 0 : Math.floor(output / 2))),
  };
  return {
    inputTokens: sum((input) => input),
    outputTokens: sum((_, output) => output),
    ...Object.fromEntries(Object.entries(details).filter(([, tokens]) => tokens > 0)),
  };
}

let count = 0;
export function entryOf(event: Happened): AuditEntry {
  count += 1;
  const { at, tool, outcome, ms } = event;
  return {
    ...{ id: `aud_${String(count).padStart(26, '0')}`, at: new Date(at).toISOString(), requestId: 'test', door: 'mcp' },
    ...chain(event),
    ...{ tool, arguments: {}, outcome, durationMs: ms },
  };
}

function runOf(event: Happened, model: string): NewRecord<AgentRunRecord> {
  const turns = event.turns.map((turn) => {
    return { model, usage: tokensOf([turn]), ms: Math.round(event.ms), calls: 0 };
  });
  const usage = tokensOf(event.turns);
  const agentId = event.who.find(([type]) => type === 'agent')?.[1];
  return {
    ...{ kind: 'invoke', status: event.outcome === 'ok' ? 'succeeded' : 'failed', model, steps: turns.length, usage },
    ...{ ...chain(event), turns, createdAt: new Date(event.at).toISOString() },
    ...(agentId !== undefined && { agentId }),
    accessKeys: [],
  };
}

export async function enter(store: Store, events: readonly Happened[]): Promise<void> {
  for (const event of events) store.audit.append(entryOf(event));
  await store.audit.flush();
  await store.transaction(async (tx) => {
    for (const event of events) if (event.model) await tx.agentRuns.insert(runOf(event, event.model));
  });
}

export const figuresOf = (store: Store) => ({
  audit: store.audit,
  agentRuns: store.agentRuns,
  usageHours: store.usageHours,
});

/** All figures of the source, added up by label. */
export async function tally(
  hours: AsyncIterable<HourOfUsage> | Iterable<HourOfUsage>,
): Promise<Record<string, number>> {
  const all: Record<string, number> = {};
  for await (const { source, hour, cells } of hours) {
    for (const { labels, calls, errors, tokens } of cells.all) {
      const key = `${source} ${hour} ${JSON.stringify(Object.entries(labels).sort())}`;
      all[key] = (all[key] ?? 0) + calls * 1e12 + errors * 1e9 + tokens.inputTokens + tokens.outputTokens;
      for (const detail of TOKEN_DETAILS)
        all[`${key} ${detail}`] = (all[`${key} ${detail}`] ?? 0) + (tokens[detail] ?? 0);
    }
  }
  return all;
}
