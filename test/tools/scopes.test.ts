import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { scopesSatisfy } from '../../tools/core/access/scopes.ts';
import { fc } from '../support/property.ts';

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
