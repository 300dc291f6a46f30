import type { Caller, Client, DoorName, Outcome } from './client.ts';
import { pick, type Random } from './fault.ts';
import type { Violations, Work } from './work.ts';

/** What a record can look like for what was acknowledged. */
interface State {
  readonly revision: number;
  /** Undefined: it is deleted. */
  readonly text: string | undefined;
}

interface Known {
  /** Known in lists by this alone. */
  readonly mark: string;
  id: string | undefined;
  /** More than one where the answer of the last change was cut. Undefined: it was never made. */
  states: readonly (State | undefined)[];
}

/** A kind of versioned record. */
interface RecordType {
  readonly type: string;
  readonly doors: readonly DoorName[];
  fields(mark: string, text: string, maker: string): object;
  change(text: string): object;
  /** Finds all of the maker, and perhaps others. */
  find(maker: string): object;
  // biome-ignore lint/suspicious/noExplicitAny: a record as it came
  markOf(record: any): string;
  // biome-ignore lint/suspicious/noExplicitAny: a record as it came
  textOf(record: any): string;
}

export const skills: RecordType = {
  type: 'skill',
  doors: ['REST', 'MCP 2025', 'MCP 2026', 'capsule'],
  fields: (name, instructions) => ({ name, instructions }),
  change: (instructions) => ({ instructions }),
  find: () => ({}),
  markOf: ({ name }) => name,
  textOf: ({ instructions }) => instructions,
};

export const documents: RecordType = {
  type: 'document',
  doors: ['MCP 2025', 'MCP 2026', 'capsule'],
  fields: (title, content, maker) => ({ title, content, tags: [maker] }),
  change: (content) => ({ content }),
  find: (tag) => ({ tag }),
  markOf: ({ title }) => title,
  textOf: ({ content }) => content,
};

const MOST_CURRENT = 30;
const PAGE = 100;
/** So many are compared at a time. */
const AT_ONCE = 4;
/** Of those about which all is known, the last check looks at so many once more. */
const MOST_CHECKED_AGAIN = 300;

export interface RecordsDeps {
  readonly client: Client;
  readonly caller: Caller;
  readonly violations: Violations;
  readonly random: Random;
  readonly type: RecordType;
  /** Called for each acknowledged change: the event that it is, the id and the revision. */
  readonly onChange?: (event: string, id: string, revision: number) => void;
}

/** One caller who makes, changes and deletes records of its own, at all doors, with and without idempotency keys and expected revisions. */
export class Records implements Work {
  readonly name: string;
  readonly everyMs = 120;
  readonly #deps: RecordsDeps;
  /** Those about which all is known, and which this caller goes on changing. */
  #current: Known[] = [];
  /** Changed since the last check. */
  #touched = new Set<Known>();
  readonly #all: Known[] = [];
  #made = 0;

  constructor(name: string, deps: RecordsDeps) {
    this.name = name;
    this.#deps = deps;
  }

  async step(): Promise<void> {
    const { random } = this.#deps;
    const known = this.#current.length > 0 && random() > 0.35 ? pick(random, this.#current) : undefined;
    if (!known) return this.#create();
    const what = random();
    if (what < 0.5) return this.#update(known);
    if (what < 0.65 || this.#current.length > MOST_CURRENT) return this.#delete(known);
    return this.#read(known);
  }

  async check(isLast: boolean): Promise<void> {
    const touched = [...this.#touched];
    this.#touched = new Set();
    const again = isLast ? this.#all.filter((known) => !touched.includes(known)).slice(-MOST_CHECKED_AGAIN) : [];
    const left = [...touched, ...again];
    if (left.length === 0) return;
    const listed = await this.#listed();
    if (!listed) return;
    const comparer = async () => {
      for (let known = left.pop(); known; known = left.pop()) await this.#compare(known, listed.get(known.mark) ?? []);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, comparer));
  }

  async #create(): Promise<void> {
    const { type, random, client, caller } = this.#deps;
    this.#made += 1;
    const mark = `${this.name}-${this.#made}`;
    const known: Known = { mark, id: undefined, states: [undefined] };
    const input = type.fields(mark, 'first', this.name);
    const key = random() < 0.5 ? `create ${mark}` : undefined;
    const door = pick(random, type.doors);
    const tool = `create_${type.type}`;
    const outcome =
      key === undefined
        ? await client.call(caller, tool, input, { door })
        : await client.callSurely(caller, tool, input, key, door);
    this.#all.push(known);
    const made = { revision: 1, text: 'first' };
    this.#learn(known, outcome, made, `${type.type}.created`);
    if (outcome.is !== 'done') return;
    known.id = outcome.output.id;
    this.#current.push(known);
    if (key !== undefined && random() < 0.3) await this.#repeat(known, tool, input, key, door);
  }

  async #repeat(known: Known, tool: string, input: object, key: string, door: DoorName): Promise<void> {
    const { client, caller, violations } = this.#deps;
    const again = await client.call(caller, tool, input, { door, idempotencyKey: key });
    const isSame = again.is === 'done' ? again.output.id === known.id : again.code !== 'interrupted';
    violations.expect(isSame, () => `${known.mark} was made again for its key: ${JSON.stringify(again)}`);
  }

  async #update(known: Known): Promise<void> {
    const { type, random, client, caller, violations } = this.#deps;
    const state = stateOf(known);
    const text = `text ${state.revision + 1}`;
    const isStale = random() < 0.1;
    const expected = isStale
      ? { expectedRevision: state.revision + 1 }
      : random() < 0.5
        ? { expectedRevision: state.revision }
        : {};
    const input = { id: known.id, ...type.change(text), ...expected };
    const outcome = await client.call(caller, `update_${type.type}`, input, { door: pick(random, type.doors) });
    if (isStale) {
      const isRight = outcome.is !== 'done' && outcome.code !== 'not_found';
      return violations.expect(
        isRight,
        () => `${known.mark} was changed on a stale revision: ${JSON.stringify(outcome)}`,
      );
    }
    this.#learn(known, outcome, { revision: state.revision + 1, text }, `${type.type}.updated`);
  }

