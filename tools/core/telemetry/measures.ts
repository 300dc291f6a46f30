import { Meter } from './meter.ts';

/** Bounds in seconds of what usually takes less than a millisecond: those of the conventions, and finer ones below them. */
const CALL_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const HTTP_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const STORE_BOUNDS = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
const MODEL_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const AGENT_BOUNDS = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
const FLOW_BOUNDS = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200];
const TOKEN_BOUNDS = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/** What this process measures while it works. */
export class Measures {
  readonly meter = new Meter();

  readonly calls = this.meter.counter({
    name: 'agent_admin.calls',
    unit: '{call}',
    help: 'Tool calls, refused ones included, by tool, door and error.',
    labels: ['gen_ai.tool.name', 'agent_admin.door', 'error.type'],
  });

  readonly uncaught = this.meter.counter({
    name: 'agent_admin.uncaught_errors',
    unit: '{error}',
    help: 'Errors that no code expected. The process went on.',
    labels: ['error.type'],
  });

  readonly toolSeconds = this.#seconds(
    'gen_ai.execute_tool.duration',
    CALL_BOUNDS,
    ['gen_ai.tool.name', 'error.type'],
    'Time of tool calls, from the check of rights to the answer.',
  );

  readonly httpSeconds = this.#seconds(
    'http.server.request.duration',
    HTTP_BOUNDS,
    ['http.request.method', 'http.route', 'http.response.status_code'],
    'Time of HTTP requests at endpoints, from the first header to the end of the answer.',
  );

  readonly messageSeconds = this.#seconds(
    'mcp.server.operation.duration',
    CALL_BOUNDS,
    ['mcp.method.name', 'error.type'],
    'Time of MCP messages of clients.',
  );

  readonly upstreamSeconds = this.#seconds(
    'mcp.client.operation.duration',
    CALL_BOUNDS,
    ['mcp.method.name', 'error.type'],
    'Time of calls to the MCP servers of integrations.',
  );

  readonly modelSeconds = this.#seconds(
    'gen_ai.client.operation.duration',
    MODEL_BOUNDS,
    ['gen_ai.operation.name', 'gen_ai.provider.name', 'error.type'],
    'Time of questions to models, to the end of the answer.',
  );

  readonly firstChunkSeconds = this.#seconds(
    'gen_ai.client.operation.time_to_first_chunk',
    MODEL_BOUNDS,
    ['gen_ai.operation.name', 'gen_ai.provider.name'],
    'Time until the first piece of an answer of a model.',
  );

  readonly modelTokens = this.meter.histogram(
    {
      name: 'gen_ai.client.token.usage',
      unit: '{token}',
      help: 'Tokens of questions to models and of their answers, as the providers count them.',
      labels: ['gen_ai.operation.name', 'gen_ai.provider.name', 'gen_ai.token.type'],
    },
    TOKEN_BOUNDS,
  );

  readonly agentSeconds = this.#seconds(
    'gen_ai.invoke_agent.duration',
    AGENT_BOUNDS,
    ['error.type'],
    'Time of runs of agents.',
  );

  readonly flowSeconds = this.#seconds(
    'gen_ai.workflow.duration',
    FLOW_BOUNDS,
    ['error.type'],
    'Time of runs of flows.',
  );

  readonly storeSeconds = this.#seconds(
    'db.client.operation.duration',
    STORE_BOUNDS,
    ['db.system.name', 'db.operation.name', 'error.type'],
    'Time of transactions, searches and questions about imported rows, waiting included.',
  );

  readonly jobSeconds = this.#seconds(
    'agent_admin.job.duration',
    CALL_BOUNDS,
    ['agent_admin.job.name', 'error.type'],
    'Time of jobs in the background.',
  );

  #seconds(name: string, bounds: readonly number[], labels: readonly string[], help: string) {
    return this.meter.histogram({ name, unit: 's', help, labels }, bounds);
  }
}
