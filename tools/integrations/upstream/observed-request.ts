import { observed, type Telemetry } from '../../core/telemetry/telemetry.ts';

export type ObservedMethod = 'tools/call' | 'resources/read' | 'prompts/get';

interface ObservedRequestInput {
  readonly method: ObservedMethod;
  /** The tool or prompt, by its name there. */
  readonly target?: string | undefined;
  readonly protocolVersion: string | undefined;
  /** Absent: a program, asked over its standard input. */
  readonly url?: string | undefined;
}

/** Sends a request to another server, measured and, where there is a span around it, traced. */
export function observedRequest<Result extends object>(
  { measures }: Telemetry,
  asked: ObservedRequestInput,
  work: () => Promise<Result>,
): Promise<Result> {
  const isError = (result: Result) => ('isError' in result && result.isError === true ? 'tool_error' : undefined);
  return observed(measures.upstreamSeconds, [asked.method], () => spanOf(asked), work, isError);
}

function spanOf({ method, target, protocolVersion, url }: ObservedRequestInput) {
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
