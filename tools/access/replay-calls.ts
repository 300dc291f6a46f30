import { z } from 'zod';
import { DAY_MS } from '../../resources/durations.ts';
import { recordId, timestamp } from '../../resources/fields.ts';
import { warningsOf } from '../capsules/verdicts.ts';
import { allowlistWarnings } from '../core/access/allowlist.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import {
  type DraftRights,
  draftRights,
  requireDraft,
  type Subject,
  subjectIds,
  subjectNamed,
  subjectRef,
} from './draft.ts';
import type { Judging } from './judge.ts';
import { type JudgedCall, MOST_CALLS, recordedCalls, replay } from './replay.ts';

export const days = z.int().min(1).max(366).default(30).describe('Calls of so many days until now.');

const group = {
  tool: z.string(),
  count: z.int().min(1),
  example: recordId.describe('Audit entry of the latest, see list_audit_entries.'),
};
const MOST_GROUPS = 200;

export const replayCalls = defineTool({
  name: 'replay_calls',
  title: 'Replay calls',
  description:
    'Try changed rights of a capsule, key, agent or app on its recorded calls: which of them the draft would refuse, and by which rule. Makes no call and changes nothing. Name exactly one.',
  keywords:
    'what would break if I take away this tool, dry run of narrower rights, test a draft of a capsule against its history, simulate permissions, would the change refuse anything, policy simulator',
  access: { scope: 'admin', grant: 'audit:read' },
  annotations: READS,
  input: z.strictObject({ ...subjectIds, draft: draftRights, days }),
  output: z.object({
    subject: subjectRef,
    from: timestamp,
    calls: z.int().min(0).describe(`Judged; of more than ${MOST_CALLS}, the latest.`),
    allowed: z.int().min(0),
    refused: z.array(
      z.object({
        ...group,
        refusedBefore: z.int().min(0).describe('Those of them that were refused when made.'),
        rule: z.string(),
      }),
    ),
    unknown: z
      .array(z.object({ ...group, reason: z.string() }))
      .describe('Calls that cannot be judged from what the audit log keeps, and why.'),
    warnings: z.array(z.string()).optional().describe('Entries of the draft without effect.'),
  }),
  errors: ['not_found'],

  async handler({ draft, days, ...named }, context) {
    const subject = await subjectNamed(named, context);
    requireDraft(subject, draft, context.server.catalog);
    const from = since(days, context.server.now());
    const judged = await replay(await recordedCalls(subject, from, context), subject, draft, context);
    const { type, id, name } = subject;
    const warnings = await draftWarnings(subject, draft, context);
    return {
      subject: { type, id, name },
      from,
      calls: judged.length,
      allowed: judged.filter(({ verdict }) => verdict === 'allowed').length,
      refused: grouped(judged, 'refused').map(({ rule, ...each }) => ({ ...each, rule })),
      unknown: grouped(judged, 'unknown').map(({ rule, refusedBefore: _, ...each }) => ({ ...each, reason: rule })),
      ...(warnings.length > 0 && { warnings }),
    };
  },
});

/** What lists of the draft have no effect, as the answers of a capsule or agent with them would say. */
async function draftWarnings({ type, id }: Subject, draft: DraftRights, { store, server }: Judging): Promise<string[]> {
  const { catalog } = server;
  if (type === 'agent') return allowlistWarnings(draft.tools, catalog);
  if (type !== 'capsule' || !(draft.allowedTools || draft.deniedTools)) return [];
  const { name, ...now } = await store.capsules.read(id);
  const { allowedTools = now.allowedTools, deniedTools = now.deniedTools } = draft;
  return warningsOf({ name, allowedTools, deniedTools }, catalog);
}

export function since(days: number, now: Date): string {
  return new Date(now.getTime() - days * DAY_MS).toISOString();
}

interface Group {
  readonly tool: string;
  readonly rule: string;
  readonly example: string;
  count: number;
  refusedBefore: number;
}

/** The calls with this verdict by tool and rule, the most frequent first. Of too many rules for one tool, the rest counts with the first. */
function grouped(judged: readonly JudgedCall[], verdict: JudgedCall['verdict']): Group[] {
  const groups = new Map<string, Group>();
  const firstOf = new Map<string, Group>();
  for (const { entry, rule } of judged.filter((each) => each.verdict === verdict)) {
    const key = JSON.stringify([entry.tool, rule]);
    const full = groups.size >= MOST_GROUPS ? firstOf.get(entry.tool) : undefined;
    const group = groups.get(key) ?? full ?? { tool: entry.tool, rule, example: entry.id, count: 0, refusedBefore: 0 };
    group.count += 1;
    if (entry.outcome === 'denied') group.refusedBefore += 1;
    if (group !== full) groups.set(key, group);
    if (!firstOf.has(entry.tool)) firstOf.set(entry.tool, group);
  }
  return [...groups.values()].sort((one, other) => other.count - one.count);
}
