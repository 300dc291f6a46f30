import { z } from 'zod';
import { cursor, expectedRevision, includeTotal, limit, pageOf, recordId } from '../../resources/fields.ts';
import { orNameOf, refTo } from '../../resources/markers.ts';
import { entityType, version, versionDiff } from '../../resources/version.ts';
import { StaleRevision } from '../../store/errors.ts';
import type { Readers } from '../../store/port.ts';
import type { Access, LastingEffect } from '../core/access/guarded-tool.ts';
import { accessFor } from '../core/access/requirement.ts';
import { mayKnowOf } from '../core/access/visibility.ts';
import { shownPayload, showVersion } from '../core/history/history.ts';
import { isVersioned, type Payload } from '../core/kind.ts';
import type { Kind } from '../core/registry/define-kind.ts';
import { CREATES, defineTool, READS } from '../core/registry/define-tool.ts';
import { LARGEST_PAGE, listPage } from '../core/registry/paging.ts';
import type { Staged, Tool } from '../core/registry/tool.ts';
import { bringBack, clearing, stateOf, type Versioned } from './bring-back.ts';
import { diffPayloads } from './diff-payloads.ts';
import {
  type Caller,
  type EntityReference,
  findVersion,
  latestVersion,
  startOfDiff,
  type VersionReference,
  versionIn,
} from './find-version.ts';
import { toolChanges } from './tool-changes.ts';

/** What reads or restores records of a kind. */
type Tools = Readonly<Record<'get' | 'update', Tool>>;

/** The kinds that have a history, and the rights to it. */
class Histories {
  readonly #byType = new Map<string, Versioned & Tools>();
  readonly reads: Pick<Tool, 'access' | 'actsAs'>;
  readonly restores: Pick<Tool, 'access' | 'actsAs' | 'lasting'>;

  constructor(kinds: readonly Kind[]) {
    for (const kind of kinds.filter(isVersioned)) {
      const { get, update } = kind;
      if (!get || !update) throw new Error(`No tool gets or updates records of type ${kind.type}.`);
      this.#byType.set(kind.type, { ...kind, get, update });
    }
    this.reads = this.#as('get');
    this.restores = { ...this.#as('update'), lasting: this.#lasting() };
  }

  /** A restored state counts as the update that would lead to it. */
  #lasting(): LastingEffect {
    const of = async ({ entityType, entityId, versionId }: VersionReference, store: Readers) => {
      const kind = this.#byType.get(entityType);
      const { lasting } = kind?.update ?? {};
      const target = lasting && (await store.versions.get(versionId));
      if (!kind || target?.entityType !== entityType || target.entityId !== entityId) return false;
      const current = await store[kind.collection].get(entityId);
      const change = { ...(current && clearing(kind.collection)), ...target.payload, id: entityId };
      return (await lasting?.of?.(change, store)) ?? true;
    };
    return { what: 'actor', of };
  }

  async knownKindOf(
    caller: Pick<Caller, 'store' | 'principal'>,
    { entityType, entityId }: EntityReference,
  ): Promise<Versioned | undefined> {
    const kind = this.#byType.get(entityType);
    const count = kind ? await caller.store.versions.count({ where: { entityType, entityId } }) : 0;
    return kind && count > 0 && (await mayKnowOf(caller, kind, entityId)) ? kind : undefined;
  }

  /** The same. @throws ToolError (not_found) */
  async kindOf(caller: Caller, { entityType, entityId }: EntityReference): Promise<Versioned> {
    const kind = await this.knownKindOf(caller, { entityType, entityId });
    if (kind) return kind;
    throw caller.fail('not_found', `There is no history of ${entityType} ${entityId}; check type and id.`);
  }

  /** Who may get (or update) a record may read (or restore) its history. A principal limited to some tools needs that tool. */
  #as(which: keyof Tools): Pick<Tool, 'access' | 'actsAs'> {
    const kinds = [...this.#byType.values()];
    const accesses = new Map(kinds.map((kind) => [kind.type as string, onEntity(accessFor(kind[which].access, {}))]));
    const among = [...accesses.values()];
    const [fallback] = among;
    if (!fallback) throw new Error('No kind of record has a history.');
    const typeIn = (input: object) => ('entityType' in input ? String(input.entityType) : '');
    return {
      access: { among, of: (input) => accesses.get(typeIn(input)) ?? fallback },
      actsAs: {
        tools: kinds.map((kind) => kind[which]),
        of: (input) => this.#byType.get(typeIn(input))?.[which],
      },
    };
  }
}

function onEntity({ scope, grant }: Access): Access {
  return { scope, grant: [grant].flat().map((text) => text.replace('{id}', '{entityId}')) };
}

const entityId = orNameOf(
  ['agent', 'skill', 'flow'],
  recordId.describe('Id of the record, e.g. `agt_…`; of an agent, skill or flow also its name.'),
  'entityType',
);
const path = { entityType, entityId };
const versionPath = {
  ...path,
  versionId: refTo('version', recordId).describe('Version id (`ver_…`), see list_versions.'),
};

