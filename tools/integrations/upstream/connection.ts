import {
  type CallToolRequestOptions,
  CLIENT_CAPABILITIES_META_KEY,
  type Client,
  isInputRequiredResult,
  SdkError,
  SdkErrorCode,
  StreamableHTTPClientTransport,
  type Tool as UpstreamTool,
  withInputRequired,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { createFetch } from '../../core/outbound/fetch.ts';
import type { Questions } from '../../core/registry/call.ts';
import { outgoingTrace } from '../../core/telemetry/span.ts';
import type { Telemetry } from '../../core/telemetry/telemetry.ts';
import { type AccountAuth, accountRequiredBy } from '../accounts/account-auth.ts';
import { clientFor } from './client.ts';
import type { CallOptions } from './guest-tool.ts';
import { askOAuth } from './oauth.ts';
import { type ObservedMethod, observedRequest } from './observed-request.ts';
import { allPages, LISTS, onePage, type RawPage } from './raw-pages.ts';
import { type StdioTarget, StdioTransport } from './stdio-transport.ts';
import type { Watchdog } from './watchdog.ts';

/** The largest message of a server, in bytes. */
export const MOST_BYTES = 1024 * 1024;
/** Long enough for a program that must be downloaded before it runs. */
const CONNECT_MS = 60_000;
/** The longest call, also where the server keeps reporting progress. */
export const LONGEST_CALL_MS = 15 * 60_000;

interface HttpTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The account whose tokens the server gets. */
  readonly account?: AccountAuth;
}

/** How to reach a server, with its secrets decrypted. */
export type Target = { readonly stdio: StdioTarget } | { readonly http: HttpTarget };

export interface ConnectOptions {
  readonly privateAddresses: boolean;
  readonly watchdog: Watchdog;
  readonly client: { readonly name: string; readonly version: string };
  readonly telemetry: Telemetry;
  /** The server answered `initialize` before, so newer revisions are not tried. */
  readonly legacy: boolean;
  onToolsChanged(): void;
  /** Ends the attempt to connect. */
  readonly signal: AbortSignal;
  /** Called when the connection ends, unless `close` ended it. */
  onLost(why: unknown): void;
}

/** A call, with the tool as its server defines it. */
interface UpstreamCall extends Omit<CallOptions, 'principal'> {
  readonly tool: UpstreamTool;
  readonly input: object;
  readonly timeoutMs: number;
}

interface Request {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

interface Asking {
  readonly questions: Questions | undefined;
}

interface PromptCall {
  readonly name: string;
  readonly input: object;
}

/** Why a connection could not be made, or ended. Includes what the program wrote last. */
export class ConnectionFailure extends Error {
  readonly wrote: string;

  constructor(cause: unknown, { transport }: Line) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.wrote = transport instanceof StdioTransport ? transport.stderr.trim() : '';
  }
}

/** The transport to a server. */
interface Line {
  readonly transport: StdioTransport | StreamableHTTPClientTransport;
  /** Why the server refuses everybody, or this account, where that can be found out. */
  refusal(signal: AbortSignal, error: unknown): Promise<Error | undefined>;
  /** Releases what the transport does not release by itself. */
  release(): void;
}

/** What its measures need to know. */
interface Observing {
  readonly telemetry: Telemetry;
  /** Absent for a program. */
  readonly url: string | undefined;
}

/** One connection to a server. All calls share it. */
export class Connection {
  readonly #client: Client;
  readonly #line: Line;
  readonly #observing: Observing;
  #closing = false;

  private constructor(client: Client, line: Line, observing: Observing) {
    this.#client = client;
    this.#line = line;
    this.#observing = observing;
  }

  /** @throws ConnectionFailure, OAuthRequired, or AccountRequired */
  static async open(target: Target, options: ConnectOptions): Promise<Connection> {
    const line = lineTo(target, options);
    const { transport } = line;
    const url = 'http' in target ? target.http.url : undefined;
    const connection = new Connection(clientFor(options), line, { telemetry: options.telemetry, url });
    const prior = options.legacy ? { prior: { kind: 'legacy' as const } } : {};
    const giveUp = () => void transport.close();
    options.signal.addEventListener('abort', giveUp, { once: true });
    connection.#client.onclose = () => {
      if (!connection.#closing) options.onLost(new ConnectionFailure('The connection ended.', line));
    };
    try {
      await connection.#client.connect(transport, { timeout: CONNECT_MS, ...prior });
      return connection;
    } catch (error) {
      connection.#closing = true;
      await transport.close();
      const refusal = await line.refusal(options.signal, error);
      line.release();
      if (refusal) throw refusal;
      // Some programs of older revisions exit when they are asked for a newer one.
      if (endedByProbe(error) && !options.legacy && !options.signal.aborted && 'stdio' in target)
        return Connection.open(target, { ...options, legacy: true });
      throw new ConnectionFailure(error, line);
    } finally {
      options.signal.removeEventListener('abort', giveUp);
    }
  }

  get isLegacy(): boolean {
    return this.#client.getProtocolEra() === 'legacy';
  }

  get protocolVersion(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }

  get server(): { readonly name: string; readonly version: string } | undefined {
    return this.#client.getServerVersion();
  }

  /** The tools that the server lists, unchanged. Of an endless list, the beginning. */
  async list(timeoutMs: number): Promise<unknown[]> {
    return this.#client.getServerCapabilities()?.tools ? allPages(this.#client, LISTS.tools, timeoutMs) : [];
  }

