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

  readonly toolSeconds = this.meter.histogram(
    {
      name: 'gen_ai.execute_tool.duration',
      unit: 's',
      help: 'Time of tool calls, from the check of rights to the answer.',
      labels: ['gen_ai.tool.name', 'error.type'],
    },
    CALL_BOUNDS,
  );

  readonly httpSeconds = this.meter.histogram(
    {
      name: 'http.server.request.duration',
      unit: 's',
      help: 'Time of HTTP requests at endpoints, from the first header to the end of the answer.',
      labels: ['http.request.method', 'http.route', 'http.response.status_code'],
    },
    HTTP_BOUNDS,
  );

  readonly messageSeconds = this.meter.histogram(
    {
      name: 'mcp.server.operation.duration',
      unit: 's',
      help: 'Time of MCP messages of clients.',
      labels: ['mcp.method.name', 'error.type'],
    },
    CALL_BOUNDS,
  );

  readonly upstreamSeconds = this.meter.histogram(
    {
      name: 'mcp.client.operation.duration',
      unit: 's',
      help: 'Time of calls to the MCP servers of integrations.',
      labels: ['mcp.method.name', 'error.type'],
    },
    CALL_BOUNDS,
  );

  readonly modelSeconds = this.meter.histogram(
    {
      name: 'gen_ai.client.operation.duration',
      unit: 's',
      help: 'Time of questions to models, to the end of the answer.',
      labels: ['gen_ai.operation.name', 'gen_ai.provider.name', 'error.type'],
    },
    MODEL_BOUNDS,
  );

  readonly firstChunkSeconds = this.meter.histogram(
    {
      name: 'gen_ai.client.operation.time_to_first_chunk',
      unit: 's',
      help: 'Time until the first piece of an answer of a model.',
      labels: ['gen_ai.operation.name', 'gen_ai.provider.name'],
    },
    MODEL_BOUNDS,
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

  readonly agentSeconds = this.meter.histogram(
    { name: 'gen_ai.invoke_agent.duration', unit: 's', help: 'Time of runs of agents.', labels: ['error.type'] },
    AGENT_BOUNDS,
  );

  readonly flowSeconds = this.meter.histogram(
    { name: 'gen_ai.workflow.duration', unit: 's', help: 'Time of runs of flows.', labels: ['error.type'] },
    FLOW_BOUNDS,
  );

  readonly storeSeconds = this.meter.histogram(
    {
      name: 'db.client.operation.duration',
      unit: 's',
      help: 'Time of transactions, searches and questions about imported rows, waiting included.',
      labels: ['db.system.name', 'db.operation.name', 'error.type'],
    },
    STORE_BOUNDS,
  );

  readonly jobSeconds = this.meter.histogram(
    {
      name: 'agent_admin.job.duration',
      unit: 's',
      help: 'Time of jobs in the background.',
      labels: ['agent_admin.job.name', 'error.type'],
    },
    CALL_BOUNDS,
  );
}
