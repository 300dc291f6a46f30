import {
  type CallToolRequestOptions,
  CLIENT_CAPABILITIES_META_KEY,
  Client,
  isInputRequiredResult,
  type JsonSchemaValidator,
  SdkError,
  SdkErrorCode,
  type ServerCapabilities,
  StreamableHTTPClientTransport,
  type Tool as UpstreamTool,
  withInputRequired,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Questions } from '../../core/registry/call.ts';
import { outgoingTrace } from '../../core/telemetry/span.ts';
import { observed, type Telemetry } from '../../core/telemetry/telemetry.ts';
import type { CallOptions } from './offered-tools.ts';
import {
  ConnectionFailure,
  type Target,
  type TransportHandle,
  type TransportOptions,
  transportTo,
} from './transport.ts';

/** Long enough for a program that must be downloaded before it runs. */
const CONNECT_MS = 60_000;
/** The longest call, also where the server keeps reporting progress. */
export const LONGEST_CALL_MS = 15 * 60_000;

export interface ConnectOptions extends TransportOptions {
  readonly client: { readonly name: string; readonly version: string };
  readonly telemetry: Telemetry;
  /** The server answered `initialize` before, so newer revisions are not tried. */
  readonly legacy: boolean;
  onToolsChanged(): void;
  readonly signal: AbortSignal;
  /** Called when the connection ends, unless `close` ended it. */
  onLost(why: unknown): void;
}

interface UpstreamCall extends Omit<CallOptions, 'principal'> {
  readonly tool: UpstreamTool;
  readonly input: object;
  readonly timeoutMs: number;
}

