import { INVALID_PARAMS, LOG_LEVEL_META_KEY, type LoggingLevel, type Result } from '@modelcontextprotocol/server';
import type { Cluster } from '../../store/cluster-port.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import type { Progress } from '../../tools/core/registry/call.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isObject, RpcError } from './message.ts';

/** From the least to the most severe. */
const LEVELS: readonly LoggingLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];
const MOST_CALLERS = 10_000;
const WISH = 'log level';

interface LogLevelRequest {
  readonly caller: string;
  readonly level: LoggingLevel;
}

/** Without sessions, `logging/setLevel` holds for the caller in all processes. In revision 2026-07-28 each request contains the level. */
export class LogLevels {
  /** The caller who set a level last comes last. */
  readonly #byCaller = new Map<string, LoggingLevel>();
  readonly #cluster: Cluster | undefined;

  constructor(cluster: Cluster | undefined) {
    this.#cluster = cluster;
    cluster?.onTold(WISH, (wish) => this.#keep(wish as LogLevelRequest)); // sent by `set`
  }

  set({ principal }: RequestContext, level: unknown): Result {
    const known = LEVELS.find((each) => each === level);
    if (known === undefined) {
      throw new RpcError(INVALID_PARAMS, `Invalid params: level is one of ${LEVELS.join(', ')}.`);
    }
    const wish: LogLevelRequest = { caller: callerOf(principal), level: known };
    this.#keep(wish);
    this.#cluster?.tell(WISH, wish);
    return {};
  }

  #keep({ caller, level }: LogLevelRequest): void {
    this.#byCaller.delete(caller);
    this.#byCaller.set(caller, level);
    const [first] = this.#byCaller.keys();
    if (first !== undefined && this.#byCaller.size > MOST_CALLERS) this.#byCaller.delete(first);
  }

  of({ principal }: RequestContext): LoggingLevel | undefined {
    return this.#byCaller.size === 0 ? undefined : this.#byCaller.get(callerOf(principal));
  }
}

function callerOf({ type, id }: Principal): string {
  return `${type} ${id}`;
}

/** The lowest level that a request of revision 2026-07-28 asks for. */
export function levelIn(message: unknown): LoggingLevel | undefined {
  const { params } = isObject(message) ? message : {};
  const { _meta } = isObject(params) ? params : {};
  const level: unknown = isObject(_meta) ? _meta[LOG_LEVEL_META_KEY] : undefined;
  return LEVELS.find((each) => each === level);
}

export function mayLog(registry: Registry, name: unknown): boolean {
  const tool = typeof name === 'string' ? registry.find(name) : undefined;
  return tool !== undefined && (tool.inSteps === true || tool.answersContent === true);
}

interface LogMessage {
  readonly level: LoggingLevel;
  readonly data: string;
}

/** A log message for a step of a call. Pieces of an answer have the level `debug`. Undefined below the wanted level. */
export function logMessage({ message, event }: Progress, least: LoggingLevel): LogMessage | undefined {
  const level = event?.name === 'delta' ? 'debug' : 'info';
  if (message === undefined || LEVELS.indexOf(level) < LEVELS.indexOf(least)) return undefined;
  return { level, data: message };
}
