import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { AdminUser } from '../../resources/admin-user.ts';
import { gainedAndLost } from '../core/access/allowlist.ts';
import { type CapsuleDefinition, reachOfCapsule } from '../core/access/capsule-principal.ts';
import { capsuleRights } from '../core/access/credential.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { isListed } from '../core/access/guarded-tool.ts';
import { personPrincipal } from '../core/access/principal.ts';
import { seesTool } from '../core/access/reach.ts';
import { narrowRights } from '../core/access/rights.ts';
import { invalidMember } from '../core/errors.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { listedTool } from '../core/registry/listed-tool.ts';
import { futureInstant } from '../core/registry/validate.ts';
import { changedConstraints, requireDefinition } from './capsule-definition.ts';
import { capsuleChanges, capsuleId } from './capsules.ts';
import { entryVerdict, verdictsOf, warningsOf } from './verdicts.ts';

/** Accepts the bodies of create_capsule and of update_capsule. */
const draft = z.strictObject(capsuleChanges);

export const previewCapsule = defineTool({
  name: 'preview_capsule',
  title: 'Preview capsule',
  description:
    'Show what a capsule serves, or would with the fields of `draft` in place of its own: the exact tools/list, its size, and the rule behind each entry.',
  keywords:
    'what would a partner see, test an allowlist, dry run of a capsule, simulate, what can this partner see, which tools would a token get',
  access: { scope: 'admin', grant: 'capsule:read:{id}' },
  annotations: READS,
  input: z.strictObject({
    id: capsuleId.optional(),
    draft: draft.optional().describe('What create_capsule takes, or changes to the one named by id.'),
  }),
  output: z.object({
    tools: z.array(z.looseObject({ name: z.string() })).describe('What tools/list would answer, whatever the status.'),
    bytes: z.int().min(0).describe('Of that answer as JSON.'),
    estimatedTokens: z.int().min(0).describe('What the list costs a model, roughly.'),
    entries: z.array(entryVerdict),
    warnings: z.array(z.string()),
    changes: z
      .object({
        gained: z.array(z.string()),
        lost: z.array(z.string()),
        limited: z.array(z.string()).describe('Tools whose fixed arguments change.'),
      })
      .optional()
      .describe('Of a draft for a capsule that there is: what it could do more, less and in another way.'),
  }),
  errors: ['not_found'],

  async handler({ id, draft }, { store, principal, server }) {
    if (id === undefined && !draft) {
      throw invalidMember('id', 'Give the id of a capsule, a draft, or both.');
    }
    const { catalog } = server;
    const record = id === undefined ? undefined : await store.capsules.read(id);
    const stored: CapsuleDefinition = record ?? EMPTY;
    const {
      name = stored.name,
      allowedTools = stored.allowedTools,
      deniedTools = stored.deniedTools,
      constraints = stored.constraints,
      askFirst = record?.askFirst,
    } = draft ?? {};
    const definition = { name, allowedTools, deniedTools, constraints: constraints ?? undefined, askFirst };
    if (draft) {
      requireDefinition(
        { allowedTools: draft.allowedTools ?? [], constraints: changedConstraints(stored, draft.constraints) },
        catalog,
      );
      if (draft.expiresAt) futureInstant(draft.expiresAt, server.now(), 'draft.expiresAt');
      requireWithinRights(principal, capsuleRights(definition, catalog));
    }
    const owner = await store.adminUsers.get((record ?? principal).ownerId);
    const changes =
      record && draft && changesOf(servedBy(record, catalog, owner), servedBy(definition, catalog, owner));
    return { ...preview(definition, catalog, owner), ...(changes && { changes }) };
  },
});

const EMPTY: CapsuleDefinition = { name: 'draft', allowedTools: [], deniedTools: [] };

/** The tools that it serves, with their fixed arguments. */
function servedBy(definition: CapsuleDefinition, catalog: Catalog, owner: AdminUser | undefined) {
  const own = reachOfCapsule(definition, catalog);
  const reach = owner?.access ? { ...own, rights: narrowRights(own.rights, personPrincipal(owner).rights) } : own;
  return catalog.entries
    .map(({ tool }) => tool)
    .filter((tool) => isListed(tool) && seesTool(reach, tool))
    .map((tool) => ({ tool, fixed: reach.tools.fixed?.(tool) }));
}

type Served = ReturnType<typeof servedBy>;

function changesOf(before: Served, after: Served) {
  const fixedIn = (served: Served) => new Map(served.map(({ tool, fixed }) => [tool.name, fixed]));
  const [was, is] = [fixedIn(before), fixedIn(after)];
  return {
    ...gainedAndLost(new Set(was.keys()), new Set(is.keys())),
    limited: [...is]
      .filter(([name, fixed]) => was.has(name) && !isDeepStrictEqual(fixed, was.get(name)))
      .map(([name]) => name),
  };
}

function preview(definition: CapsuleDefinition, catalog: Catalog, owner: AdminUser | undefined) {
  const tools = servedBy(definition, catalog, owner).map(({ tool, fixed }) => ({ ...listedTool(tool, fixed) }));
  const bytes = Buffer.byteLength(JSON.stringify({ tools }));
  return {
    tools,
    bytes,
    estimatedTokens: Math.ceil(bytes / BYTES_PER_TOKEN),
    entries: verdictsOf(definition, catalog),
    warnings: warningsOf(definition, catalog),
  };
}

/** The usual number of bytes for each token in lists of tools. */
const BYTES_PER_TOKEN = 4;
