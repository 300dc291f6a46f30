import type { z } from 'zod';
import type { EmbeddedTexts, systemHealth } from '../../../../resources/health.ts';
import { number, useAnswer, useMay } from '../../app.ts';
import { Time } from '../../ui.ts';
import { usePolling } from '../../use-polling.ts';

/** How many texts search finds by their meaning, and why not all. Nothing where no embedding model is set. */
export function FoundByMeaning() {
  const may = useMay('get_system_health');
  const { data } = useAnswer<z.infer<typeof systemHealth>>(may ? 'get_system_health' : undefined);
  const found = data?.integrations.find(({ texts }) => texts !== undefined);
  const { texts, lastError } = found ?? {};
  usePolling(texts !== undefined);
  if (!texts) return null;
  return (
    <div class="head-note" role="status">
      <p class="hint">
        Search finds {number(texts.embedded)} of {number(texts.records)} texts by their meaning: {shares(texts)}.
      </p>
      <p class="hint">
        {lastError === undefined ? (
          <>
            {texts.model}
            {texts.since && (
              <>
                , without a failure since <Time at={texts.since} />
              </>
            )}
          </>
        ) : (
          <>
            {lastError} The others are found by their words.
            {texts.nextTryAt && (
              <>
                {' '}
                Failing since <Time at={texts.since} />, tried again <Time at={texts.nextTryAt} />.
              </>
            )}
          </>
        )}
      </p>
    </div>
  );
}

const PLURAL = { document: 'documents', memory: 'memories', skill: 'skills', message: 'messages' } as const;

function shares({ kinds }: EmbeddedTexts): string {
  return kinds
    .filter(({ records }) => records > 0)
    .map(({ type, records, embedded }) =>
      embedded === records
        ? `all ${number(records)} ${PLURAL[type]}`
        : `${number(embedded)} of ${number(records)} ${PLURAL[type]}`,
    )
    .join(', ');
}
