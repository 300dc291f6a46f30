import { WebhookWorld } from '../support/webhook-world.ts';

/** Makes, on the store in the folder, a webhook that sends to the URL, and skills; says the id of each that was acknowledged, and waits for its end. */
const [folder = '', url = ''] = process.argv.slice(2);

const world = await WebhookWorld.open({ folder });
await world.webhook({ target: { url }, events: ['skill.created'] });
for (let at = 0; at < 150; at += 1) {
  const { id } = await world.must('create_skill', { name: `skill ${at}`, instructions: 'x' });
  process.stdout.write(`${id}\n`);
}
setInterval(() => {}, 1000);
