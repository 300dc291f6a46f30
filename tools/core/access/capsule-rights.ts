import type { Grant } from './grants.ts';
import type { FixedArguments, GuardedTool } from './guarded-tool.ts';
import { NAME } from './guarded-tool.ts';
import { admitsNothing, intersectLimits, NO_RECORD, type RecordLimit } from './record-limit.ts';
import { grantsFor, type NeededRight, neededRights } from './requirement.ts';
import { grantRights, type Rights } from './rights.ts';

/** Arguments that shape an answer and hide no record for good. */
const SHAPING: readonly string[] = ['limit', 'includeTotal', 'order', 'sort', 'expectedRevision'];
/** A fixed cursor leaves one page of a list, and it is not known for a single record whether it is on that page. */
const CURSOR = 'cursor';
/** Inputs that name a record in tools that reach records of other tools (`actsAs`). */
const WAY = ['entityType', 'entityId', 'versionId', 'cursor'];
/** Operations that neither show nor change the record that they are about. */
const ACTS: readonly string[] = ['invoke', 'trigger', 'call', 'use', 'send'];

/** The records that remain when arguments of a tool are fixed. The limit also holds for other tools. */
interface Hold {
  readonly tool: GuardedTool;
  readonly resource: string;
  readonly op: string;
  readonly limit: RecordLimit;
  readonly by: readonly string[];
}

type FixedFor = (tool: GuardedTool) => FixedArguments | undefined;

/**
 * The rights of a capsule: what its tools need. Arguments fixed for one tool also limit the others. Fixed for a tool that reads, they limit
 * everything that other tools do with records of that kind; fixed for a tool that changes records, they limit what other tools change. The
 * narrowest limit counts. Calls of the tool itself are already bound by its own fixed arguments, so those of other tools do not limit them.
 */
export class CapsuleRights {
  readonly rights: Rights;
  /** The grants of its tools, without the limits. */
  readonly grants: readonly Grant[];
  readonly #holds: readonly Hold[];
  readonly #tools: ReadonlySet<GuardedTool>;
  readonly #fixed: FixedFor;
  readonly #ways: readonly GuardedTool[];
  readonly #inCallOf = new Map<GuardedTool, Rights>();