interface Request {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The lists of a server: the method, and the member of its answer that holds the items. */
export const LISTS = {
  tools: { method: 'tools/list', member: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts' },
  resources: { method: 'resources/list', member: 'resources' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates' },
} as const;
export type List = (typeof LISTS)[keyof typeof LISTS];

interface RawPage {
  readonly items: readonly unknown[];
  readonly nextCursor: string | undefined;
}

interface PageRequest extends Request {
  readonly cursor: string | undefined;
}

interface Asking {
  readonly questions: Questions | undefined;
}

interface PromptCall {
  readonly name: string;
  readonly input: object;
}

interface Observing {
  readonly telemetry: Telemetry;
  /** Absent for a program. */
  readonly url: string | undefined;
}

export class Connection {
  readonly #client: Client;
  readonly #handle: TransportHandle;
  readonly #observing: Observing;
  #closing = false;

  private constructor(client: Client, handle: TransportHandle, observing: Observing) {
    this.#client = client;
    this.#handle = handle;
    this.#observing = observing;
  }

  /** @throws ConnectionFailure, OAuthRequired, or AccountRequired */
  static async open(target: Target, options: ConnectOptions): Promise<Connection> {
    const handle = transportTo(target, options);
    const { transport } = handle;
    const url = 'http' in target ? target.http.url : undefined;
    const connection = new Connection(clientFor(options), handle, { telemetry: options.telemetry, url });
    const prior = options.legacy ? { prior: { kind: 'legacy' as const } } : {};
    const giveUp = () => void transport.close();
    options.signal.addEventListener('abort', giveUp, { once: true });
    connection.#client.onclose = () => {
      if (!connection.#closing) options.onLost(new ConnectionFailure('The connection ended.', handle));
    };
    try {
      await connection.#client.connect(transport, { timeout: CONNECT_MS, ...prior });
      return connection;
    } catch (error) {
      connection.#closing = true;
      await transport.close();
      const refusal = await handle.refusal(options.signal, error);
      handle.release();
      if (refusal) throw refusal;
      // Some programs of older revisions exit when they are asked for a newer one.
      if (endedByProbe(error) && !options.legacy && !options.signal.aborted && 'stdio' in target)
        return Connection.open(target, { ...options, legacy: true });
      throw new ConnectionFailure(error, handle);
    } finally {
      options.signal.removeEventListener('abort', giveUp);
    }
  }

  get isLegacy(): boolean {
    return this.#client.getProtocolEra() === 'legacy';
  }

  get headerArguments(): boolean {
    return !this.isLegacy && this.#observing.url !== undefined;
  }

  get protocolVersion(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }

  get server(): { readonly name: string; readonly version: string } | undefined {
    return this.#client.getServerVersion();
  }

  get offers(): ServerCapabilities {
    return this.#client.getServerCapabilities() ?? {};
  }

  /** One page of a list, with its items unchanged. */
  async page({ method, member }: List, { cursor, signal, timeoutMs }: PageRequest): Promise<RawPage> {
    const request = { method, params: cursor === undefined ? {} : { cursor } };
    const schema = z.looseObject({ [member]: z.array(z.unknown()), nextCursor: z.string().optional() });
    const page = await this.#client.request(request, schema, { signal, timeout: timeoutMs });
    // The schema says so, by a name that the compiler does not know.
    return { items: page[member] as unknown[], nextCursor: page.nextCursor as string | undefined };
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

  /** Sends a request, measured and, where there is a span around it, traced. */
  #observe<Result extends object>(
    method: ObservedRequest['method'],
    target: string | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { telemetry, url } = this.#observing;
    const asked = { method, target, url, protocolVersion: this.protocolVersion };
    const isError = (result: Result) => ('isError' in result && result.isError === true ? 'tool_error' : undefined);
    return observed(telemetry.measures.upstreamSeconds, [method], () => spanOf(asked), work, isError);
  }

  /** The trace of the call, what its caller can ask a person, and the answers. Questions of older revisions are not passed on. */
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
    const { transport } = this.#handle;
    if (transport instanceof StreamableHTTPClientTransport) {
      const late = new Promise((resolve) => setTimeout(resolve, 1000).unref());
      await Promise.race([transport.terminateSession().catch(() => {}), late]);
    }
    await this.#client.close();
    await transport.close();
    this.#handle.release();
  }
}

function endedByProbe(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}

const PROBE_MS = 20_000;

/** A client of the SDK that asks for the newest revision first. */
function clientFor({ client, onToolsChanged }: Pick<ConnectOptions, 'client' | 'onToolsChanged'>): Client {
  return new Client(client, {
    capabilities: {},
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: PROBE_MS } },
    inputRequired: { autoFulfill: false },
    // Answers are passed on unchecked, because compiling a schema from an untrusted server is too risky.
    jsonSchemaValidator: { getValidator: takeAnything },
    listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } },
  });
}

function takeAnything<T>(): JsonSchemaValidator<T> {
  // Nothing relies on the type of the data.
  return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
}

interface ObservedRequest {
  readonly method: 'tools/call' | 'resources/read' | 'prompts/get';
  /** The tool or prompt, by its name there. */
  readonly target: string | undefined;
  readonly protocolVersion: string | undefined;
  /** Absent for a program. */
  readonly url: string | undefined;
}

function spanOf({ method, target, protocolVersion, url }: ObservedRequest) {
  const { hostname, port, protocol } = url === undefined ? NO_ADDRESS : new URL(url);
  const usual = protocol === 'https:' ? 443 : 80;
  return {
    name: target === undefined ? method : `${method} ${target}`,
    kind: 'client' as const,
    attributes: {
      'mcp.method.name': method,
      'mcp.protocol.version': protocolVersion,
      'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
      'gen_ai.tool.name': method === 'tools/call' ? target : undefined,
      'gen_ai.prompt.name': method === 'prompts/get' ? target : undefined,
      'network.transport': url === undefined ? 'pipe' : 'tcp',
      'server.address': hostname,
      'server.port': hostname === undefined ? undefined : Number(port || usual),
    },
  };
}

const NO_ADDRESS = { hostname: undefined, port: undefined, protocol: undefined };
