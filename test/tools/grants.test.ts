import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { grantNames } from '../../tools/core/access/assignable.ts';
import {
  formatGrant,
  type Grant,
  grantAllows,
  grantCovers,
  parseGrant,
  unknownName,
} from '../../tools/core/access/grants.ts';
import { narrowestGrant } from '../../tools/core/access/requirement.ts';
import { grantRights } from '../../tools/core/access/rights.ts';
import { scopesSatisfy } from '../../tools/core/access/scopes.ts';
import { rounds } from '../support/full.ts';
import { anyCharacter, fc } from '../support/property.ts';

const names = grantNames(catalog);
const resourceAndOp = fc
  .constantFrom(...names.keys())
  .chain((resource) => fc.tuple(fc.constant(resource), fc.constantFrom('*', ...(names.get(resource) ?? []))));
const id = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._@/-]{0,12}$/);
/** Few, so that they meet. */
const guest = fc
  .tuple(fc.constantFrom('gh', 'gl', 'g%68', 'int_1'), fc.constantFrom('*', 'x', 'x/*', '_y', '%78'))
  .map((parts) => parts.join('/'));
const grantText = fc.oneof(
  fc.constant('*'),
  resourceAndOp.map(([resource]) => resource),
  resourceAndOp.map(([resource, op]) => `${resource}:${op}`),
  fc.tuple(resourceAndOp, fc.oneof(id, fc.constant('*'))).map(([[resource, op], own]) => `${resource}:${op}:${own}`),
  fc.tuple(fc.constantFrom('call', '*'), guest).map(([op, own]) => `tool:${op}:${own}`),
);
const called = fc
  .tuple(fc.constantFrom('gh', 'gl', 'int_1', 'g'), fc.constantFrom('x', '_y', '*', 'x/*'))
  .map((parts) => parts.join('/'));
const need = fc.oneof(
  fc
    .tuple(resourceAndOp, fc.option(id))
    .map(([[resource, op], own]) => ({ resource, op, ...(own !== null && { ids: [own] }) })),
  called.map((own) => ({ resource: 'tool', op: 'call', ids: [own] })),
);

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
    '-agent:read': /Segment 1 of the grant must be/,
    'agent:-read': /Segment 2 of the grant must be/,
    'agent:read:-x': /Segment 3 of the grant must be/,
    'agents:read': /"agents" is not a resource of a grant. Allowed: \*, agent/,
    'agent:reed': /"reed" is not an operation of agent. Allowed: \*, read, write, delete, invoke, provision/,
    '*:fly': /"fly" is not an operation of any resource/,
    'agent:read:a%': /percent-encoding/,
    'agent:read:a%zz': /percent-encoding/,
    'agent:read:.x': /Segment 3/,
    'agent:read:ä': /Segment 3/,
    'agent:**': /Segment 2/,
    'agent:read:gh/*': /Only grants of the resource tool may end in \/\*/,
    '*:call:gh/*': /Only grants of the resource tool/,
    'tool:call:/*': /Segment 3/,
    'tool:call:*/*': /Segment 3/,
    'tool:call:gh*': /Segment 3/,
    'tool:call:gh/*/x': /Segment 3/,
    'tool:call:gh/a*': /Segment 3/,
    'tool:call/*': /not an operation of tool/,
  };
  for (const [text, message] of Object.entries(refused)) {
    it(`refuses ${JSON.stringify(text)} and says why`, () => {
      const result = parseGrant(text);
      assert.match((result.ok ? unknownName(result.grant, names) : result.message) ?? '', message);
    });
  }

  it('takes what the specification shows', () => {
    for (const text of [
      'tool:*',
      'agent:invoke:my-agent',
      'memory:read',
      '*',
      'tool:call:web/search',
      'tool:call:web/*',
      'agent:read:My%20Agent',
    ]) {
      parsed(text);
    }
  });

  it('prints what it parsed, and parses that to the same grant', () => {
    fc.assert(fc.property(grantText, (text) => assert.deepEqual(parsed(formatGrant(parsed(text))), parsed(text))));
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => typeof parseGrant(text).ok === 'boolean'));
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
      { numRuns: rounds(300, 2000) },
    );
  });

  it('is that of the sets of names they allow, for grants of integrations', () => {
    const worlds = [...Array(256).keys()].map((code) => String.fromCharCode(code));
    const names = ['gh', 'gl', 'int_1'].flatMap((prefix) => [
      `${prefix}/x`,
      `${prefix}/_y`,
      ...worlds.map((each) => `${prefix}/${each}`),
    ]);
    const allowed = (grant: Grant) =>
      names.filter((name) => grantAllows(grant, { resource: 'tool', op: 'call', ids: [name] }));
    fc.assert(
      fc.property(guest, guest, (wide, narrow) => {
        const [outer, inner] = [parsed(`tool:call:${wide}`), parsed(`tool:call:${narrow}`)];
        const reached = allowed(outer);
        if (grantCovers(outer, inner)) assert.ok(allowed(inner).every((name) => reached.includes(name)));
        else if (outer.id.endsWith('/*') && inner.id !== '*')
          assert.ok(!allowed(inner).every((name) => reached.includes(name)) || allowed(inner).length === 0);
      }),
      { numRuns: rounds(300, 2000) },
    );
  });

  it('of one integration is that of each of its tools and of nothing else', () => {
    const whole = parsed('tool:call:gh/*');
    for (const within of ['tool:call:gh/x', 'tool:call:gh/*', 'tool:call:g%68/x', 'tool:call:gh%2Fx']) {
      assert.equal(grantCovers(whole, parsed(within)), true, within);
      assert.equal(grantCovers(parsed(within), whole), within === 'tool:call:gh/*', within);
    }
    for (const beyond of [
      'tool:call:gl/x',
      'tool:call:gh',
      'tool:call',
      'tool:read:gh/x',
      'tool:*:gh/x',
      'tool:call:ghx/x',
      '*',
    ]) {
      assert.equal(grantCovers(whole, parsed(beyond)), false, beyond);
    }
  });

  it('write does not imply read', () => {
    assert.equal(grantAllows(parsed('agent:write'), { resource: 'agent', op: 'read' }), false);
  });
});

