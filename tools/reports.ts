import { z } from 'zod';
import { expectedRevision, namePart, pageOf, paging, plainLine, recordId, sortBy } from '../resources/fields.ts';
import { refTo } from '../resources/markers.ts';
import { type Report, renderedReport, report, reportFields, reportQueryInput } from '../resources/report.ts';
import type { Readers } from '../store/port.ts';
import { isListed } from './core/access/guarded-tool.ts';
import { mayCall, refusal } from './core/access/reach.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { nearest } from './core/access/similar-names.ts';
import { subjectsIn } from './core/access/subjects.ts';
import { requireNoIssues, ToolError } from './core/errors.ts';
import { secretsIn } from './core/history/redact.ts';
import { errorOf } from './core/registry/call.ts';
import type { CallerContext, CallingContext, ServerContext } from './core/registry/context.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, type Tool, UPDATES } from './core/registry/define-tool.ts';
import { filteredReader, LARGEST_PAGE, listPage, textFilter } from './core/registry/paging.ts';
import { formatPath, parseInput } from './core/registry/validate.ts';

const reportId = refTo('report', recordId).describe('Report id (`rep_…`), see list_reports.');

const listReports = defineTool({
  name: 'list_reports',
  title: 'List reports',
  description: 'List the saved reports, newest first, with the query of each, by tool or text. Returns a page.',
  keywords: 'saved charts, saved queries, bookmarks of metrics, show saved charts, all saved reports',
  access: { scope: 'reports:read', grant: 'report:read', narrows: true },
  annotations: READS,
  input: z.strictObject({
    tool: refTo('tool', z.string().min(1).max(200)).optional().describe('Only those whose query calls it.'),
    q: namePart.describe('Part of the title or description, ignoring case.'),
    ...sortBy('title'),
    ...paging,
  }),
  output: pageOf(report),
  errors: [],

  handler({ tool, q, ...page }, { store, principal }) {
    const any = whereAllowed<Report>(principal.rights.limitedTo('report', 'read'), 'id');
    const part = textFilter<Report>(q, 'title', 'description');
    const reports =
      tool === undefined ? store.reports : filteredReader(store.reports, ({ query }) => query.tool === tool);
    return listPage(reports, page, { any, part, filter: { tool } }, (record) => record, LARGEST_PAGE);
  },
});

const getReport = defineTool({
  name: 'get_report',
  title: 'Get report',
  description:
    'Read one report; with render=true also run its query, under your own rights, and return `result` and `asOf`.',
  keywords: 'open a saved chart, run a saved query, weekly numbers, render',
  access: { scope: 'reports:read', grant: 'report:read:{id}' },
  annotations: READS,
  view: 'report',
  input: z.strictObject({ id: reportId, render: z.boolean().default(false).describe('Also run the query.') }),
  output: renderedReport,
  errors: ['not_found', 'conflict'],

  async handler({ id, render }, context) {
    const found = await context.store.reports.read(id);
    if (!render) return found;
    const asOf = context.server.now().toISOString();
    return { ...found, result: { ...(await runQuery(found.query, context)) }, asOf };
  },
});

const createReport = defineTool({
  name: 'create_report',
  title: 'Create report',
  description: 'Save a query: a read-only tool you may call, with its arguments. Returns the report.',
  keywords:
    'save a chart, save a query, keep numbers to look at again, bookmark a metric, custom dashboard, save this query, keep this chart, save report',
  access: { scope: 'reports:write', grant: 'report:write' },
  annotations: CREATES,
  view: 'report',
  input: z.strictObject({
    title: plainLine(reportFields.title),
    description: reportFields.description.optional(),
    query: reportQueryInput,
    visualization: reportFields.visualization.default('table'),
  }),
  output: report,
  errors: [],

  authorize: ({ query }, context) => requireQuery(query, context),

  handler: (input, { store }) => store.reports.insert(input),
});