  constructor(tools: readonly GuardedTool[], fixed: FixedFor) {
    this.#tools = new Set(tools);
    this.#ways = tools.filter((tool) => tool.actsAs && fixed(tool));
    this.#fixed = fixed;
    this.#holds = tools.flatMap((tool) => holdsOf(tool, fixed(tool)));
    this.grants = tools.flatMap((tool) => this.#handedOn(tool));
    this.rights = this.#rights(this.grants, []);
  }

  /** Whether arguments fixed for other ways to the same records admit the call (`actsAs`). Those of ways that write limit only ways that write. */
  admits(tool: GuardedTool, input: object): boolean {
    if (!tool.actsAs || this.#fixed(tool)) return true;
    const given = new Map<string, unknown>(Object.entries(input));
    return this.#ways
      .filter((way) => way.annotations.readOnlyHint || !tool.annotations.readOnlyHint)
      .every((way) =>
        WAY.every(
          (name) => !Object.hasOwn(this.#fixed(way) ?? {}, name) || this.#fixed(way)?.[name] === given.get(name),
        ),
      );
  }

  /** Why calls of the tool reach fewer records than its description says. */
  narrowed(tool: GuardedTool): string | undefined {
    const bound = this.#bound(tool);
    const deciding = this.#heldBy(tool).filter(({ resource, op }) => !bound.includes(`${resource}:${op}`));
    const isByOthers = tool.looksAcross || (tool.actsAs && !this.#fixed(tool));
    const holds = isByOthers ? this.#holds : deciding.flatMap(({ holds }) => holds);
    if (holds.length === 0) return undefined;
    const names = [...new Set(holds.map(({ tool: other, by }) => `${other.name} (${by.join(', ')})`))].join(' and ');
    const empty = deciding.some(({ limit }) => admitsNothing(limit));
    return empty
      ? `The arguments fixed for ${names} leave ${tool.name} no record: fix arguments of ${tool.name} too, or others.`
      : `${tool.name} is limited to the records that the arguments fixed for ${names} leave.`;
  }

  #rights(grants: readonly Grant[], bound: readonly string[]): Rights {
    const held = (resource: string, op: string) => this.#limitOf(resource, op);
    return grantRights(grants, {
      fingerprint: () => JSON.stringify([this.#holds.map(({ resource, op, limit }) => [resource, op, limit]), bound]),
      held,
      limits: (resource, op) => (bound.includes(`${resource}:${op}`) ? undefined : held(resource, op)),
      inCallOf: (tool) => this.#rightsInCallOf(tool),
    });
  }

  #rightsInCallOf(tool: GuardedTool): Rights {
    let rights = this.#inCallOf.get(tool);
    if (!rights) {
      rights = this.#tools.has(tool) ? this.#rightsOf(tool) : this.rights;
      this.#inCallOf.set(tool, rights);
    }
    return rights;
  }

  #rightsOf(tool: GuardedTool): Rights {
    const bound = this.#bound(tool);
    if (this.#holds.length === 0 && !this.#fixed(tool)) return this.rights;
    return this.#rights([...this.grants, ...grantsFor(tool.access)], bound);
  }

  /** The rights that are not limited in the tool's own calls: its fixed arguments say which records it reaches, or it makes new ones. */
  #bound(tool: GuardedTool): string[] {
    const needs = neededRights(tool.access);
    const own = this.#holds.filter((hold) => hold.tool === tool);
    return needs
      .filter(
        (need) => isAboutNone(need) || own.some(({ resource, op }) => need.resource === resource && need.op === op),
      )
      .map(({ resource, op }) => `${resource}:${op}`);
  }

  #handedOn(tool: GuardedTool): Grant[] {
    const fixed = this.#fixed(tool);
    const grants = grantsFor(tool.access);
    if (!fixed) return grants;
    const kept = neededRights(tool.access).filter(
      (need) =>
        !isAboutNone(need) &&
        (tool.annotations.readOnlyHint ||
          this.#holds.some((hold) => hold.tool === tool && hold.resource === need.resource && hold.op === need.op)),
    );
    return grants.filter(({ resource, op }) => kept.some((need) => need.resource === resource && need.op === op));
  }

  #heldBy(tool: GuardedTool) {
    return neededRights(tool.access).flatMap(({ resource, op }) => {
      const holds = this.#holds.filter((hold) => isHeldBy(hold, resource, op));
      const limit = this.#limitOf(resource, op);
      return limit ? [{ resource, op, holds, limit }] : [];
    });
  }

  #limitOf(resource: string, op: string): RecordLimit | undefined {
    const holds = this.#holds.filter((hold) => isHeldBy(hold, resource, op));
    return holds.reduce<RecordLimit | undefined>((limit, hold) => intersectLimits(limit, hold.limit), undefined);
  }
}

/** Whether the call makes a record or reads no records at all. */
function isAboutNone({ parameter, narrows }: NeededRight): boolean {
  return parameter === undefined && !narrows;
}

function isHeldBy(hold: Hold, resource: string, op: string): boolean {
  if (hold.resource !== resource) return false;
  if (hold.op === 'read' || hold.op === op) return true;
  return op !== 'read' && !ACTS.includes(op) && !ACTS.includes(hold.op);
}

function holdsOf(tool: GuardedTool, fixed: FixedArguments | undefined): Hold[] {
  if (!fixed) return [];
  const reads = tool.annotations.readOnlyHint;
  return neededRights(tool.access).flatMap((need) => {
    const { resource, op } = need;
    // A tool that changes one record may also read. That does not limit tools that read.
    if ((op === 'read') !== reads) return [];
    const by = selecting(tool, need, fixed);
    if (by.length === 0) return [];
    const limits = by.map((argument) => limitBy(tool, need, argument, fixed[argument]));
    return [{ tool, resource, op, by, limit: limits.reduce((limit, other) => intersectLimits(limit, other) ?? limit) }];
  });
}

/** The fixed arguments that exclude records. */
function selecting(
  { annotations, input }: GuardedTool,
  { parameter, narrows, selects }: NeededRight,
  fixed: FixedArguments,
) {
  const names = Object.keys(fixed);
  if (parameter === undefined && !narrows) return [];
  if (annotations.readOnlyHint && names.includes(CURSOR)) return [CURSOR];
  if (parameter !== undefined && names.includes(parameter)) return [parameter];
  const isList = annotations.readOnlyHint && narrows;
  const shaping = CURSOR in input.shape ? SHAPING : [];
  return names.filter((name) => Object.hasOwn(selects, name) || (isList && !shaping.includes(name)));
}

/** An argument that the tool does not accept makes all its calls fail, so it leaves other tools nothing. */
function limitBy(
  { input }: GuardedTool,
  { parameter, selects }: NeededRight,
  argument: string,
  fixed: unknown,
): RecordLimit {
  const value: unknown = input.shape[argument]?.safeParse(fixed).data;
  const member = argument === parameter ? NAME : selects[argument];
  if (member === undefined || argument === CURSOR) return NO_RECORD;
  if (member === NAME) return typeof value === 'string' ? { names: [value] } : NO_RECORD;
  const isPlain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isPlain ? { members: { [member]: value } } : NO_RECORD;
}
