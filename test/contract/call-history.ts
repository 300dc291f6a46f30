import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import type { JsonSchema } from '../../tools/core/registry/json-schema.ts';
import { fc } from '../support/property.ts';
import { type Dice, diceOf, type Input, meantInput, rowsToImport } from './call-meaning.ts';
import { validInput } from './fuzz-inputs.ts';
import { isObject, mutatedInput, type Value } from './fuzz-mutations.ts';
import type { Pool } from './fuzz-workspace.ts';
import { idsIn, type Json } from './twin-names.ts';

export interface HistoryCall {
  readonly tool: string;
  readonly input: Input;
  readonly caller: number;
  readonly idempotencyKey?: string;
}

/** Tools that answer what is not in the store: of the process, of other hosts, or of the doors. */
const BESIDE =
  /^(get_system_health|check_health|check_setup|invoke_agent|send_chat_message|trigger_flow|retry_flow_run|cancel_\w+|list_models|search_tools|describe_tool|call_tool|\w+_session|\w+_passkeys?|create_sign_in_link|authorize_app|\w*integration\w*|preview_capsule|list_backups|create_backup|verify_audit|receive_webhook)$/;
const MOST_IDS = 6;
const MOST_KEYS = 40;
/** How ids of the kinds begin that purges and histories name. */
const PREFIX_OF: Readonly<Record<string, string>> = {
  agent: 'agt',
  skill: 'skl',
  flow: 'flw',
  thread: 'thr',
  report: 'rep',
  capsule: 'cap',
  memory: 'mem',
  project: 'prj',
  goal: 'gol',
  task: 'tsk',
  'task-document': 'tsk',
  document: 'doc',
  artifact: 'art',
  database: 'dbs',
  'database-record': 'rec',
};

interface Choice {
  readonly tool: Tool;
  readonly required: readonly string[];
  readonly valid: fc.Arbitrary<Value>;
  readonly broken: fc.Arbitrary<Value>;
}

/** Calls of all tools whose answers come from the store, about what the calls before have made. The same seed gives the same calls. */
export class CallHistory {
  readonly #dice: Dice;
  readonly #seed: number;
  readonly #people: readonly string[];
  readonly #callers: number;
  readonly #pool = { ids: new Map<string, readonly string[]>(), versions: [] as Pool['versions'][number][] };
  readonly #choices: readonly Choice[];
  readonly #makers: readonly Choice[];
  #count = 0;
  #further: HistoryCall | undefined;
  #repeated: HistoryCall | undefined;

  constructor(seed: number, callers: number, people: readonly string[]) {
    this.#seed = seed;
    this.#dice = diceOf(seed);
    this.#callers = callers;
    this.#people = people;
    this.#pool.ids.set('usr', people);
    const tools = catalog.entries
      .map(({ tool }) => tool)
      .filter(({ name, doorOnly }) => !doorOnly && !BESIDE.test(name));
    this.#choices = tools.map((tool) => this.#choiceOf(tool));
    this.#makers = this.#choices.filter(({ tool }) => /^(create|import)_/.test(tool.name));
  }

  next(): HistoryCall {
    this.#count += 1;
    const dice = this.#dice;
    if (this.#further && dice.happens(0.6)) return this.#further;
    if (this.#repeated && dice.happens(0.1)) return this.#repeated;
    const { tool, valid, broken, required } = dice.pick(dice.happens(0.25) ? this.#makers : this.#choices);
    const isBroken = dice.happens(0.05);
    const [drawn = {}] = fc.sample(isBroken ? broken : valid, { seed: this.#seed + this.#count, numRuns: 1 });
    const given = isObject(drawn) ? drawn : {};
    const input = isBroken ? given : this.#meant(tool.name, this.#fewer(given, required));
    const caller = dice.happens(0.8) ? 0 : dice.upTo(this.#callers - 1);
    const call = { tool: tool.name, input, caller };
    if (tool.annotations.readOnlyHint || !dice.happens(0.15)) return call;
    this.#repeated = { ...call, idempotencyKey: `key-${dice.upTo(MOST_KEYS)}` };
    return this.#repeated;
  }

  /** What the call was answered, so that later ones can be about it. */
  learn(call: HistoryCall, answer: Json): void {
    const isGone = /^(delete|purge|revoke)_/.test(call.tool) && this.#dice.happens(0.7);
    for (const id of idsIn(isGone ? call.input : answer)) {
      const others = (this.#pool.ids.get(id.slice(0, 3)) ?? []).filter((other) => other !== id);
      this.#pool.ids.set(id.slice(0, 3), (isGone ? others : [id, ...others]).slice(0, MOST_IDS));
    }
    this.#pool.versions.unshift(...versionsIn(answer));
    this.#pool.versions.length = Math.min(this.#pool.versions.length, MOST_IDS);
    const next = member(member(answer, 'output'), 'nextCursor');
    this.#further = typeof next === 'string' ? { ...call, input: { ...call.input, cursor: next } } : undefined;
  }

  #choiceOf(tool: Tool): Choice {
    const schema = z.toJSONSchema(tool.input, { io: 'input' }) as JsonSchema;
    const valid = validInput(schema, this.#pool, tool.name);
    return { tool, valid, broken: mutatedInput(valid), required: (schema.required ?? []) as string[] };
  }

  /** Callers give few of the members that they need not give. */
  #fewer(input: Input, required: readonly string[]): Input {
    const given = Object.entries(input).filter(([name]) => required.includes(name) || this.#dice.happens(0.4));
    return Object.fromEntries(given);
  }

  #meant(tool: string, drawn: Input): Input {
    if (tool === 'import_records') return { ...drawn, ...rowsToImport(this.#seed + this.#count) };
    const meant = meantInput(tool, drawn, this.#dice, this.#people.at(-1) ?? '');
    const ofSomething = this.#dice.pick([...this.#pool.ids.values()].flat());
    const input = 'q' in meant && this.#dice.happens(0.2) ? { ...meant, q: ofSomething } : meant;
    const kind = input.entityType;
    if (typeof kind !== 'string' || 'versionId' in input || this.#dice.happens(0.1)) return input;
    const ids = kind === 'user' ? ['u1', 'u2'] : (this.#pool.ids.get(PREFIX_OF[kind] ?? '') ?? []);
    return ids.length > 0 ? { ...input, ['entityId' in input ? 'entityId' : 'id']: this.#dice.pick(ids) } : input;
  }
}

function* versionsIn(answer: Json): Generator<Pool['versions'][number]> {
  if (answer === null || typeof answer !== 'object') return;
  const [entityType, entityId, versionId] = ['entityType', 'entityId', 'id'].map((name) => member(answer, name));
  const isVersion = typeof versionId === 'string' && versionId.startsWith('ver_');
  if (isVersion && typeof entityType === 'string' && typeof entityId === 'string')
    yield { entityType, entityId, versionId };
  for (const item of Object.values(answer)) yield* versionsIn(item);
}

function member(value: Json | undefined, name: string): Json | undefined {
  if (value === undefined || value === null || typeof value !== 'object') return undefined;
  return (value as { readonly [name: string]: Json })[name]; // lists have none of these names
}
