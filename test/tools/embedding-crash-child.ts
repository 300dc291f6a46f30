import { openEmbeddingWorld } from '../support/embedding-world.ts';

/** Fills the store in the folder with documents, and embeds them with the server at the address until it is killed. */
const [folder = '', baseUrl = '', count = '0'] = process.argv.slice(2);

await openEmbeddingWorld({
  folder,
  baseUrl,
  async fill(must) {
    for (let at = 0; at < Number(count); at += 1) {
      await must('create_document', { title: `Page ${at}`, content: `Paragraph number ${at}.` });
    }
    const long = Array.from({ length: 150 }, (_, at) => `## Part ${at}\n\nThe long text of part ${at}.`).join('\n\n');
    await must('create_document', { title: 'Long', content: long });
  },
});
setInterval(() => {}, 1000);
