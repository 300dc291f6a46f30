import { z } from 'zod';
import { expectedRevision, namePart, pageOf, paging, plainLine, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type Report, renderedReport, report, reportFields, reportQueryInput } from '../../resources/report.ts';
import { whereWithin } from '../core/access/record-limit.ts';
import { defineKind } from '../core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { filteredReader, LARGEST_PAGE, listPage, textFilter } from '../core/registry/paging.ts';
import { requireQuery, runQuery } from './report-query.ts';

const reportId = refTo('report', recordId).describe('Report id (`rep_…`), see list_reports.');

const listReports = defineTool({
  name: 'list_reports',
  title: 'List reports',
  description: 'List the saved reports, newest first, with the query of each, by tool or text. Returns a page.',
  access: { scope: 'reports:read', grant: 'report:read', narrows: true },
  annotations: READS,
  input: z.strictObject({
    tool: refTo('tool', z.string().min(1).max(200)).optional().describe('Only those whose query calls it.'),
    q: namePart.describe('Part of the title or description, ignoring case.'),
    ...paging,
  }),
  output: pageOf(report),
  errors: [],

  handler({ tool, q, ...page }, { store, principal }) {
    const any = whereWithin<Report>(principal.rights.limitedTo('report', 'read'), 'id');
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
