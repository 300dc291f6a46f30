import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderMail } from '../../../tools/connections/mail-content.ts';
import { columnsOf, pictureOf } from '../../../tools/connections/report-files.ts';
import { ApprovalWorld } from '../../support/approval-world.ts';
import { inPerson, OutgoingWorld } from '../../support/outgoing-world.ts';
import { principalOf } from '../../support/registry.ts';

const world = await OutgoingWorld.open();
const people = new ApprovalWorld(world.store, world.registry);
const mail = (members: object = {}) => ({ to: ['ann@example.com'], subject: 'Hi', markdown: 'Hello', ...members });
const last = () => world.mails.at(-1) ?? assert.fail('no mail went out');

describe('a mail', () => {
  it('goes to people who may sign in and to what the settings allow, and to nobody else', async () => {
    const { id } = await people.person('anna');
    const { email: anna = '' } = (await world.store.adminUsers.get(id)) ?? {};
    assert.match((await world.refused('send_mail', mail())).error, /do not go to ann@example.com.*mailRecipients/);
    assert.equal(await world.codeOf('send_mail', mail({ to: [anna.toUpperCase()] })), 'ok');
    await world.must('update_settings', {
      mailRecipients: { addresses: ['Ann@example.com'], domains: ['board.example'] },
    });
    assert.equal(await world.codeOf('send_mail', mail({ to: ['ANN@example.com', 'x@board.example'] })), 'ok');
    for (const to of [
      'x@sub.board.example',
      'x@board.example.evil',
      'bob@example.com',
      'x@evil.example@board.example',
      'a,b@board.example',
    ])
      assert.notEqual(await world.codeOf('send_mail', mail({ to: [to] })), 'ok', to);
    await world.must('deactivate_admin_user', { id });
    assert.equal(await world.codeOf('send_mail', mail({ to: [anna] })), 'invalid_input');
  });

  it('holds no line that would be another header', async () => {
    for (const members of [
      { subject: 'Hi\r\nBcc: x@evil.example' },
      { subject: 'Hi\nX: y' },
      { to: ['ann@example.com\r\nBcc: x@evil.example'] },
      { to: ['"a\r\nBcc: x" <ann@example.com>'] },
    ])
      assert.equal(await world.codeOf('send_mail', mail(members)), 'invalid_input', JSON.stringify(members));
  });

  it('is text and HTML, in which nothing of it is markup', async () => {
    const markdown = `# Week *48*\n\n<script>alert(1)</script>\n\n- [x] done\n- a [link](https://example.com/?a=1&b="2")\n- [bad](javascript:alert(1)) ![p](http://evil.example/pixel.png)\n\n| a | b |\n| --- | --- |\n| 1 | **2** |\n\n\`\`\`html"><img src=x>\n<b>\n\`\`\`\n\n<img src=x onerror=alert(1)>\n`;
    await world.must('send_mail', mail({ markdown }));
    const { text, html } = last();
    assert.doesNotMatch(html, /<script|<img|javascript:|onerror="|<b>/);
    assert.match(html, /<h1>Week <em>48<\/em><\/h1>/);
    assert.match(html, /<a href="https:\/\/example.com\/[^"]*">link<\/a>/);
    assert.match(text, /^Week 48\n/);
    assert.match(text, /- \[x\] done\n- a link \(https:\/\/example.com/);
    assert.match(text, /a \| b\n1 \| 2/);
  });

  it('that takes too long to read holds up nobody', async () => {
    const { code } = await world.refused('send_mail', mail({ markdown: '_a_'.repeat(33_000) }));
    assert.equal(code, 'invalid_input');
    assert.ok(renderMail('ok').html.includes('<p>ok</p>'));
  });

  it('has attached what its sender may read', async () => {
    const artifact = await world.must('create_artifact', {
      name: '../../etc/passwd',
      mimeType: 'image/png',
      data: Buffer.from('png').toString('base64'),
    });
    const document = await world.must('create_document', { title: 'Plan', content: '# Plan' });
    const attachments = [
      { type: 'artifact', id: artifact.id },
      { type: 'document', id: document.id },
    ];
    await world.must('send_mail', mail({ attachments }));
    const [picture, plan] = last().attachments;
    assert.deepEqual([picture?.contentType, String(picture?.content)], ['image/png', 'png']);
    assert.doesNotMatch(String(picture?.filename), /[/\n]/);
    assert.deepEqual([plan?.filename, String(plan?.content)], ['Plan.md', '# Plan']);
    const sender = inPerson(
      principalOf({ type: 'session', id: 'usr_s', grants: ['mail:send', `document:read:${document.id}`] }),
    );
    assert.equal(await world.codeOf('send_mail', mail({ attachments }), sender), 'forbidden');
    assert.equal(await world.codeOf('send_mail', mail({ attachments: attachments.slice(1) }), sender), 'ok');
    assert.equal(
      await world.codeOf('send_mail', mail({ attachments: [{ type: 'artifact', id: 'art_none' }] })),
      'not_found',
    );
    const data = Buffer.alloc(1024 * 1024, 1).toString('base64');
    const large = await world.must('create_artifact', { name: 'large', mimeType: 'image/png', data });
    const five = Array.from({ length: 5 }, () => ({ type: 'artifact', id: large.id }));
    assert.equal(await world.codeOf('send_mail', mail({ attachments: five })), 'too_large');
  });

  it('shows reports as pictures, drawn of their numbers', async () => {
    const database = await world.must('create_database', {
      name: 'visits',
      columns: [
        { name: 'day', type: 'string' },
        { name: 'visits', type: 'number' },
        { name: 'million', type: 'number' },
      ],
    });
    for (const [day, visits] of [
      ['<Mon> & "co"', 12],
      ['Tue', -3],
      ['Wed', 40],
    ] as const)
      await world.must('create_record', { databaseId: database.id, values: { day, visits, million: 1e6 } });
    const query = { tool: 'list_records', arguments: { databaseId: database.id } };
    const report = (title: string, visualization: string, asked: object = query) =>
      world.must('create_report', { title, visualization, query: asked });
    const attached = ({ id }: { readonly id: string }) => [{ type: 'report', id, format: 'png' }];
    for (const visualization of ['line', 'bar']) {
      await world.must('send_mail', mail({ attachments: attached(await report('Посещения <b> ✓', visualization)) }));
      const [picture] = last().attachments;
      assert.deepEqual([picture?.contentType, picture?.content.subarray(1, 4).toString()], ['image/png', 'PNG']);
      assert.deepEqual([picture?.content.readUInt32BE(16), picture?.content.readUInt32BE(20)], [1920, 960]);
      assert.ok(last().html.includes(`<img src="cid:${picture?.cid}" alt="${picture?.filename}"`));
    }
    const rows = [
      { from: '2026-01', trialing: 0, active: 480 },
      { from: '2026-02', trialing: 0, active: 500, late: 30 },
    ];
    const drawn = pictureOf({ title: 'Subscriptions', asOf: '', visualization: 'line', result: { series: rows } });
    assert.deepEqual([drawn?.series.map(({ label }) => label), drawn?.leftOut], [['Active', 'Late'], ['Trialing']]);
    const csv = { type: 'report', id: (await report('Rows', 'table')).id };
    await world.must('send_mail', mail({ attachments: [csv] }));
    assert.deepEqual(String(last().attachments[0]?.content).split(/\r?\n/)[0], 'day,visits,million');
    const words = await report('No numbers', 'line', { tool: 'list_skills', arguments: {} });
    assert.match((await world.refused('send_mail', mail({ attachments: attached(words) }))).error, /csv or markdown/);
  });

  it('of one long value makes no long columns', () => {
    const rows = Array.from({ length: 100 }, () => ({ a: 1, b: 'x' }));
    const text = columnsOf({ data: [{ a: 'y'.repeat(10_000), b: 'z' }, ...rows] });
    assert.ok(text.length < 10_000, `${text.length}`);
  });

  it('waits for a person unless one sends it, or who has full access turned that off', async () => {
    const [anna, bert] = [await people.person('anna'), await people.person('bert')];
    const asking = await people.key(anna, { scopes: ['write'] });
    const id = await people.asked(asking, 'send_mail', mail({ subject: 'Asked' }));
    const count = world.mails.length;
    await people.approve(bert, id);
    await people.calls().look();
    assert.deepEqual([world.mails.length, last().subject], [count + 1, 'Asked']);
    assert.equal(await world.codeOf('send_mail', mail({ to: ['nobody@example.org'] }), asking), 'invalid_input');
    const limited = inPerson(principalOf({ type: 'session', id: 'usr_l', grants: ['settings:write'] }));
    const admin = principalOf({ type: 'api-key', id: 'key_a', scopes: ['admin'] });
    assert.equal(await world.codeOf('update_settings', { mailAskFirst: false }, limited), 'forbidden');
    assert.equal(await world.codeOf('update_settings', { mailAskFirst: false }, admin), 'approval_required');
    await world.must('update_settings', { mailAskFirst: false });
    assert.equal(await world.codeOf('send_mail', mail(), asking), 'ok');
  });

  it('goes with its attachments as they were when a person said yes, else it asks anew', async () => {
    const [anna, bert] = [await people.person('anna'), await people.person('bert')];
    const asking = await people.key(anna, { scopes: ['write'], askFirst: ['send_mail'] });
    const artifact = { name: 'a.txt', mimeType: 'text/plain', content: 'harmless' };
    const document = { title: 'Plan', content: 'harmless' };
    for (const [type, given, change] of [
      ['artifact', artifact, { content: 'secret' }],
      ['document', document, { content: 'secret' }],
    ] as const) {
      const { id } = await world.must(`create_${type}`, given);
      const input = mail({ attachments: [{ type, id }] });
      const first = await people.asked(asking, 'send_mail', input);
      assert.match((await world.must('get_approval', { id: first })).reaches, new RegExp(`${id} \\(revision 1\\)`));
      await people.approve(bert, first);
      await world.must(`update_${type}`, { id, ...change });
      const count = world.mails.length;
      await people.calls().look();
      assert.equal(world.mails.length, count, type);
      const second = await people.asked(asking, 'send_mail', input);
      assert.notEqual(second, first);
      await people.approve(bert, second);
      await people.calls().look();
      assert.deepEqual([world.mails.length, String(last().attachments[0]?.content)], [count + 1, 'secret']);
    }
  });

  it('that waits for nobody goes to others only if who has full access says so', async () => {
    const writer = principalOf({ type: 'api-key', id: 'key_settings', scopes: [], grants: ['settings:write'] });
    const mailRecipients = { addresses: [], domains: ['elsewhere.example'] };
    const before = await world.must('get_settings', {});
    await world.must('update_settings', { mailAskFirst: false });
    assert.equal(await world.codeOf('update_settings', { approvalHours: 12 }, writer), 'ok');
    assert.equal(await world.codeOf('update_settings', { mailRecipients }, writer), 'forbidden');
    await world.must('update_settings', { mailAskFirst: before.mailAskFirst ?? true });
  });

  it('says what to set where there is no mail server, and what the mail server said', async () => {
    const without = world.beside({ withMail: false });
    assert.match((await without.refused('send_mail', mail())).error, /no mail server: set SMTP_URL\./);
    world.mailProblem = Object.assign(new Error('550 no such\r\nmailbox'), { code: 'EENVELOPE' });
    assert.match((await world.refused('send_mail', mail())).error, /was not sent: 550 no such mailbox/);
    world.mailProblem = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ESOCKET' });
    assert.match((await world.refused('send_mail', mail())).error, /was not sent/);
    for (const code of ['ESOCKET', 'ECONNECTION', 'ETIMEDOUT']) {
      world.mailProblem = Object.assign(new Error('Connection closed unexpectedly'), { code });
      assert.match((await world.refused('send_mail', mail())).error, /unknown whether/);
    }
    world.mailProblem = undefined;
  });
});
