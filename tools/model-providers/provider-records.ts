import type { ModelProviderRecord } from '../../resources/model-provider.ts';
import type { Store } from '../../store/port.ts';
import type { Models } from '../core/models/models.ts';
import { ssrfSafeFetch, withRetries } from '../core/models/provider-fetch.ts';
import type { ProviderSettings } from '../core/models/providers.ts';
import { EnabledRecords } from '../core/registry/enabled-records.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { openedSecrets } from './secrets.ts';

interface ProviderRecordsDeps {
  readonly store: Pick<Store, 'onCommit' | 'modelProviders' | 'cluster'>;
  readonly models: Models;
  readonly secrets: SecretBox;
  readonly privateAddresses: boolean;
  onFailure(cause: unknown): void;
}

/** Keeps the models of this process those of the provider records, whichever process changes them. Start it before models are used. */
export function followProviderRecords({ store, models, secrets, privateAddresses, onFailure }: ProviderRecordsDeps) {
  return new EnabledRecords({
    store,
    name: 'modelProviders',
    put(record) {
      try {
        models.put(record.id, settingsFor(record, { secrets, privateAddresses }));
      } catch (cause) {
        models.drop(record.id); // with another key of the server its secrets cannot be read, which list_model_providers says
        onFailure(cause);
      }
    },
    drop: (id) => models.drop(id),
    settled() {},
    onFailure,
  });
}

/** @throws SecretsError where the secrets cannot be read */
export function settingsFor(
  record: ModelProviderRecord,
  { secrets, privateAddresses }: Pick<ProviderRecordsDeps, 'secrets' | 'privateAddresses'>,
): ProviderSettings {
  const { kind, name, baseUrl, models } = record;
  const fetch = withRetries(ssrfSafeFetch(privateAddresses));
  return { kind, name, baseUrl, models, ...openedSecrets(record, secrets), fetch };
}
