import { z } from 'zod';

/** Input members whose values, or the user and password in them, never reach the audit log, a log line or an error. */
export const sensitive = z.registry<{ part: 'all' | 'userinfo' }>();

/** Members of an input object that only the server writes, each with the sentence that says who does. */
export const serverManaged = z.registry<{ members: Readonly<Record<string, string>> }>();

/** Marks a field as sensitive; returns it for use in place. */
export function secret<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { part: 'all' });
  return schema;
}

/** Marks a URL, in which a user and password would be sensitive also where they are refused; returns it for use in place. */
export function address<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { part: 'userinfo' });
  return schema;
}

/**
 * Members that name an agent by its id or, while it is not deleted, by its name: handlers get the id. `beside`: only where that member of the
 * same object says so.
 */
export const agentNames = z.registry<{ names: 'agent'; beside?: NamedBeside }>();

export interface NamedBeside {
  readonly member: string;
  readonly is: string;
}

/** Marks a field as the id or name of an agent; returns it for use in place. */
export function orAgentName<T extends z.ZodType>(schema: T, beside?: NamedBeside): T {
  const marked = schema.clone() as T; // of the same kind; fields such as `recordId` are shared
  agentNames.add(marked, { names: 'agent', ...(beside && { beside }) });
  return marked;
}

/**
 * Objects that hold the arguments of a call of another tool, which is named beside them; `byName`: each member has the name of a tool and
 * holds arguments of it. What is sensitive in them is what that tool says. `kept`: for calls to come, so names of agents in them become ids.
 */
export const toolArguments = z.registry<{ tool: string; arguments: string; kept: boolean } | { byName: true }>();

/** Marks an object that names a tool and holds arguments of it in `arguments`; returns it for use in place. `tool`: the member that names it. */
export function callOf<T extends z.ZodObject>(tool: string, schema: T): T {
  toolArguments.add(schema, { tool, arguments: 'arguments', kept: false });
  return schema;
}

/** The same of a call that is kept, to be made later. */
export function keptCallOf<T extends z.ZodObject>(tool: string, schema: T): T {
  toolArguments.add(schema, { tool, arguments: 'arguments', kept: true });
  return schema;
}

/** Marks a record of arguments by the names of their tools; returns it for use in place. */
export function argumentsByTool<T extends z.ZodType>(schema: T): T {
  toolArguments.add(schema, { byName: true });
  return schema;
}
