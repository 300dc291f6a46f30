import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readExamples } from '../../facade/openapi/operation.ts';
import { fileRoutes, routes } from '../../facade/routes.ts';
import { errorBody } from '../../resources/error.ts';
import { catalog } from '../../tools/catalog.ts';
import { documentOf, operationsOf } from './openapi-document.ts';

const examples = readExamples();
const document = documentOf();
const operations = operationsOf(document);

describe('OpenAPI examples', () => {
  for (const [name, { input, answer }] of Object.entries(examples)) {
    it(`of ${name} fit the schemas of the tool`, () => {
      const tool = catalog.get(name)?.tool ?? assert.fail('There is no such tool.');
      if (input) tool.input.parse(input);
      // An answer is shown as it is sent: nothing that the output schema would take away.
      if (answer) assert.deepEqual(tool.output.parse(answer), answer);
    });
  }

  it('are there for every answer and every body that is required', () => {
    const missing = [...operations].flatMap(([place, { operationId, requestBody, responses }]) => {
      const success = Object.entries(responses).find(([status]) => Number(status) < 300);
      const media = success?.[1].content?.['application/json'];
      const lacks = [
        ...(media && !('example' in media) ? ['answer'] : []),
        ...(requestBody?.required && !('example' in requestBody.content['application/json']) ? ['input'] : []),
      ];
      return lacks.map((part) => `${place} (${operationId}): ${part}`);
    });
    assert.deepEqual(missing, []);
  });

  it('name tools that have a route', () => {
    const routed = new Set([...routes, ...fileRoutes].map(({ tool }) => tool));
    assert.deepEqual(
      Object.keys(examples).filter((name) => !routed.has(name)),
      [],
    );
  });

  it('of errors fit the Error schema and carry the code', () => {
    for (const response of Object.values(document.components.responses ?? {})) {
      const { content } = response as {
        content: { 'application/json': { examples: Record<string, { value: object }> } };
      };
      for (const [code, { value }] of Object.entries(content['application/json'].examples)) {
        assert.equal(errorBody.strict().parse(value).code, code);
      }
    }
  });
});
