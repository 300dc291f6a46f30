import { z } from 'zod';

/** Input members that never appear in the audit log, a log line or an error: the whole value, or only the user and password in a URL. */
export const sensitive = z.registry<{ part: 'all' | 'userinfo' }>();

/** Members of an input object that only the server writes, each with a sentence that says which tool writes it. */
export const serverManaged = z.registry<{ members: Readonly<Record<string, string>> }>();

/** Marks a field as sensitive. Returns the field, so that it can be marked where it is declared. */
export function secret<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { part: 'all' });
  return schema;
}

/** Marks a URL: a user and password in it are sensitive, also where a URL with them is refused. Returns the field. */
export function address<T extends z.ZodType>(schema: T): T {
  sensitive.add(schema, { part: 'userinfo' });
  return schema;
}

/** Members that take the id or name of a record of these types; handlers receive the id. `beside` names the member that says which type it is. */
export const recordNames = z.registry<{ names: readonly NamedType[]; beside?: string }>();

/** The types of records that inputs take by name. */
export type NamedType = 'agent' | 'skill' | 'flow';

/** Marks a field that takes an agent's id or name. Returns the field. */
export function orAgentName<T extends z.ZodType>(schema: T, beside?: string): T {
  return orNameOf('agent', schema, beside);
}

/** Marks a field that takes the id or the name of such a record. Returns the field. */
export function orNameOf<T extends z.ZodType>(names: NamedType | readonly NamedType[], schema: T, beside?: string): T {
  const marked = schema.clone() as T; // a clone, because schemas such as `recordId` are shared
  recordNames.add(marked, { names: [names].flat(), ...(beside !== undefined && { beside }) });
  return marked;
}

/**
 * Objects that hold the arguments of a call of another tool, and the name of that tool. What is sensitive in them is decided by that tool.
 * With `byName`, each member has the name of a tool and holds arguments of it. With `kept`, the call is made later, so names of records in
 * the arguments become ids.
 */
export const toolArguments = z.registry<{ tool: string; arguments: string; kept: boolean } | { byName: true }>();

/** Marks an object that names a tool in the member `tool` and holds its arguments in `arguments`. Returns the object. */
export function callOf<T extends z.ZodObject>(tool: string, schema: T): T {
  toolArguments.add(schema, { tool, arguments: 'arguments', kept: false });
  return schema;
}

/** Like `callOf`, for a call that is stored now and made later. */
export function storedCallOf<T extends z.ZodObject>(tool: string, schema: T): T {
  toolArguments.add(schema, { tool, arguments: 'arguments', kept: true });
  return schema;
}

/** Marks a record whose members are named after tools and hold their arguments. Returns it. */
export function argumentsByTool<T extends z.ZodType>(schema: T): T {
  toolArguments.add(schema, { byName: true });
  return schema;
}

interface FormHint {
  /** The type of record whose id it is, or `model`, `tool` and the like, which tools list too. */
  readonly ref?: string;
  readonly control?: 'text' | 'code' | 'secret' | 'timezone' | 'cron' | 'model' | 'tools';
  readonly title?: string;
}

export const formHints = z.registry<FormHint>();

/** Says what a form makes of the field. Returns the field, which keeps it whatever is described or checked of it later. */
export function withFormHints<T extends z.ZodType>(schema: T, hint: FormHint): T {
  const marked = schema.clone() as T; // a clone, because schemas such as `recordId` are shared
  formHints.add(marked, hint);
  return marked;
}

/** Says whose id the field takes. Returns the field. */
export function refTo<T extends z.ZodType>(ref: string, schema: T): T {
  return withFormHints(schema, { ref });
}

export const A_MODEL: FormHint = { ref: 'model', control: 'model' };
