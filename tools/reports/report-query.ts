import { z } from 'zod';
import type { Report } from '../../resources/report.ts';
import type { Readers } from '../../store/port.ts';
import { isListed } from '../core/access/guarded-tool.ts';
import { mayCall, refusal } from '../core/access/reach.ts';
import { nearest } from '../core/access/similar-names.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { ToolError } from '../core/errors.ts';
import { secretsIn } from '../core/history/redact.ts';
import { errorOf } from '../core/registry/call.ts';
import type { CallingContext, ServerFacts } from '../core/registry/context.ts';
import type { Authorizing, Tool } from '../core/registry/define-tool.ts';
import { formatPath, parseInput } from '../core/registry/validate.ts';

type Query = Report['query'];

/** Refuses a query that the caller could not run now. */
export async function requireQuery(query: Query, { principal, store, server }: Authorizing): Promise<void> {
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
function requireNoSecrets(tool: Tool, query: Query, { catalog }: Pick<ServerFacts, 'catalog'>): void {
  const issues = secretsIn(tool, query.arguments, catalog).map(({ path }) => ({
    path: formatPath(['query', 'arguments', ...path]),
    message: 'A secret cannot be kept in a report; leave it out.',
  }));
  if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
}

/** The current result of the query, under the rights of the caller. */
export async function runQuery(query: Query, { call, fail }: CallingContext<Readers, 'conflict'>): Promise<object> {
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

function requireReadOnly(name: string, { catalog }: Pick<ServerFacts, 'catalog'>): Tool {
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
