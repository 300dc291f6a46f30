import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Rank, TextQuery } from '../../store/port.ts';
import { rounds } from '../support/full.ts';
import { until } from '../support/until.ts';
import type { Stage } from './conformance-stage.ts';
import { agentRecord, memoryRecord, threadRecord } from './records.ts';

export function searchConformance(stage: Stage): void {
  describe('text search', () => {
    before(() => stage.fresh());

    const put = (id: string, content: string, over: object = {}) =>
      stage.write.memories.insert(memoryRecord(content, { id, ...over }));
    const find = async (text: string, query: object = {}) => {
      const { hits } = await stage.store.search('memories', { text, limit: 100, ...query });
      return hits.map(({ record }) => record.id);
    };

    it('finds words whatever their case, accents and ligatures', async () => {
      await put('mem_cafe', 'Trinkt Café crème in der Straße, œuvre');
      for (const text of ['cafe', 'CAFÉ', 'Creme', 'strasse', 'STRASSE', 'straße', 'oeuvre', 'cafe\u0301']) {
        assert.deepEqual(await find(text), ['mem_cafe'], text);
      }
      for (const text of ['tea', '', ' ', '!?', '*', '"', "'; drop table memories", '\u0000', '(', '😀']) {
        assert.deepEqual(await find(text), [], text);
      }
    });

    it('finds words of scripts without spaces', async () => {
      await put('mem_zh', '用户喜欢咖啡');
      await put('mem_ja', '彼女はコーヒーが好きです');
      await put('mem_th', 'ผู้ใช้ชอบกาแฟ');
      assert.deepEqual(await find('咖啡'), ['mem_zh']);
      assert.deepEqual(await find('コーヒー'), ['mem_ja']);
      assert.deepEqual(await find('กาแฟ'), ['mem_th']);
    });

    it('finds beginnings of words, and words that are spelled nearly so', async () => {
      await put('mem_prefix', 'internationalisation matters');
      assert.deepEqual(await find('internat'), ['mem_prefix']);
      assert.deepEqual(await find('internationalisatoin'), ['mem_prefix']);
      assert.deepEqual(await find('mattrs'), ['mem_prefix']);
      assert.deepEqual(await find('nationalisation'), []);
    });

    it('puts records with all words before those with some, and rare words before common ones', async () => {
      for (let at = 0; at < 20; at += 1) await put(`mem_common_${at}`, `weather report number ${at}`);
      await put('mem_some', 'the weather of yesterday');
      await put('mem_rare', 'a hurricane was seen');
      await put('mem_all', 'weather report: hurricane');
      const found = await find('weather hurricane');
      assert.deepEqual(found.slice(0, 2), ['mem_all', 'mem_rare']);
    });

    it('looks into declared members only', async () => {
      await put('mem_tagged', 'one', { tags: ['quixotic'], source: 'hidden-source' });
      assert.deepEqual(await find('quixotic'), ['mem_tagged']);
      assert.deepEqual(await find('hidden-source'), []);
      await stage.write.agents.insert(
        agentRecord('secretive', { identity: { phone: { enabled: true, number: '+15550199' } } }),
      );
      assert.equal((await stage.store.search('agents', { text: '15550199', limit: 10 })).count, 0);
    });

    it('puts the record first whose id or title is the text, with a score of 1', async () => {
      await stage.store.transaction(async (tx) => {
        for (let at = 0; at < 5; at += 1) {
          await tx.agents.insert(agentRecord(`Ada Byron ${at}`, { description: 'ada byron ada byron ada byron' }));
        }
        await tx.agents.insert(agentRecord('exact', { id: 'agt_exact', displayName: 'Ada Byron' }));
      });
      for (const text of ['ada byron', 'agt_exact', ' ÁDA BYRON ']) {
        const { hits } = await stage.store.search('agents', { text, limit: 3 });
        assert.deepEqual([hits[0]?.record.id, hits[0]?.score], ['agt_exact', 1], text);
        for (const { score } of hits.slice(1)) assert.ok(score > 0 && score < 1);
      }
      await put('mem_0000', 'an id whose words no record has');
      const { hits } = await stage.store.search('memories', { text: 'mem_0000', limit: 3 });
      assert.deepEqual(
        hits.map(({ record, score }) => [record.id, score]),
        [['mem_0000', 1]],
      );
    });

    it('puts a word of the title before one of the text, and one of a short text before one of a long', async () => {
      const filler = 'with many more words that say nothing of it '.repeat(12);
      const skills = {
        skl_2_title: { displayName: 'A guide to okapis', instructions: 'How to keep them' },
        skl_3_text: { displayName: 'How to keep them', instructions: 'A guide to okapis' },
        skl_4_long: { displayName: 'How to keep them', instructions: `A guide to okapis ${filler}` },
        skl_1_long_title: {
          displayName: `A guide to okapis ${filler.slice(0, 150)}`,
          instructions: 'How to keep them',
        },
      };
      // In both orders, so that neither age nor id decides.
      for (const mirror of ['', 'x']) {
        const made = Object.entries(skills).map(([id, members]) => ({
          id: `${mirror}${id}`,
          name: `${mirror}${id}`,
          ...members,
        }));
        for (const skill of mirror ? made.reverse() : made) await stage.write.skills.insert(skill);
        const { hits } = await stage.store.search('skills', {
          text: 'okapis',
          where: { id: made.map(({ id }) => id) },
          limit: 10,
        });
        assert.deepEqual(
          hits.map(({ record }) => record.id.replace(/^x?skl_\d_/, '')),
          ['title', 'long_title', 'text', 'long'],
        );
      }
    });

    it('finds words that are spelled like one of records that are gone', async () => {
      await put('mem_light_1', 'lighthouse');
      await put('mem_light_2', 'lighthousf keeper');
      await stage.write.memories.delete('mem_light_1');
      assert.deepEqual(await find('lighthouse keeper'), ['mem_light_2']);
      assert.deepEqual(await find('lighthouse'), ['mem_light_2']);
    });

    it('follows changes and deletions', async () => {
      await put('mem_change', 'zebra');
      await stage.write.memories.update('mem_change', { content: 'giraffe' });
      assert.deepEqual([await find('zebra'), await find('giraffe')], [[], ['mem_change']]);
      await stage.write.memories.touch('mem_change', { pinned: true });
      const { hits } = await stage.store.search('memories', { text: 'giraffe', limit: 1 });
      assert.equal(hits[0]?.record.pinned, true);
      await stage.write.memories.delete('mem_change');
      assert.deepEqual(await find('giraffe'), []);
    });

    it('does not see what a transaction threw away', async () => {
      await put('mem_kept', 'walrus');
      const work = stage.store.transaction(async (tx) => {
        await tx.memories.update('mem_kept', { content: 'penguin' });
        await tx.memories.insert(memoryRecord('penguin'));
        throw new Error('no');
      });
      await assert.rejects(work);
      assert.deepEqual([await find('penguin'), await find('walrus')], [[], ['mem_kept']]);
    });

    it('filters before it counts and ranks', async () => {
      for (const [at, agentId] of ['agt_1', 'agt_2', 'agt_2', 'agt_3'].entries()) {
        await put(`mem_own_${at}`, 'lighthouse', { agentId, kind: at === 2 ? 'episode' : 'fact' });
      }
      const page = async (query: Partial<TextQuery<object>>) => {
        const { hits, count } = await stage.store.search('memories', { text: 'lighthouse', limit: 100, ...query });
        return [hits.map(({ record }) => record.id).sort(), count];
      };
      const where = { agentId: ['agt_1', 'agt_2'] };
      assert.deepEqual(await page({ where }), [['mem_own_0', 'mem_own_1', 'mem_own_2'], 3]);
      assert.deepEqual(await page({ where, any: [{ id: 'mem_own_3' }, { kind: 'episode' }] as object[] }), [
        ['mem_own_2'],
        1,
      ]);
      assert.deepEqual(await page({ any: [] }), [[], 0]);
      assert.deepEqual(await page({ where, limit: 1 }), [['mem_own_2'], 3]);
    });

    it('filters by the members of the record they belong to', async () => {
      await stage.store.transaction(async (tx) => {
        for (const key of ['a', 'b']) {
          await tx.threads.insert(threadRecord(`Thread ${key}`, { id: `thr_${key}`, accessKeys: [key, 'admin'] }));
          await tx.messages.insert({ id: `msg_${key}`, threadId: `thr_${key}`, role: 'user', content: 'lagoon' });
        }
      });
      const page = async (owner: object) => {
        const { hits, count } = await stage.store.search('messages', { text: 'lagoon', owner, limit: 10 });
        return [hits.map(({ record, owner }) => [record.id, Reflect.get(owner ?? {}, 'title')]), count];
      };
      assert.deepEqual(await page({ where: { accessKeys: ['a', 'x'] } }), [[['msg_a', 'Thread a']], 1]);
      assert.deepEqual(await page({ where: { accessKeys: 'x' } }), [[], 0]);
      assert.deepEqual(await page({ any: [{ id: 'thr_b' }] }), [[['msg_b', 'Thread b']], 1]);
      const change = { accessKeys: ['x'] };
      await stage.write.threads.touch('thr_a', change);
      assert.deepEqual(await page({ where: change }), [[['msg_a', 'Thread a']], 1]);
      await stage.write.threads.delete('thr_a');
      assert.deepEqual(await page({}), [[['msg_b', 'Thread b']], 1]);
    });

    it('walks all pages without gap or repetition, best first', async () => {
      for (let at = 0; at < 23; at += 1)
        await put(`mem_page_${at}`, `${'marmot '.repeat(1 + (at % 5))} ${'x '.repeat(at % 3)}`);
      const all = (await stage.store.search('memories', { text: 'marmot', limit: 100 })).hits;
      const walked: (typeof all)[number][] = [];
      let after: Rank | undefined;
      do {
        const page = await stage.store.search('memories', { text: 'marmot', limit: 4, after });
        assert.equal(page.count, 23);
        walked.push(...page.hits);
        // As a cursor carries it.
        after = page.next ? JSON.parse(JSON.stringify(page.next)) : undefined;
      } while (after);
      assert.deepEqual(walked, all);
      assert.equal(all.length, 23);
      for (const [at, hit] of all.slice(1).entries()) {
        const before = all[at];
        assert.ok(
          before && (before.score > hit.score || (before.score === hit.score && before.record.id > hit.record.id)),
        );
      }
      const [first] = all;
      assert.ok(first);
      // Where lists of several collections are one, a page can end just before an id.
      const place = { score: first.score, id: `${first.record.id}\0` };
      assert.deepEqual((await stage.store.search('memories', { text: 'marmot', limit: 100, after: place })).hits, all);
    });

    it('finds the same after the store was opened again', async () => {
      const before = await stage.store.search('memories', { text: 'marmot weather', limit: 100 });
      await stage.reopen();
      assert.deepEqual(await stage.store.search('memories', { text: 'marmot weather', limit: 100 }), before);
    });
  });

  describe('text of very many records', () => {
    before(() => stage.fresh());

    it('is found from the moment a transaction is answered, while others go on', async () => {
      const ids = Array.from({ length: rounds(1000, 4000) }, (_, at) => `mem_bulk_${at}`);
      await stage.store.transaction(async (tx) => {
        for (const [at, id] of ids.entries())
          await tx.memories.insert(memoryRecord(`bulk ${'word '.repeat(20)}${at}`, { id }));
      });
      const count = async (text: string) => (await stage.store.search('memories', { text, limit: 1 })).count;
      const [found, other] = await Promise.all([
        count('bulk'),
        stage.write.memories.update(`${ids.at(-1)}`, { content: 'changed' }),
      ]);
      assert.ok(found === ids.length || found === ids.length - 1);
      assert.deepEqual([other.content, await count('bulk'), await count('changed')], ['changed', ids.length - 1, 1]);
      await stage.store.transaction(async (tx) => {
        for (const id of ids) await tx.memories.delete(id);
      });
      assert.equal(await count('bulk'), 0);
    });
  });

  describe('records that expire', () => {
    before(() => stage.fresh());

    it('are gone from every read once their time has come', async () => {
      const expiresAt = new Date(Date.now() + 400).toISOString();
      await stage.store.transaction(async (tx) => {
        await tx.memories.insert(memoryRecord('ephemeral', { id: 'mem_brief', expiresAt }));
        await tx.memories.insert(memoryRecord('ephemeral', { id: 'mem_long', expiresAt: '2999-01-01T00:00:00Z' }));
        await tx.memories.insert(memoryRecord('ephemeral', { id: 'mem_ever' }));
      });
      const seen = async () => [
        (await stage.store.memories.find({ limit: 9 })).records.length,
        (await stage.store.memories.find({ where: { kind: 'fact' }, limit: 9 })).records.length,
        await stage.store.memories.count({}),
        (await stage.store.search('memories', { text: 'ephemeral', limit: 9 })).count,
        (await stage.store.memories.get('mem_brief')) !== undefined,
      ];
      assert.deepEqual(await seen(), [3, 3, 3, 3, true]);
      await until(async () => (await stage.store.memories.get('mem_brief')) === undefined);
      assert.deepEqual(await seen(), [2, 2, 2, 2, false]);
      await stage.reopen();
      assert.deepEqual(await seen(), [2, 2, 2, 2, false]);
    });

    it('cannot be changed, and can be made again', async () => {
      await assert.rejects(stage.write.memories.update('mem_brief', { pinned: true }));
      await stage.store.transaction(async (tx) => {
        assert.equal(await tx.memories.get('mem_brief'), undefined);
        await tx.memories.insert(memoryRecord('again', { id: 'mem_brief', revision: 4 }));
      });
      assert.equal((await stage.store.memories.get('mem_brief'))?.revision, 4);
    });

    it('live as long as they say last', async () => {
      await stage.write.memories.insert(
        memoryRecord('x', { id: 'mem_spared', expiresAt: new Date(Date.now() + 200).toISOString() }),
      );
      await stage.write.memories.update('mem_spared', { expiresAt: null });
      const expiresAt = new Date(Date.now() + 250).toISOString();
      await stage.write.memories.insert(memoryRecord('x', { id: 'mem_witness', expiresAt }));
      await until(async () => (await stage.store.memories.get('mem_witness')) === undefined);
      assert.ok(await stage.store.memories.get('mem_spared'));
    });
  });
}
