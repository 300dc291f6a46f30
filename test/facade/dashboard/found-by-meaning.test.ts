import { describe, it } from 'node:test';
import { withoutBrowser } from '../../support/chromium.ts';
import { testDashboard } from '../../support/dashboard.ts';
import { embeddingEnv, startEmbeddingServer } from '../../support/embedding-server.ts';
import { startTestServer } from '../../support/server.ts';

// together: one browser
if (withoutBrowser) console.log(`SKIPPED: what the documents page says of embedding, for ${withoutBrowser}.`);

describe('the documents page with an embedding model', { skip: withoutBrowser }, () => {
  let provider: Awaited<ReturnType<typeof startEmbeddingServer>> | undefined;
  const { call, visit } = testDashboard(async () => {
    provider = await startEmbeddingServer();
    return startTestServer(embeddingEnv(provider));
  });

  it('says how many texts are found by meaning, and why the others are not, as it changes', async () => {
    await call('create_document', { title: 'Pets', content: 'The puppy sleeps.' });
    await visit('/documents', async (page) => {
      await page.getByText('Search finds 1 of 1 texts by their meaning: all 1 documents.').waitFor();
      await page.getByText(/without a failure since/).waitFor();
      provider?.play(() => ({ status: 401 }));
      await call('create_document', { title: 'Cats', content: 'The cat sits.' });
      await page.getByText('Search finds 1 of 2 texts by their meaning: 1 of 2 documents.').waitFor();
      await page
        .getByText(/refused the key it was given.*found by their words.*Failing since .* tried again/)
        .waitFor();
      provider?.play(undefined);
      await page.getByText('Search finds 2 of 2 texts by their meaning').waitFor();
    });
  });
});
