import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reencryptSecrets } from '../../facade/launch/reencrypt-secrets.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { SECRETS_KEY } from '../support/registry.ts';

const SECRET = 'the secret of a sender';
const MASK = '•••';

const world = await FlowWorld.open();
const scopes = ['flows:write', 'flows:read', 'agents:read', 'skills:read'];
const [owner, other] = [await world.key(scopes), await world.key(scopes)];

const steps = (tool = 'list_agents') => [{ id: 'a', tool, arguments: {} }];
const trigger = (secret = SECRET, scheme = 'github') => ({ kind: 'webhook', signature: { scheme, secret } });
const made = (members: object = {}) => world.flow({ trigger: trigger(), steps: steps(), ...members }, owner);
const keptOf = (id: string) => world.store.flowSecrets.get(id);
const update = (input: object, principal = owner) => world.must('update_flow', input, principal);

async function refused(tool: string, input: object, principal: Principal): Promise<string> {
  const answer = await world.call(tool, input, principal);
  if ('error' in answer) return `${answer.error.code} ${answer.error.error}`;
  return assert.fail(JSON.stringify(answer.output));
}

async function versionsOf(entityId: string) {
  return (await world.must('list_versions', { entityType: 'flow', entityId })).data;
}

const restored = (entityId: string, versionId: string, principal: Principal) =>
  world.call('restore_version', { entityType: 'flow', entityId, versionId }, principal);

