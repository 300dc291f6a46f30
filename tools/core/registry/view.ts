/**
 * The pages in which hosts show the answers of tools (MCP Apps): a chart, a report, the history of a record, runs of a flow, hits of a search.
 * A tool has one of them by its member `view`.
 */
export const VIEWS = ['chart', 'report', 'diff', 'run', 'search'] as const;
export type View = (typeof VIEWS)[number];

const BEGINNING = 'ui://agent-admin/';

/** The address under which hosts read the page. */
export function viewUri(view: View): string {
  return `${BEGINNING}${view}`;
}

/** The page at the address. Undefined if there is none. */
export function viewAt(uri: string): View | undefined {
  return VIEWS.find((view) => viewUri(view) === uri);
}
