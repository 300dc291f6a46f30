import { oncePer } from '../once-per.ts';
import type { Grant, Need } from './grants.ts';
import { type Access, type AccessByInput, ANYONE } from './guarded-tool.ts';
import type { Requirement, Rights } from './rights.ts';

/** A record that a call is about: the names that grants may use for it, and the record itself where it exists. */
export interface Subject {
  readonly names: readonly string[];
  readonly record?: object | undefined;
}

/** Looks up the record that the value of an input member names. */
export type Subjects = (resource: string, value: string) => Promise<Subject>;

/** Whether at least one call of the tool could be allowed, so that the principal sees the tool. */
export function mayTry(rights: Rights, access: Access | AccessByInput): boolean {
  const choices = 'among' in access ? access.among : [access];
  return choices.some((choice) => choice === ANYONE || rights.mayTry(requirement(choice)));
}

/** Whether every call of the tool is allowed, whichever record it is about. */
export function hasWithoutLimit(rights: Rights, access: Access | AccessByInput): boolean {
  const choices = 'among' in access ? access.among : [access];
  return choices.every((choice) => choice === ANYONE || lacking(rights, choice).length === 0);
}

/** What is missing for every call of the tool: the first right among those that some call needs. */
export function missingRight(rights: Rights, access: Access | AccessByInput): { scope: string; grant: string } {
  const choices = 'among' in access ? access.among : [access];
  const missing =
    choices.find((choice) => choice !== ANYONE && lacking(rights, choice).length > 0) ?? choices[0] ?? ANYONE;
  return { scope: missing.scope, grant: missing.fullAccess ? '*' : textOf(lacking(rights, missing)) };
}

function lacking(rights: Rights, access: Access): readonly Need[] {
  const { scope, needs, full = false } = requirement(access);
  const isWhole = ({ open, ...need }: Need) =>
    rights.allows({ scope, needs: [open ? { resource: need.resource, op: need.op } : need], full });
  return needs.filter((need) => !isWhole(need));
}

/** The grants that allow every call under the access. Empty if the input decides which resource the call is about. */
export function grantsFor(access: Access | AccessByInput): Grant[] {
  const whole = 'among' in access ? access.whole : access;
  if (!whole) return [];
  return requirement(whole).needs.map(({ resource, op, ids, open }) => ({
    resource,
    op,
    id: open ? '*' : (ids?.[0] ?? '*'),
  }));
}

/** A right that calls of a tool need. */
export interface NeededRight {
  readonly resource: string;
  readonly op: string;
  readonly parameter?: string;
  /** True if the call is about several records of the kind, and not about a single one. */
  readonly narrows: boolean;
  readonly selects: NonNullable<Access['selects']>;
}

export function neededRights(access: Access | AccessByInput): NeededRight[] {
  if ('among' in access && !access.whole) return [];
  const found = new Map<string, NeededRight>();
  for (const choice of 'among' in access ? access.among : [access]) {
    const { needs, narrows = false } = requirement(choice);
    for (const { resource, op, ids, open } of needs) {
      const key = `${resource}:${op}`;
      const [id = ''] = ids ?? [];
      const parameter = open && id.slice(1, -1);
      const right = { resource, op, narrows: narrows && !ids, selects: choice.selects ?? {} };
      if (parameter) found.set(key, { ...right, parameter });
      else if (!found.has(key)) found.set(key, right);
    }
  }
  return [...found.values()];
}

/** Whether this input only selects the records that the call is about. */
export function selectsBy(access: Access | AccessByInput, input: string): boolean {
  return neededRights(access).some(({ parameter, selects }) => parameter === input || Object.hasOwn(selects, input));
}

export function accessFor(access: Access | AccessByInput, input: object): Access {
  return 'among' in access ? access.of(input) : access;
}

/** Answers without waiting where no record must be looked up. */
export function allows(rights: Rights, access: Access, input: object, subjects: Subjects): boolean | Promise<boolean> {
  return access === ANYONE || allowsBound(rights, boundFor(access, input), subjects);
}

/** What the call needs, with the one name that the input gives of each record. */
export function boundFor(access: Access, input: object): Requirement {
  return bind(requirement(access), input);
}

export function allowsBound(rights: Rights, bound: Requirement, subjects: Subjects): boolean | Promise<boolean> {
  if (rights.allows(bound)) return true;
  return rights.mayTry(bound) && withSubjects(bound, subjects).then((known) => rights.allows(known));
}

/** What the call needs. Each record has all the names that grants may use for it. */
export function requirementFor(access: Access, input: object, subjects: Subjects): Promise<Requirement> {
  return withSubjects(bind(requirement(access), input), subjects);
}

async function withSubjects(bound: Requirement, subjects: Subjects): Promise<Requirement> {
  const needs = await Promise.all(
    bound.needs.map(async (need) => {
      if (need.ids?.[0] === undefined) return need;
      const { names, record } = await subjects(need.resource, need.ids[0]);
      return { ...need, ids: names, record };
    }),
  );
  return { ...bound, needs };
}

/** The narrowest grant that allows this input. Several are joined by commas. */
export function narrowestGrant(access: Access, input: object): string {
  return access.fullAccess ? '*' : textOf(bind(requirement(access), input).needs);
}

function textOf(needs: readonly Need[]): string {
  const texts = needs.map(({ resource, op, ids: [id] = [] }) =>
    [resource, op, ...(id === undefined ? [] : [encode(id)])].join(':'),
  );
  return texts.join(', ');
}

/** Parsed once for each declaration. Where the input names the record, the need is open and its only id is the input member in braces. */
const requirement = oncePer((access: Access): Requirement => {
  const { scope, narrows, fullAccess: full } = access;
  return { scope, needs: [access.grant].flat().map(parseNeed), ...(narrows && { narrows }), ...(full && { full }) };
});

function parseNeed(template: string): Need {
  const [resource = '', op = '', id] = template.split(':');
  return { resource, op, ...(id !== undefined && { ids: [id] }), ...(id?.startsWith('{') && { open: true }) };
}

function bind(unbound: Requirement, input: object): Requirement {
  const needs = unbound.needs.map((need) =>
    need.ids ? { ...need, ids: need.ids.map((id) => fill(id, input)) } : need,
  );
  return { ...unbound, needs };
}

function fill(id: string, input: object): string {
  if (!id.startsWith('{')) return id;
  const value = (input as Readonly<Record<string, unknown>>)[id.slice(1, -1)]; // the schema that parsed the input has this member
  return typeof value === 'string' ? value : id;
}

/** The id in the form that grants use. */
function encode(id: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._@/-]*$/.test(id) || id.startsWith('{')) return id;
  const code = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(id).replace(/^[._-]|[!'()*~]/g, code);
}
