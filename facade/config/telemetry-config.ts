import { z } from 'zod';
import { namesUser } from '../../resources/fields.ts';

const url = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .refine((text) => !namesUser(text), 'must hold no user and password; use OTEL_EXPORTER_OTLP_HEADERS');
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const exporter = z.enum(['otlp', 'none']);
const protocol = z.literal('http/protobuf', {
  error: 'must be http/protobuf, which collectors take at their port 4318',
});

/** The standard variables of OpenTelemetry that this server reads itself. Its SDK reads those for headers, time limits, batches and limits. */
export const telemetryEnvironment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url
    .optional()
    .describe('OTLP collector that gets traces and metrics, e.g. http://localhost:4318. Setting it switches both on.'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional().describe('Whole address for traces, where it is another.'),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: url.optional().describe('Whole address for metrics, where it is another.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: protocol.default('http/protobuf').describe('How they are sent; there is no other way.'),
  OTEL_TRACES_EXPORTER: exporter.optional().describe('`otlp` switches traces on, `none` off.'),
  OTEL_METRICS_EXPORTER: exporter.optional().describe('`otlp` switches sending metrics on, `none` off.'),
  OTEL_SDK_DISABLED: z
    .string()
    .default('false')
    .transform((text) => text.toLowerCase() === 'true')
    .describe('`true` switches both off.'),
  OTEL_SERVICE_NAME: z.string().max(200).default('agent-admin').describe('Name under which both are sent.'),
  OTEL_TRACES_SAMPLER: z.enum(SAMPLERS).default('parentbased_always_on').describe('Which traces are recorded.'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number({ error: 'must be a number from 0 to 1' })
    .min(0)
    .max(1)
    .default(1)
    .describe('The share of traces that `traceidratio` and `parentbased_traceidratio` record.'),
  OTEL_PROPAGATORS: z
    .string()
    .default('tracecontext')
    .describe('`tracecontext` continues traces of callers and passes them on; without it (`none`) neither is done.'),
  OTEL_METRIC_EXPORT_INTERVAL: z.coerce
    .number({ error: 'must be a number of milliseconds of at least 1000' })
    .int()
    .min(1000)
    .default(60_000)
    .describe('How often metrics are sent, in milliseconds.'),
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: z
    .string()
    .default('false')
    .transform((text) => SHOWING.includes(text.toLowerCase()))
    .describe('`true` adds what was said to models, and arguments and answers of tools, to traces.'),
};

const SHOWING = ['true', 'span_only', 'span_and_event'];

type Variables = z.output<z.ZodObject<typeof telemetryEnvironment>>;

const USUAL = 'http://localhost:4318';

/** Where traces and metrics go, and which. Without an address they are not sent; metrics can be asked for all the same. */
export function telemetrySettings(given: Variables) {
  const base = given.OTEL_EXPORTER_OTLP_ENDPOINT;
  const urlOf = (kind: 'traces' | 'metrics', own: string | undefined, exporter: 'otlp' | 'none' | undefined) => {
    if (given.OTEL_SDK_DISABLED || exporter === 'none') return undefined;
    if (own !== undefined) return own;
    return base !== undefined || exporter === 'otlp' ? `${(base ?? USUAL).replace(/\/+$/, '')}/v1/${kind}` : undefined;
  };
  const propagators = given.OTEL_PROPAGATORS.split(',').map((name) => name.trim());
  return {
    tracesUrl: urlOf('traces', given.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, given.OTEL_TRACES_EXPORTER),
    metricsUrl: urlOf('metrics', given.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, given.OTEL_METRICS_EXPORTER),
    serviceName: given.OTEL_SERVICE_NAME,
    sampler: given.OTEL_TRACES_SAMPLER,
    sampleShare: given.OTEL_TRACES_SAMPLER_ARG,
    passesOn: propagators.includes('tracecontext'),
    metricsEveryMs: given.OTEL_METRIC_EXPORT_INTERVAL,
    showsContent: given.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT,
  };
}
export type TelemetrySettings = Readonly<ReturnType<typeof telemetrySettings>>;