  async #delete(known: Known): Promise<void> {
    const { type, random, client, caller } = this.#deps;
    const { revision } = stateOf(known);
    const door = pick(random, type.doors);
    const expected = random() < 0.5 ? { expectedRevision: revision } : {};
    const outcome = await client.call(caller, `delete_${type.type}`, { id: known.id, ...expected }, { door });
    this.#learn(known, outcome, { revision, text: undefined }, `${type.type}.deleted`);
    if (outcome.is === 'done') this.#current = this.#current.filter((each) => each !== known);
  }

  async #read(known: Known): Promise<void> {
    const { type, random, client, caller } = this.#deps;
    const outcome = await client.call(caller, `get_${type.type}`, { id: known.id }, { door: pick(random, type.doors) });
    if (outcome.is === 'done') this.#compareRecord(known, outcome.output);
    else this.#expectTransient(known, outcome);
  }

  /** What the outcome of a change to the state says of the record. */
  #learn(known: Known, outcome: Outcome, changed: State, event: string): void {
    this.#touched.add(known);
    if (outcome.is === 'done') {
      known.states = [changed];
      const id = known.id ?? outcome.output.id;
      this.#deps.onChange?.(event, id, changed.revision);
      return;
    }
    this.#expectTransient(known, outcome);
    if (outcome.is === 'refused') return;
    known.states = [...known.states, changed];
    // The request may be under way still, so nothing more is done with the record.
    this.#current = this.#current.filter((each) => each !== known);
  }

  #expectTransient(known: Known, outcome: Exclude<Outcome, { is: 'done' }>): void {
    const isRight = ['unavailable', 'no connection', 'cut'].includes(outcome.code);
    this.#deps.violations.expect(isRight, () => `a call about ${known.mark} was refused: ${outcome.message}`);
  }

  /** The ids of the records in lists, by their marks. */
  async #listed(): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
    const { type, client, caller, violations } = this.#deps;
    const ids = new Map<string, string[]>();
    for (let cursor: unknown; cursor !== null; ) {
      const input = { ...type.find(this.name), limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const list = await client.look(caller, `list_${type.type}s`, input);
      if (list.is !== 'done') {
        violations.found(`${this.name} were not listed: ${list.message}`);
        return undefined;
      }
      for (const record of list.output.data)
        ids.set(type.markOf(record), [...(ids.get(type.markOf(record)) ?? []), record.id]);
      cursor = list.output.nextCursor;
    }
    return ids;
  }

  async #compare(known: Known, found: readonly string[]): Promise<void> {
    const { type, client, caller, violations } = this.#deps;
    violations.expect(found.length <= 1, () => `${known.mark} is there ${found.length} times`);
    known.id ??= found[0];
    if (known.id === undefined) return this.#compareRecord(known, undefined);
    const record = await client.look(caller, `get_${type.type}`, { id: known.id });
    if (record.is !== 'done' && record.code !== 'not_found')
      return violations.found(`${known.mark} was not read: ${record.message}`);
    const isThere = record.is === 'done';
    violations.expect(
      isThere === (found.length === 1),
      () => `${known.mark} is in the list ${found.length} times, by its id ${JSON.stringify(record)}`,
    );
    this.#compareRecord(known, isThere ? record.output : undefined);
    await this.#compareVersions(known, isThere ? record.output.revision : undefined);
  }

  // biome-ignore lint/suspicious/noExplicitAny: a record as it came
  #compareRecord({ mark, states }: Known, record: any): void {
    const isOne = states.some((state) =>
      record === undefined
        ? state?.text === undefined
        : state?.text !== undefined &&
          record.revision === state.revision &&
          this.#deps.type.textOf(record) === state.text,
    );
    this.#deps.violations.expect(
      isOne,
      () => `${mark} is ${JSON.stringify(record)}, and was left as ${JSON.stringify(states)}`,
    );
  }

  /** Each revision has its version, and so has the deletion. */
  async #compareVersions(known: Known, revision: number | undefined): Promise<void> {
    const { type, client, caller, violations } = this.#deps;
    const outcome = await client.look(caller, 'list_versions', {
      entityType: type.type,
      entityId: known.id,
      limit: 100,
    });
    if (outcome.is !== 'done')
      return violations.found(`the versions of ${known.mark} were not listed: ${outcome.message}`);
    const count = outcome.output.data.length;
    const wanted = revision === undefined ? known.states.map((state) => (state ? state.revision + 1 : 0)) : [revision];
    violations.expect(
      wanted.includes(count),
      () => `${known.mark} has ${count} versions instead of ${wanted.join(' or ')}`,
    );
  }
}

function stateOf({ mark, states }: Known): State {
  const [state] = states;
  if (!state) throw new Error(`Nothing is known of ${mark}.`);
  return state;
}
