import type { Examples } from './example.ts';

const id = 'rep_06d3jc4v8xk1n5q7t9w2y4a6s8';

const report = {
  id,
  title: 'Paused agents',
  description: 'Who takes no work at the moment.',
  query: { tool: 'list_agents', arguments: { status: 'paused' } },
  visualization: 'table',
  createdAt: '2026-03-02T12:00:00.000Z',
  updatedAt: '2026-03-02T12:00:00.000Z',
  revision: 1,
};

const { title, description, query, visualization } = report;

export const reportExamples: Examples = {
  list_reports: { input: { limit: 20 }, answer: { data: [report], nextCursor: null } },
  get_report: {
    input: { id, render: true },
    answer: { ...report, result: { data: [], nextCursor: null }, asOf: '2026-03-03T07:30:00.000Z' },
  },
  create_report: { input: { title, description, query, visualization }, answer: report },
  update_report: {
    input: { id, visualization: 'number', expectedRevision: 1 },
    answer: { ...report, visualization: 'number', updatedAt: '2026-03-03T07:31:00.000Z', revision: 2 },
  },
  delete_report: { input: { id } },
};
