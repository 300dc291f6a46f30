import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { actingFor } from '../../tools/core/access/agent-principal.ts';
import { behind as behindOf } from '../../tools/core/access/ask-first.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { actingFlow } from '../../tools/flows/run-as.ts';
import { ApprovalWorld } from '../support/approval-world.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';

const world = await ApprovalWorld.open();
const { registry } = world;
const { catalog, now } = registry.registry.server;
const people = [await world.person('anna'), await world.person('bert'), await world.person('carl')] as const;

/** Something that can ask or decide, with the people that it has ever been about, as the test knows them. */
interface Actor {
  principal: Principal;
  readonly behind: Set<string>;
}

const ASKS = { askFirst: ['create_skill'] };
const at = fc.nat({ max: 30 });
const step = fc.oneof(
  fc.record({
    do: fc.constantFrom('key', 'capsule', 'agent', 'flow', 'begun flow', 'link', 'take-over'),
    by: at,
    what: at,
  }),
  fc.record({ do: fc.constantFrom('ask', 'decide'), by: at, what: at }),
);

function pick<T>(list: readonly T[], index: number): T | undefined {
  return list[index % list.length];
}

/** What the step makes of the actor. Undefined if that is refused. */
async function made(kind: string, by: Actor, what: number, other: Actor): Promise<Actor | undefined> {
  const { principal } = by;
  const behind = new Set(by.behind);
  if (kind === 'key') {
    const input = { name: 'k', scopes: principal.type === 'session' ? ['admin'] : ['write'], ...ASKS };
    const answer = await registry.call(principal, 'create_api_key', input);
    return 'output' in answer ? { principal: await world.as('api-key', String(answer.output.id)), behind } : undefined;
  }
  if (kind === 'capsule') {
    const input = { name: 'c', status: 'live', allowedTools: ['create_skill'], ...ASKS };
    const answer = await registry.call(principal, 'create_capsule', input);
    return 'output' in answer ? { principal: await world.as('capsule', String(answer.output.id)), behind } : undefined;
  }
  if (kind === 'agent') {
    const agent = { id: 'agt_one', name: 'one', tools: ['create_skill', 'decide_approval', 'get_approval'] };
    return { principal: { ...actingFor(principal, agent, catalog), ...ASKS }, behind };
  }
  if (kind === 'flow') {
    return { principal: { ...actingFlow({ id: 'flw_one', name: 'one' }, principal, { causes: [] }), ...ASKS }, behind };
  }
  if (kind === 'begun flow') {
    // A flow of the one, which the other has begun.
    for (const one of other.behind) behind.add(one);
    const askedBy = await behindOf(other.principal, world.store);
    const flow = actingFlow({ id: 'flw_two', name: 'two' }, principal, { causes: [], askedBy });
    return { principal: { ...flow, ...ASKS }, behind };
  }
  // A session of somebody, begun with the link that a key made.
  const person = pick(people, what);
  if (kind !== 'link' || principal.type !== 'api-key' || !person) return undefined;
  behind.add(person.ownerId);
  const found = await credentialStatus(
    { type: 'session', id: person.ownerId, name: 'x', endsWith: principal.id },
    world.store,
    {
      catalog,
      now: now(),
    },
  );
  return typeof found === 'string' ? undefined : { principal: found, behind };
}

describe('no sequence of making, taking over, asking and deciding', () => {
  it('lets anybody decide what they, or what acts for them, asked', async () => {
    let decided = 0;
    let refused = 0;
    let serial = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (steps) => {
        const actors: Actor[] = people.map((principal) => ({ principal, behind: new Set([principal.ownerId]) }));
        const asked: { readonly id: string; readonly by: Actor; readonly before: ReadonlySet<string> }[] = [];
        for (const each of steps) {
          const by = pick(actors, each.by);
          if (!by) continue;
          if (each.do === 'ask') {
            serial += 1;
            const asking = { ...by.principal, ...ASKS };
            const answer = await registry.call(asking, 'create_skill', { name: `p${serial}`, instructions: 'x' });
            const id = 'error' in answer ? answer.error.approvalId : undefined;
            if (id !== undefined) asked.push({ id, by, before: new Set(by.behind) });
          } else if (each.do === 'decide') {
            const about = pick(asked, each.what);
            if (!about) continue;
            const answer = await registry.call(by.principal, 'decide_approval', { id: about.id, decision: 'approve' });
            const shared = [...by.behind].filter((one) => about.before.has(one) || about.by.behind.has(one));
            if ('error' in answer) refused += 1;
            else decided += 1;
            assert.ok(
              'error' in answer || (shared.length === 0 && ['session', 'api-key'].includes(by.principal.type)),
              `${by.principal.type} ${by.principal.id} of ${[...by.behind]} decided what ${about.by.principal.type} of ${[...about.before]} asked`,
            );
          } else if (each.do === 'take-over') {
            const { type, id } = pick(actors, each.what)?.principal ?? by.principal;
            const mine = actors.filter(({ principal }) => principal.type === type && principal.id === id);
            if (type !== 'api-key' && type !== 'capsule') continue;
            const record = await (type === 'capsule' ? world.store.capsules : world.store.apiKeys).get(id);
            const kind = type === 'capsule' ? 'capsule' : 'key';
            const answer = await registry.call(by.principal, 'take_over', {
              type: kind,
              id,
              expectedRevision: record?.revision,
            });
            if ('error' in answer) continue;
            const isMadeWith = ({ principal }: Actor) =>
              principal.madeWith?.id === id || principal.budgetSubjects?.includes(`key ${id}`);
            for (const actor of actors.filter(isMadeWith))
              if (!mine.includes(actor)) actors.splice(actors.indexOf(actor), 1);
            for (const actor of mine) {
              // Its secret was replaced, so who had it before is no longer behind it.
              actor.behind.clear();
              for (const one of by.behind) actor.behind.add(one);
              actor.principal = await world.as(type, id);
            }
          } else {
            const actor = await made(each.do, by, each.what, pick(actors, each.what) ?? by);
            if (actor) actors.push(actor);
          }
        }
      }),
      { numRuns: rounds(60, 1500) },
    );
    assert.ok(decided > 5 && refused > 5, `${decided} decided, ${refused} refused`);
  });
});
