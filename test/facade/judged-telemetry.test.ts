import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { judgesLack, placeOf } from '../support/judges.ts';
import { onLoopback } from '../support/loopback.ts';
import { startTestServer } from '../support/server.ts';

const skip = judgesLack('@opentelemetry/otlp-transformer') ?? false;

// biome-ignore lint/suspicious/noExplicitAny: generated code, without types
type Definitions = any;

/** Requests of exporters, each with the message of OpenTelemetry's definitions that its path takes. */
const MESSAGES: Readonly<Record<string, string>> = {
  '/v1/traces': 'trace.v1.ExportTraceServiceRequest',
  '/v1/metrics': 'metrics.v1.ExportMetricsServiceRequest',
};

describe("what is sent, read with OpenTelemetry's own protobuf definitions", { skip }, () => {
  const requests: { readonly path: string; readonly body: Buffer }[] = [];
  let definitions: Definitions;
  before(async () => {
    const generated = join(placeOf('@opentelemetry/otlp-transformer'), 'build/src/generated/root.js');
    definitions = createRequire(import.meta.url)(generated).opentelemetry.proto.collector;
    const collector = createServer(async (request, response) => {
      requests.push({ path: request.url ?? '', body: await buffer(request) });
      response.writeHead(200).end();
    });
    const { url } = await onLoopback(collector);
    const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
    await mustCall(server, server.adminKey, 'create_skill', { name: 'greet', instructions: 'Say hello.' });
    await server.stop(); // sends what is left
  });

  for (const [path, message] of Object.entries(MESSAGES)) {
    it(`${path} is complete, with no field that they do not have`, () => {
      const [service = '', version = '', name = ''] = message.split('.');
      const type = definitions[service][version][name];
      const bodies = requests.filter((request) => request.path === path).map(({ body }) => body);
      assert.ok(bodies.length > 0);
      for (const body of bodies) {
        const decoded = type.decode(body);
        assert.equal(type.verify(decoded), null);
        // Unknown fields are left out by reading and writing again.
        assert.equal(type.encode(decoded).finish().length, body.length);
      }
    });
  }

  it('names the call in a span, and counts it', () => {
    const text = (path: string, type: Definitions) =>
      requests
        .filter((request) => request.path === path)
        .map(({ body }) => JSON.stringify(type.toObject(type.decode(body), { longs: String, bytes: String })))
        .join();
    assert.match(text('/v1/traces', definitions.trace.v1.ExportTraceServiceRequest), /"name":"[^"]*create_skill"/);
    assert.match(text('/v1/metrics', definitions.metrics.v1.ExportMetricsServiceRequest), /"unit":"s"/);
  });
});
