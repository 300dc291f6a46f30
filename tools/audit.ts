import { z } from 'zod';
import { auditEntry, door, outcome } from '../resources/audit-entry.ts';
import { instant, pageOf, paging, recordId, time } from '../resources/fields.ts';
import { orNameOf, refTo } from '../resources/markers.ts';
import { withheldFrom } from './core/history/withheld.ts';
import type { Catalog } from './core/registry/catalog-index.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';
import { openCursor, pageBody } from './core/registry/paging.ts';

export const listAuditEntries = defineTool({
  name: 'list_audit_entries',
  title: 'List audit entries',
  description: 'List who called which tool at which door with what outcome, refused calls included, newest first.',
  keywords:
    'audit log, activity log, who did what, who deleted this, access log, compliance, history of calls, security events, trail, who deleted this agent, what happened in the last hour and by whom, log of everything a key did, who changed the settings, suspicious activity',
  access: { scope: 'admin', grant: 'audit:read' },
  annotations: READS,
  input: z.strictObject({
    id: refTo('audit-entry', recordId).optional().describe('Id of one entry.'),
    principal: orNameOf(['agent', 'flow'], z.string().max(200))
      .optional()
      .describe('Principal id, or name of an agent or flow.'),
    tool: refTo('tool', z.string().max(200)).optional(),
    changes: z.boolean().optional().describe('True: without the calls of tools that only read.'),
    dashboardReads: z.boolean().optional().describe('False: without what people only read in the dashboard.'),
    outcome: outcome.optional(),
    door: door.optional(),
    requestId: z.string().min(1).max(200).optional().describe('All calls of one request (`X-Request-Id`).'),
    recordId: recordId.optional().describe('Calls that made this record or were about it.'),
    sessionId: refTo('session', recordId).optional().describe('Calls of one session, see list_sessions.'),
    from: time.optional().describe('Inclusive.'),
    to: time.optional().describe('Exclusive.'),
    ...paging,
  }),
  output: pageOf(auditEntry),
  errors: [],

  async handler({ limit, cursor, includeTotal, ...filters }, { store, principal, server }) {
    const { from, to, changes, dashboardReads = true, ...named } = filters;
    const query = {
      ...named,
      ...(from && { from: instant(from) }),
      ...(to && { to: instant(to) }),
      ...(changes && { withoutTools: readingTools(server.catalog) }),
      ...(!changes &&
        !dashboardReads && { without: { door: 'dashboard' as const, tools: readingTools(server.catalog) } }),
    };
    const page = await server.audit.find({ ...query, limit, after: openCursor(cursor, filters) });
    const total = includeTotal && { total: await server.audit.count(query) };
    const records = [...(await withheldFrom({ store, principal, server }, page.records))];
    return { ...pageBody({ ...page, records }, filters, (entry) => entry), ...total };
  },
});

const reading = new WeakMap<Catalog['entries'], readonly string[]>();

/** The names of the tools that only read. */
export function readingTools({ entries }: Catalog): readonly string[] {
  const known =
    reading.get(entries) ?? entries.filter(({ tool }) => tool.annotations.readOnlyHint).map(({ tool }) => tool.name);
  reading.set(entries, known);
  return known;
}