const updateReport = defineTool({
  name: 'update_report',
  title: 'Update report',
  description: 'Change fields of a report; `query` is replaced as a whole, null clears the description. Returns it.',
  keywords: 'change a saved chart, edit the filter of a saved query, rename',
  access: { scope: 'reports:write', grant: 'report:write:{id}' },
  annotations: UPDATES,
  view: 'report',
  input: z.strictObject({
    id: reportId,
    title: plainLine(reportFields.title).optional(),
    description: reportFields.description.nullable().optional(),
    query: reportQueryInput.optional(),
    visualization: reportFields.visualization.optional(),
    expectedRevision,
  }),
  output: report,
  errors: ['not_found', 'conflict'],

  async authorize({ query }, context) {
    if (query) await requireQuery(query, context);
  },

  handler: ({ id, expectedRevision, ...change }, { store }) => store.reports.update(id, change, { expectedRevision }),
});

const deleteReport = defineTool({
  name: 'delete_report',
  title: 'Delete report',
  description: 'Delete a report for good; the data it shows stays.',
  keywords: 'remove a saved chart, delete a saved query',
  access: { scope: 'reports:write', grant: 'report:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: reportId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, { store }) {
    await store.reports.delete(id, { expectedRevision });
    return {};
  },
});

export const reportTools = [listReports, getReport, createReport, updateReport, deleteReport];

export const reportKind = defineKind({
  type: 'report',
  collection: 'reports',
  list: listReports,
  get: getReport,
  update: updateReport,
  purge: 'alone',
});

type Query = Report['query'];

/** Refuses a query that the caller could not run now. */
async function requireQuery(query: Query, { principal, store, server }: CallerContext): Promise<void> {
  const tool = requireReadOnly(query.tool, server);
  requireNoSecrets(tool, query, server);
  const shape = z.object({ query: z.object({ arguments: tool.input }) });
  const parsed = parseInput(shape, { query: { arguments: query.arguments } }).query.arguments;
  if (await mayCall(principal, tool, parsed, subjectsIn(store, server.kinds))) return;
  throw new ToolError('forbidden', 'Insufficient permissions', {
    ...refusal(principal, tool, parsed).detail,
    issues: [{ path: 'query.tool', message: `You may not call ${tool.name} with these arguments.` }],
  });
}

/** Refuses secrets in a query: everybody who reads the report would see them. */
function requireNoSecrets(tool: Tool, query: Query, { catalog }: Pick<ServerContext, 'catalog'>): void {
  const issues = secretsIn(tool, query.arguments, catalog).map(({ path }) => ({
    path: formatPath(['query', 'arguments', ...path]),
    message: 'A secret cannot be kept in a report; leave it out.',
  }));
  requireNoIssues(issues);
}

/** The current result of the query, under the rights of the caller. */
async function runQuery(query: Query, { call, fail }: CallingContext<Readers, 'conflict'>): Promise<object> {
  const answer = await call(query.tool, query.arguments);
  if (answer.ok) return answer.output;
  const { error } = answer;
  if (error.code === 'forbidden' || error.code === 'unavailable' || error.code === 'internal') throw errorOf(error);
  const { issues = [] } = error;
  const message = `The query of the report no longer runs (${error.code}); change it with update_report.`;
  throw fail('conflict', message, {
    issues: [{ path: 'query', message: error.error }, ...issues.map((issue) => inQuery(issue))],
  });
}

function inQuery({ path, message }: { readonly path: string; readonly message: string }) {
  return { path: path ? `query.arguments.${path}` : 'query.arguments', message };
}

function requireReadOnly(name: string, { catalog }: Pick<ServerContext, 'catalog'>): Tool {
  const tool = catalog.get(name)?.tool;
  if (tool && isListed(tool) && tool.annotations.readOnlyHint && name !== RENDERS) return tool;
  const readers = catalog.entries
    .map((entry) => entry.tool)
    .filter((candidate) => candidate.annotations.readOnlyHint && isListed(candidate) && candidate.name !== RENDERS)
    .map((candidate) => candidate.name);
  const close = nearest(name, readers, 3);
  const problem = tool && isListed(tool) ? `${name} is not a tool that a report can run` : `There is no tool ${name}`;
  const hint = close.length > 0 ? `name one that only reads, such as ${close.join(', ')}` : 'name one that only reads';
  throw new ToolError('invalid_input', `query.tool: ${problem}; ${hint}.`, {
    issues: [{ path: 'query.tool', message: `${problem}; ${hint}.` }],
  });
}

/** Not allowed in a report, because a report could then show itself. */
const RENDERS = 'get_report';
