import { openEmbeddingWorld } from '../support/embedding-world.ts';

/** Fills the store in the folder with documents if there is a number of them, and embeds all with the model of the server until it is killed. */
const [folder = '', baseUrl = '', model = '', count = '0'] = process.argv.slice(2);

await openEmbeddingWorld({
  folder,
  baseUrl,
  model,
  async fill(must) {
    if (count === '0') return;
    for (let at = 0; at < Number(count); at += 1) {
      await must('create_document', { title: `Page ${at}`, content: `Paragraph number ${at}.` });
    }
    const long = Array.from({ length: 150 }, (_, at) => `## Part ${at}\n\nThe long text of part ${at}.`).join('\n\n');
    await must('create_document', { title: 'Long', content: long });
  },
});
setInterval(() => {}, 1000);
