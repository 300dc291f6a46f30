import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import type { Access } from '../../tools/core/access/guarded-tool.ts';
import { GUEST_SCOPES, scopesSatisfy } from '../../tools/core/access/scopes.ts';

/** Tools that change something by a right to read, or by none, with the reason: each concerns what is the caller's own alone. */
const OWN: Readonly<Record<string, string>> = {
  create_session: 'its input shows who signs in, and the session is theirs',
  confirm_session: 'it confirms the session with which it is called',
  delete_session: 'it ends the session with which it is called',
  authorize_app: 'who is signed in lets an app act for them, within their rights',
  connect_integration: 'its link opens for the caller alone, signed in, and changes nothing before',
  call_tool: 'it does nothing but call another tool, which asks for its own right',
};

const changing = catalog.entries.map(({ tool }) => tool).filter(({ annotations }) => !annotations.readOnlyHint);

/** Whether who may only read has the right, by scope or by grant. */
function isReading({ scope, grant }: Access): boolean {
  const grants = [grant].flat().map((text) => text.split(':')[1]);
  return scope === '' || scopesSatisfy(['read'], scope) || grants.every((op) => op === 'read');
}

describe('a tool that changes something', () => {
  for (const { name, access } of changing) {
    it(`asks for a right to write: ${name}`, () => {
      const choices: readonly Access[] = 'among' in access ? access.among : [access];
      assert.equal(
        choices.some(isReading),
        Object.hasOwn(OWN, name),
        'a right to read, unless it is listed with its reason',
      );
    });
  }

  it('is in the list only while there is such a tool', () => {
    const names = changing.map(({ name }) => name);
    assert.deepEqual(
      Object.keys(OWN).filter((name) => !names.includes(name)),
      [],
    );
  });

  it('asks for a right to write where it belongs to an integration', () => {
    assert.ok(!scopesSatisfy(['read'], GUEST_SCOPES.writes));
  });
});