describe('the secret of a webhook', () => {
  it('is shown by nothing, and sealed where it is kept', async () => {
    const { id } = await made();
    await update({ id, trigger: trigger('another secret of it'), description: 'x' });
    const versions = await versionsOf(id);
    const said = [
      await world.must('get_flow', { id }),
      await world.must('list_flows', {}),
      versions,
      await world.must('diff_version', { entityType: 'flow', entityId: id, versionId: versions[0].id }),
      await world.must('list_audit_entries', { limit: 100 }),
      await world.must('search', { q: 'secret' }),
      await keptOf(id),
    ];
    const text = JSON.stringify(said);
    for (const secret of [SECRET, 'another secret']) assert.ok(!text.includes(secret), secret);
    assert.equal((await world.must('get_flow', { id })).trigger.signature.secret, MASK);
    assert.ok(JSON.stringify(said[4]).includes('[redacted]'));
  });

  it('is asked for in the form of its scheme, and never refused with what it was', async () => {
    for (const [scheme, secret] of [
      ['github', 'too short'],
      ['github', ' blanks around the secret '],
      ['slack', 'control \n characters in it'],
      ['stripe', 'ünïcödé in the secret'],
      ['standard', 'whsec_no base64 at all, see'],
      ['standard', 'whsec_c2hvcnQ='],
      ['github', MASK],
    ] as const) {
      const said = await refused('create_flow', { name: 'x', trigger: trigger(secret, scheme), steps: steps() }, owner);
      assert.match(said, /^invalid_input .*trigger\.signature\.secret/, said);
      if (secret !== MASK) assert.ok(!said.includes(secret), said);
    }
    for (const secret of ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']) {
      await made({ trigger: trigger(secret, 'standard') });
    }
  });

  it('stays where it is written back as the mask, for its own scheme', async () => {
    const { id } = await made();
    const kept = await keptOf(id);
    await update({ id, name: 'renamed', trigger: trigger(MASK) });
    assert.deepEqual(await keptOf(id), kept);
    assert.match(await refused('update_flow', { id, trigger: trigger(MASK, 'slack') }, owner), /given for github/);
    const { givenAt } = (await update({ id, trigger: trigger('another secret of it', 'slack') })).trigger.signature;
    assert.deepEqual((await keptOf(id))?.givenAt, givenAt);
    await update({ id, trigger: { kind: 'webhook' } });
    assert.equal(await keptOf(id), undefined);
    assert.match(await refused('update_flow', { id, trigger: trigger(MASK) }, owner), /no stored value/);
  });

  it('is given again by whoever is not runAs and changes steps, agent or prompt', async () => {
    const { id } = await made();
    const { id: agentId } = await world.must('create_agent', { name: 'ada', displayName: 'Ada' });
    for (const change of [
      { steps: steps('list_skills') },
      { steps: steps('list_skills'), trigger: trigger(MASK) },
      { steps: null, agentId },
    ]) {
      const said = await refused('update_flow', { id, ...change }, 'agentId' in change ? world.admin : other);
      assert.match(said, /invalid_input trigger\.signature\.secret: .*give the secret/);
    }
    assert.deepEqual((await world.must('get_flow', { id })).steps[0].tool, 'list_agents');
    await update({ id, name: 'anybody may', enabled: false, overlap: 'allow' }, other);
    assert.equal((await world.must('get_flow', { id })).runAs.id, owner.id);
    const taken = await update({ id, steps: steps('list_skills'), trigger: trigger() }, other);
    assert.equal(taken.runAs.id, other.id);
    await update({ id, steps: steps() }, other);
    await update({ id, steps: steps('list_skills'), trigger: { kind: 'manual' } }, owner);
    assert.equal(await keptOf(id), undefined);
  });

  it('makes the runs those of whoever gives another one', async () => {
    const { id } = await made();
    const change = { id, trigger: trigger('another secret of it') };
    const weak = await world.key(['flows:write']);
    assert.match(await refused('update_flow', change, weak), /^forbidden/);
    assert.equal((await update(change, other)).runAs.id, other.id);
  });

  it('of today stays when an earlier state is restored', async () => {
    const { id } = await made();
    await update({ id, trigger: trigger('another secret of it'), steps: steps('list_skills') });
    const kept = await keptOf(id);
    const [, first] = await versionsOf(id);
    assert.ok('output' in (await restored(id, first.id, owner)));
    assert.deepEqual(await keptOf(id), kept);
    const flow = await world.must('get_flow', { id });
    assert.deepEqual([flow.steps[0].tool, flow.trigger.signature.givenAt], ['list_agents', kept?.givenAt]);
    await update({ id, trigger: { kind: 'manual' } });
    await restored(id, first.id, owner);
    assert.deepEqual((await world.must('get_flow', { id })).trigger, {
      kind: 'webhook',
      signature: { scheme: 'github' },
    });
  });

  it('is not had by restoring: what the flow does stays as it is, or the secret goes', async () => {
    const { id } = await made();
    await update({ id, steps: steps('list_skills') });
    const [last, first] = await versionsOf(id);
    const answer = await restored(id, first.id, other);
    assert.ok('error' in answer && answer.error.code === 'conflict' && /give the secret/.test(answer.error.error));
    assert.ok('output' in (await restored(id, last.id, other)));
    assert.equal((await world.must('get_flow', { id })).runAs.id, owner.id);
    const admin = world.admin;
    await world.must('delete_flow', { id }, admin);
    assert.ok(await keptOf(id));
    assert.ok('output' in (await restored(id, last.id, other)));
    const back = await world.must('get_flow', { id });
    assert.deepEqual([back.runAs.id, back.trigger.signature], [other.id, { scheme: 'github' }]);
    assert.equal(await keptOf(id), undefined);
    const own = await made();
    const [state] = await versionsOf(own.id);
    await world.must('delete_flow', { id: own.id }, admin);
    await restored(own.id, state.id, owner);
    assert.equal((await world.must('get_flow', { id: own.id })).trigger.signature.secret, MASK);
  });

  it('is kept by who takes the flow over, who is warned of that', async () => {
    const { id, revision } = await made();
    const taken = await world.must('take_over', { type: 'flow', id, expectedRevision: revision }, world.admin);
    assert.match(taken.warnings.join(), /secret of its webhook was kept/);
  });

  it('is sealed anew with the first key', async () => {
    const { id } = await made();
    const before = await keptOf(id);
    const next = createSecretBox([Buffer.alloc(32, 'next').toString('base64'), SECRETS_KEY], '');
    assert.ok((await reencryptSecrets(world.store, next)) > 0);
    const after = await keptOf(id);
    assert.notEqual(after?.sealed, before?.sealed);
    assert.equal(next.open(after?.sealed ?? '', `flow ${id} webhook`), SECRET);
    assert.equal(await reencryptSecrets(world.store, next), 0);
  });
});
