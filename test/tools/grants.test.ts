import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { formatGrant, type Grant, grantAllows, grantCovers, grantOps, parseGrant } from '../../tools/access/grants.ts';
import { grantRights } from '../../tools/access/rights.ts';

const resourceAndOp = fc
  .constantFrom(...Object.keys(grantOps))
  .chain((resource) => fc.tuple(fc.constant(resource), fc.constantFrom('*', ...(grantOps[resource] ?? []))));
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@/-]{0,12}$/);
const grantText = fc.oneof(
  fc.constant('*'),
  resourceAndOp.map(([resource]) => resource),
  resourceAndOp.map(([resource, op]) => `${resource}:${op}`),
  fc.tuple(resourceAndOp, fc.oneof(id, fc.constant('*'))).map(([[resource, op], own]) => `${resource}:${op}:${own}`),
);
const need = fc
  .tuple(resourceAndOp, fc.option(id))
  .map(([[resource, op], own]) => ({ resource, op, ...(own !== null && { ids: [own] }) }));

function parsed(text: string): Grant {
  const result = parseGrant(text);
  assert.ok(result.ok, `${text} parses`);
  return result.grant;
}

describe('grant grammar', () => {
  const refused: Record<string, RegExp> = {
    '': /may not be empty/,
    'agent:': /Segment 2 of the grant is empty/,
    ':read': /Segment 1 of the grant is empty/,
    'agent::x': /Segment 2 of the grant is empty/,
    'agent:read ': /no white space/,
    'agent:\tread': /no white space/,
    'a:b:c:d': /at most 3 segments, this one has 4/,
    'agents:read': /"agents" is no resource of a grant. Allowed: \*, agent/,
    'agent:reed': /"reed" is no operation of agent. Allowed: \*, read, write, delete, invoke, provision/,
    '*:fly': /"fly" is no operation of any resource/,
    'agent:read:a%': /percent-encoding/,
    'agent:read:a%zz': /percent-encoding/,
    'agent:read:.x': /Segment 3/,
    'agent:read:ä': /Segment 3/,
    'agent:**': /Segment 2/,
  };
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${JSON.stringify(text)} and says why`, () => {
      const result = parseGrant(text);
      assert.equal(result.ok, false);
      assert.match(result.ok ? '' : result.message, message);
    });
  }

  it('takes what the specification shows', () => {
    for (const text of [
      'tool:*',
      'agent:invoke:my-agent',
      'memory:read',
      '*',
      'tool:call:web/search',
      'agent:read:My%20Agent',
    ]) {
      parsed(text);
    }
  });

  it('prints what it parsed, and parses that to the same grant', () => {
    fc.assert(fc.property(grantText, (text) => assert.deepEqual(parsed(formatGrant(parsed(text))), parsed(text))));
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => typeof parseGrant(text).ok === 'boolean'));
  });
});

describe('grant coverage', () => {
  it('a grant covers itself, and * covers every grant', () => {
    fc.assert(
      fc.property(
        grantText,
        (text) => grantCovers(parsed(text), parsed(text)) && grantCovers(parsed('*'), parsed(text)),
      ),
    );
  });

  it('what a covered grant allows, the covering one allows', () => {
    fc.assert(
      fc.property(grantText, grantText, need, (wide, narrow, asked) => {
        if (grantCovers(parsed(wide), parsed(narrow)) && grantAllows(parsed(narrow), asked)) {
          assert.equal(grantAllows(parsed(wide), asked), true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('write does not imply read', () => {
    assert.equal(grantAllows(parsed('agent:write'), { resource: 'agent', op: 'read' }), false);
  });
});

describe('rights by grants', () => {
  const rightsOf = (...texts: string[]) => grantRights(texts.map(parsed));

  it('an id-limited grant allows that id, narrowed lists, and never create', () => {
    const rights = rightsOf('agent:read:agt_1', 'agent:write:agt_1');
    const read = { scope: 'agents:read', needs: [{ resource: 'agent', op: 'read', ids: ['agt_1'] }] };
    assert.equal(rights.allows(read), true);
    assert.equal(rights.allows({ ...read, needs: [{ resource: 'agent', op: 'read', ids: ['agt_2'] }] }), false);
    assert.equal(rights.allows({ scope: '', narrows: true, needs: [{ resource: 'agent', op: 'read' }] }), true);
    assert.equal(rights.mayTry({ scope: '', needs: [{ resource: 'agent', op: 'write' }] }), false);
    assert.deepEqual(rights.limitedTo('agent', 'read'), ['agt_1']);
  });

  it('matches an agent by any of its names, percent-decoded', () => {
    const rights = rightsOf('agent:invoke:My%20Agent');
    const needs = [{ resource: 'agent', op: 'invoke', ids: ['agt_1', 'My Agent'] }];
    assert.equal(rights.allows({ scope: 'chat:write', needs }), true);
  });

  it('are full only with a grant of everything', () => {
    fc.assert(
      fc.property(fc.array(grantText, { minLength: 1 }), (texts) => {
        const full = texts.some((text) => /^\*(:\*){0,2}$/.test(text));
        assert.equal(rightsOf(...texts).isAdmin, full);
      }),
    );
  });

  it('may try whatever they allow', () => {
    fc.assert(
      fc.property(fc.array(grantText), need, fc.boolean(), (texts, asked, narrows) => {
        const requirement = { scope: '', needs: [asked], narrows };
        if (rightsOf(...texts).allows(requirement)) assert.equal(rightsOf(...texts).mayTry(requirement), true);
      }),
      { numRuns: 2000 },
    );
  });
});
