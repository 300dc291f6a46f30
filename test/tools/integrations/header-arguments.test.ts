import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { headerProblem } from '../../../tools/integrations/upstream/header-arguments.ts';

const named = (name: unknown = 'Region', type: unknown = 'string') => ({ type, 'x-mcp-header': name });
const argumentsOf = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

describe('a tool whose arguments travel in headers too', () => {
  const allowed: Record<string, object> = {
    'one argument of each type': argumentsOf({ a: named('A'), b: named('B', 'integer'), c: named('C', 'boolean') }),
    'a nested argument': argumentsOf({ place: argumentsOf({ region: named() }) }),
    'an argument with the name of the keyword': argumentsOf({ 'x-mcp-header': { type: 'string' } }),
    'a value with the name of the keyword': argumentsOf({ a: { type: 'object', default: named(), enum: [named()] } }),
  };
  for (const [what, schema] of Object.entries(allowed)) {
    it(`is offered with ${what}`, () => assert.equal(headerProblem(schema), undefined));
  }

  const refused: Record<string, object> = {
    'no name': argumentsOf({ a: named('') }),
    'a name that is not text': argumentsOf({ a: named(5) }),
    'a name with a line break': argumentsOf({ a: named('Region\r\nX: y') }),
    'an argument that is a number': argumentsOf({ a: named('A', 'number') }),
    'an argument of several types': argumentsOf({ a: named('A', ['string', 'null']) }),
    'one name in two forms': argumentsOf({ a: named('Region'), b: argumentsOf({ c: named('REGION') }) }),
    'the whole input': argumentsOf({}, named()),
    'elements of a list': argumentsOf({ a: { type: 'array', items: named() } }),
    'an argument inside an element': argumentsOf({ a: { type: 'array', items: argumentsOf({ b: named() }) } }),
    'a branch': argumentsOf({}, { anyOf: [argumentsOf({ a: named() })] }),
    'a definition': argumentsOf({ a: { $ref: '#/$defs/a' } }, { $defs: { a: named() } }),
  };
  for (const [what, schema] of Object.entries(refused)) {
    it(`is not offered with a header for ${what}`, () => assert.match(headerProblem(schema) ?? '', /x-mcp-header/));
  }
});
