import type { Issue } from '../../resources/error.ts';
import { type Flow, flow } from '../../resources/flow.ts';
import type { NewRecord, Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { CallerContext, Context } from '../core/registry/context.ts';
import type { AnalyzedTexts } from './definition-texts.ts';
import { authorizeDefinition, definitionIssues, requireRights, sameDefinition } from './flow-definition.ts';
import { isRunAs, runAsOf } from './run-as.ts';
import { missingRecords } from './step-arguments.ts';
import { signatureOf, withCurrentSecret } from './webhook-secret.ts';

/** Runs of the restored flow act with the rights of the caller, unless it does what it does now. */
export async function authorizeRestore(
  earlier: Flow,
  current: Flow | undefined,
  { store, principal, server: { catalog } }: CallerContext,
): Promise<void> {
  const { state } = await restoredOf(earlier, current, { store, principal });
  if (!current || !sameDefinition(current, state)) await authorizeDefinition(principal, state, { store, catalog });
}

/**
 * The record for an earlier state. The webhook keeps its current secret: a caller who does not act for the flow must change the webhook
 * with update_flow and the secret. A deleted flow that is restored for somebody else loses its secret.
 */
export async function prepareRestore(
  earlier: Flow,
  current: Flow | undefined,
  { store, principal, server, fail }: Context<HistoryWriters, 'conflict'>,
  texts: AnalyzedTexts,
): Promise<NewRecord<Flow>> {
  const { kept, before, isOwn, comes, state } = await restoredOf(earlier, current, { store, principal });
  const [issue] = await definitionIssues(state, texts, { store, server });
  if (issue) throw notRestorable(issue);
  if (kept && (!comes || !signatureOf(state))) await store.flowSecrets.delete(earlier.id);
  if (current && sameDefinition(current, state)) return { ...state, runAs: current.runAs };
  if (comes && signatureOf(state) && !isOwn) {
    throw fail(
      'conflict',
      `Changing what this webhook runs requires its secret, because its runs act for ${before?.runAs.name}; make the change with update_flow and give the secret.`,
    );
  }
  await requireRights(principal, state, { store, catalog: server.catalog });
  const [missing] = await missingRecords(state.steps ?? [], { store, principal, server });
  if (missing) throw notRestorable(missing);
  return { ...state, runAs: runAsOf(principal) };
}

async function restoredOf(
  earlier: Flow,
  current: Flow | undefined,
  { store, principal }: { readonly store: Readers; readonly principal: Principal },
) {
  const kept = await store.flowSecrets.get(earlier.id);
  const before = current ?? (kept && (await lastStateOf(earlier.id, store)));
  const isOwn = before !== undefined && isRunAs(principal, before.runAs);
  const comes = !current && !isOwn ? undefined : kept;
  return { kept, before, isOwn, comes, state: { ...earlier, trigger: withCurrentSecret(earlier.trigger, comes) } };
}

function notRestorable({ path, message }: Issue): ToolError {
  return new ToolError('conflict', `This state of the flow cannot be restored: ${path}: ${message}`);
}

async function lastStateOf(entityId: string, { versions }: Pick<Readers, 'versions'>): Promise<Flow | undefined> {
  const last = await versions.first({ where: { entityType: 'flow', entityId } });
  return last && flow.parse({ ...last.payload, updatedAt: last.createdAt, revision: last.revision });
}