describe('the grant that a refusal names', () => {
  it('can be given, and allows the call, whatever the id', () => {
    const ids = fc.oneof(
      fc.string({ minLength: 1, maxLength: 12 }),
      fc.constantFrom('*', 'a/*', '-x', '.y', "it's", '(c)!~'),
    );
    fc.assert(
      fc.property(ids, (value) => {
        if (value.startsWith('{')) return;
        const text = narrowestGrant({ scope: 'users:read', grant: 'user:read:{id}' }, { id: value });
        const composed = value.normalize('NFC');
        assert.equal(grantAllows(parsed(text), { resource: 'user', op: 'read', ids: [composed] }), true, text);
        assert.equal(grantAllows(parsed(text), { resource: 'user', op: 'read', ids: [`${composed}x`] }), false, text);
      }),
    );
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
    assert.deepEqual(rights.limitedTo('agent', 'read'), { names: ['agt_1'] });
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
      { numRuns: rounds(300, 2000) },
    );
  });
});

const name = fc.constantFrom('agents', 'skills', 'chat', 'memory', 'threads');
const fine = fc.tuple(name, fc.constantFrom('read', 'write')).map(([group, op]) => `${group}:${op}`);
const requirement = fc.oneof(fine, fc.constant('admin'));
const held = fc.oneof(fine, fc.constantFrom('read', 'write', 'admin', '*'));

describe('scope rules', () => {
  it('admin and * satisfy every requirement', () => {
    fc.assert(
      fc.property(requirement, (required) => scopesSatisfy(['admin'], required) && scopesSatisfy(['*'], required)),
    );
  });

  it('write satisfies every :write and :read, read every :read and no :write', () => {
    fc.assert(
      fc.property(fine, (required) => {
        assert.equal(scopesSatisfy(['write'], required), true);
        assert.equal(scopesSatisfy(['read'], required), required.endsWith(':read'));
      }),
    );
  });

  it('admin as a requirement is satisfied by admin and * alone', () => {
    fc.assert(
      fc.property(fc.array(held), (scopes) => {
        assert.equal(scopesSatisfy(scopes, 'admin'), scopes.includes('admin') || scopes.includes('*'));
      }),
    );
  });

  it('a finer scope satisfies itself and nothing else', () => {
    fc.assert(fc.property(fine, requirement, (own, required) => scopesSatisfy([own], required) === (own === required)));
  });

  it('more scopes never satisfy less', () => {
    fc.assert(
      fc.property(fc.array(held), fc.array(held), requirement, (some, more, required) => {
        if (scopesSatisfy(some, required)) assert.equal(scopesSatisfy([...some, ...more], required), true);
      }),
    );
  });

  it('no scope satisfies nothing', () => {
    fc.assert(fc.property(requirement, (required) => !scopesSatisfy([], required)));
  });
});