const listVersions = (histories: Histories) =>
  defineTool({
    name: 'list_versions',
    title: 'List versions',
    description: 'List the states a record has had, newest first, with who made each. Deleted records keep theirs.',
    keywords:
      'revision history, changes of a record, earlier states, who edited, changelog, who changed this record and when, history of an agent, all edits',
    ...histories.reads,
    annotations: READS,
    view: 'diff',
    input: z.strictObject({ ...path, limit, cursor, includeTotal }),
    output: pageOf(version),
    errors: ['not_found'],

    async handler({ entityType, entityId, ...input }, context) {
      const { store } = context;
      const { history } = await histories.kindOf(context, { entityType, entityId });
      const query = { where: { entityType, entityId } };
      const page = await listPage(store.versions, input, query, (found) => found, LARGEST_PAGE);
      return { ...page, data: await Promise.all(page.data.map((found) => showVersion(history, found, store))) };
    },
  });

const getVersion = (histories: Histories) =>
  defineTool({
    name: 'get_version',
    title: 'Get version',
    description: 'Read one earlier state of a record: content, payload, author, time.',
    keywords:
      'how it looked before, old revision, snapshot, state at a time, how did it look yesterday, what did the skill say last week',
    ...histories.reads,
    annotations: READS,
    input: z.strictObject(versionPath),
    output: version,
    errors: ['not_found'],

    async handler(input, context) {
      const { history } = await histories.kindOf(context, input);
      return showVersion(history, await findVersion(context, input), context.store);
    },
  });

const diffVersion = (histories: Histories) =>
  defineTool({
    name: 'diff_version',
    title: 'Diff version',
    description: 'Show what changed from another state of the record (by default the one before) to this version.',
    keywords:
      'compare revisions, what was changed, difference between edits, before and after, what changed between two edits, compare old and new prompt, compare two versions',
    ...histories.reads,
    annotations: READS,
    view: 'diff',
    input: z.strictObject({
      ...versionPath,
      against: z
        .string()
        .min(1)
        .max(200)
        .default('previous')
        .describe('Where to start: `previous`, `current`, a version id or a revision number.'),
    }),
    output: versionDiff,
    errors: ['not_found', 'too_large'],

    async handler({ against, ...input }, context) {
      const { history } = await histories.kindOf(context, input);
      const target = await findVersion(context, input);
      const start = await startOfDiff(context, target, against);
      const shown = (payload: Payload) => shownPayload(history, payload, context.store);
      const states = [await shown(start), await shown(target.payload)] as const;
      const tools = toolChanges(history, states, context.server.catalog);
      return { ...(await diffPayloads(history, states, context)), ...(tools && { tools }) };
    },
  });

const restoreVersion = (histories: Histories) =>
  defineTool({
    name: 'restore_version',
    title: 'Restore version',
    description:
      'Bring a record, deleted ones too, back to an earlier state. Writes and returns a new version; an equal state writes nothing and returns the current one.',
    keywords:
      'undo, revert, roll back, recover, undelete, bring back, I made a mistake, trash, previous state, undo the last edit, recover something deleted, go back to an earlier version, restore a deleted document, bring back the old prompt',
    ...histories.restores,
    annotations: { ...CREATES, idempotentHint: true },
    input: z.strictObject({
      ...versionPath,
      expectedRevision: expectedRevision.describe(
        'Refuse with `conflict` unless this is the latest revision of the record.',
      ),
    }),
    output: version,
    errors: ['not_found', 'conflict'],

    async stage(input, context) {
      const { collection, history } = await histories.kindOf(context, input);
      const target = await findVersion(context, input);
      const staged = await history.stageRestore?.(stateOf(collection, target) as never, context.principal);
      return staged ?? NOTHING;
    },

    async authorize(input, context) {
      const kind = await histories.knownKindOf(context, input);
      const target = kind && (await versionIn(context.store, input));
      if (!kind?.history.authorizeRestore || !target) return;
      const current = await context.store[kind.collection].get(input.entityId);
      await kind.history.authorizeRestore(stateOf(kind.collection, target) as never, current as never, context);
    },

    async handler({ expectedRevision, ...input }, context, staged) {
      const { store } = context;
      const kind = await histories.kindOf(context, input);
      const target = await findVersion(context, input);
      const latest = await latestVersion(store, input);
      if (expectedRevision !== undefined && expectedRevision !== latest.revision)
        throw new StaleRevision(latest.revision);
      const changeDescription = `Restored revision ${target.revision}`;
      await bringBack(kind, { target, latest, staged, changeDescription }, context);
      return showVersion(kind.history, await latestVersion(store, input), store);
    },
  });

export function versionTools(kinds: readonly Kind[]): readonly Tool[] {
  const histories = new Histories(kinds);
  return [listVersions, getVersion, diffVersion, restoreVersion].map((define) => define(histories));
}

const NOTHING: Staged = { discard: async () => {} };