  get hasPrompts(): boolean {
    return this.#client.getServerCapabilities()?.prompts !== undefined;
  }

  get hasResources(): boolean {
    return this.#client.getServerCapabilities()?.resources !== undefined;
  }

  listExtras(what: 'prompts' | 'templates', timeoutMs: number): Promise<unknown[]> {
    if (what === 'prompts') return allPages(this.#client, LISTS.prompts, timeoutMs);
    return allPages(this.#client, LISTS.templates, timeoutMs);
  }

  /** One page of what the server lists to this account. */
  listResources({ cursor, signal, timeoutMs }: Request & { readonly cursor: string | undefined }): Promise<RawPage> {
    return onePage(this.#client, LISTS.resources, { cursor, signal, timeoutMs });
  }

  readResource({ uri, questions, ...options }: Request & Asking & { readonly uri: string }): Promise<unknown> {
    const method = 'resources/read';
    const read = () => this.#ask({ method, params: { uri, ...this.#about(questions) } }, options);
    return this.#observe(method, undefined, read);
  }

  getPrompt({ name, input, questions, ...options }: Request & Asking & PromptCall): Promise<unknown> {
    const method = 'prompts/get';
    const params = () => ({ name, arguments: { ...input }, ...this.#about(questions) });
    return this.#observe(method, name, () => this.#ask({ method, params: params() }, options));
  }

  #ask(request: { method: string; params: object }, { signal, timeoutMs }: Request): Promise<object> {
    const schema = withInputRequired(z.looseObject({}));
    const options = { signal, timeout: timeoutMs, maxTotalTimeout: LONGEST_CALL_MS, allowInputRequired: true };
    return this.#client.request({ ...request, params: { ...request.params } }, schema, options);
  }

  /** What the tool answers, or asks a person. */
  async call({ tool, input, timeoutMs, signal, report, questions }: UpstreamCall) {
    const { outputSchema, ...definition } = tool;
    const params = () => ({ name: tool.name, arguments: { ...input }, ...this.#about(questions) });
    const options: CallToolRequestOptions = {
      // The SDK wants structured content even of a tool that only asks.
      toolDefinition: definition,
      allowInputRequired: true,
      timeout: timeoutMs,
      resetTimeoutOnProgress: true,
      maxTotalTimeout: LONGEST_CALL_MS,
      onprogress: ({ progress, total, message }) =>
        report({ progress, ...(total !== undefined && { total }), ...(message !== undefined && { message }) }),
      ...(signal && { signal }),
    };
    const result = await this.#observe('tools/call', tool.name, () => this.#client.callTool(params(), options));
    if (outputSchema && !result.isError && !result.structuredContent && !isInputRequiredResult(result)) {
      throw new SdkError(
        SdkErrorCode.InvalidResult,
        'The tool has an output schema and answered no structured content.',
      );
    }
    return result;
  }

  #observe<Result extends object>(method: ObservedMethod, target: string | undefined, work: () => Promise<Result>) {
    const { telemetry, url } = this.#observing;
    return observedRequest(telemetry, { method, target, url, protocolVersion: this.protocolVersion }, work);
  }

  /**
   * Tells the server the trace of the call, what its caller can ask a person, and what the person answered. Questions of older revisions
   * are not passed on.
   */
  #about(questions: Questions | undefined) {
    const trace = outgoingTrace();
    if (!questions || this.isLegacy) return trace ? { _meta: { ...trace } } : {};
    const { modes, answers, state } = questions;
    const elicitation = Object.fromEntries(modes.map((mode) => [mode, {}]));
    return {
      _meta: { [CLIENT_CAPABILITIES_META_KEY]: modes.length > 0 ? { elicitation } : {}, ...trace },
      ...(answers && { inputResponses: answers }),
      ...(state !== undefined && { requestState: state }),
    };
  }

  /** Resolves when nothing of the connection is left. */
  async close(): Promise<void> {
    this.#closing = true;
    const { transport } = this.#line;
    if (transport instanceof StreamableHTTPClientTransport) {
      const late = new Promise((resolve) => setTimeout(resolve, 1000).unref());
      await Promise.race([transport.terminateSession().catch(() => {}), late]);
    }
    await this.#client.close();
    await transport.close();
    this.#line.release();
  }
}

/** The parts of a target that nobody may see. */
export function secretsOf(target: Target): string[] {
  if ('stdio' in target) return Object.values(target.stdio.env);
  const { headers, account } = target.http;
  return [...Object.values(headers), ...(account?.seen ?? [])];
}

function endedByProbe(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}

function lineTo(target: Target, { privateAddresses, watchdog }: ConnectOptions): Line {
  if ('stdio' in target) {
    return {
      transport: new StdioTransport(target.stdio, MOST_BYTES, watchdog),
      refusal: async () => undefined,
      release() {},
    };
  }
  const { url, headers, account } = target.http;
  const { fetch, challenge, close } = createFetch({ privateAddresses, mostBytes: MOST_BYTES });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: account?.watch(fetch) ?? fetch,
    requestInit: { headers: { ...headers } },
    ...(account && { authProvider: account }),
  });
  return {
    transport,
    refusal: async (signal, error) =>
      account ? accountRequiredBy(error) : askOAuth(new URL(url), headers, { fetch, challenge: challenge(), signal }),
    release: close,
  };
}
