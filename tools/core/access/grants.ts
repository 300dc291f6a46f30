/** A parsed grant. A missing segment is `*`. The id of a `tool` grant may end in `/*`: all tools of one integration, now and later. */
export interface Grant {
  readonly resource: string;
  readonly op: string;
  readonly id: string;
}

const SEGMENT = /^(?:\*|[A-Za-z0-9%][A-Za-z0-9._@/%-]*(?:\/\*)?)$/;
/** The end of a grant's id that stands for all tools of an integration. */
const WHOLE = '/*';
const FORM = 'Write <resource>:<op>:<id>, for example agent:read; op and id may be left out.';

type GrantResult = { readonly ok: true; readonly grant: Grant } | { readonly ok: false; readonly message: string };

/** Parses a grant, or says what is wrong with its form and how to write it. Whether it names anything is for `unknownName`. */
export function parseGrant(text: string): GrantResult {
  const problem = malformed(text);
  if (problem) return { ok: false, message: problem };
  const [resource = '*', op = '*', id = '*'] = text.split(':');
  return { ok: true, grant: { resource, op, id } };
}

/** The grants of a record, parsed. One that can no longer be parsed allows nothing. */
export function grantsOf({ grants = [] }: { readonly grants?: readonly string[] | undefined }): Grant[] {
  return grants.flatMap((text) => {
    const parsed = parseGrant(text);
    return parsed.ok ? [parsed.grant] : [];
  });
}

function malformed(text: string): string | undefined {
  if (text === '') return `A grant may not be empty. ${FORM}`;
  if (/\s/.test(text)) return `A grant holds no white space. ${FORM}`;
  const segments = text.split(':');
  if (segments.length > 3) return `A grant has at most 3 segments, this one has ${segments.length}. ${FORM}`;
  const empty = segments.indexOf('');
  if (empty >= 0) return `Segment ${empty + 1} of the grant is empty. ${FORM}`;
  const [resource, , id = '*'] = segments;
  if (id.endsWith(WHOLE) && resource !== 'tool') {
    return `Only grants of the resource tool may end in ${WHOLE}, as in tool:call:github/*; name the record, or leave the id out.`;
  }
  const bad = segments.findIndex((segment) => !SEGMENT.test(segment));
  if (bad >= 0) {
    return `Segment ${bad + 1} of the grant must be * or letters, digits and . _ @ / % -, beginning with a letter, a digit or a percent-encoding. ${FORM}`;
  }
  return decodable(id) ? undefined : 'Segment 3 of the grant has a % that starts no percent-encoding.';
}

/** The resources of grants, each with its operations. */
export type GrantNames = ReadonlyMap<string, ReadonlySet<string>>;

/** What is wrong with the resource or the operation of a grant, if they are not among the names. */
export function unknownName({ resource, op }: Grant, names: GrantNames): string | undefined {
  const ops = resource === '*' ? new Set([...names.values()].flatMap((each) => [...each])) : names.get(resource);
  if (!ops) return `"${resource}" is not a resource of a grant. Allowed: *, ${[...names.keys()].join(', ')}.`;
  if (op === '*' || ops.has(op)) return undefined;
  return `"${op}" is not an operation of ${resource === '*' ? 'any resource' : resource}. Allowed: *, ${[...ops].join(', ')}.`;
}

function decodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}

/** Whether the first grant allows everything that the second one allows. */
export function grantCovers(wide: Grant, narrow: Grant): boolean {
  const same = (['resource', 'op'] as const).every((part) => wide[part] === '*' || wide[part] === narrow[part]);
  return same && (wide.id === '*' || wide.id === narrow.id || isWithin(wide, decodedId(narrow)));
}

function isWithin({ id }: Grant, name: string): boolean {
  return id.endsWith(WHOLE) && name.startsWith(`${decoded(id.slice(0, -WHOLE.length))}/`);
}

/** What a call needs: an operation on one record, or without `ids`, on the resource as a whole. */
export interface Need {
  readonly resource: string;
  readonly op: string;
  /** The names that grants may use for the record, for example its id and its name. */
  readonly ids?: readonly string[] | undefined;
  /** The record, if it was looked up. */
  readonly record?: object | undefined;
  /** It is not known yet which record the call is about. */
  readonly open?: true | undefined;
}

export function grantAllows(grant: Grant, need: Need): boolean {
  if (!concerns(grant, need)) return false;
  if (grant.id === '*') return true;
  const own = decodedId(grant);
  return need.ids?.some((name) => name === own || isWithin(grant, name)) ?? false;
}

/** The id or name that the grant names. Names are stored with composed characters (NFC). */
export function decodedId({ id }: Grant): string {
  return decoded(id);
}

function decoded(segment: string): string {
  return decodeURIComponent(segment).normalize('NFC');
}

/** Whether the grant allows the operation on at least some records. */
export function concerns(grant: Grant, need: { readonly resource: string; readonly op: string }): boolean {
  return (grant.resource === '*' || grant.resource === need.resource) && (grant.op === '*' || grant.op === need.op);
}

export function formatGrant({ resource, op, id }: Grant): string {
  if (id !== '*') return `${resource}:${op}:${id}`;
  return op === '*' ? resource : `${resource}:${op}`;
}
