import { SECRET_MASK } from '../../resources/integration.ts';
import type { ModelProviderKind, ModelProviderRecord } from '../../resources/model-provider.ts';
import type { Change } from '../../store/port.ts';
import { invalidMember } from '../core/errors.ts';
import { defaultBaseUrl } from '../core/models/providers.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';

type Headers = Readonly<Record<string, string>>;

/** Secrets and what they are for, as callers give them. */
interface GivenSecrets {
  readonly apiKey?: string | null | undefined;
  readonly headers?: Headers | null | undefined;
}

interface Target {
  readonly kind?: ModelProviderKind | undefined;
  readonly baseUrl?: string | null | undefined;
}

interface Sealed {
  readonly apiKey?: string | null;
  readonly headers?: Record<string, string> | null;
}

const keyPlace = (id: string) => `${id} apiKey`;
const headerPlace = (id: string, name: string) => `${id} headers ${name}`;

/** The secrets to store, encrypted. One given as the mask stays as it is. @throws ToolError where none is stored */
export function sealedSecrets(
  id: string,
  { apiKey, headers }: GivenSecrets,
  box: SecretBox,
  current: Partial<ModelProviderRecord> = {},
): Sealed {
  const header = ([name, value]: [string, string]) => {
    const kept = value === SECRET_MASK ? (current.headers?.[name] ?? missing(`headers.${name}`)) : undefined;
    return [name, kept ?? box.seal(value, headerPlace(id, name))];
  };
  const key = () => (apiKey === SECRET_MASK ? (current.apiKey ?? missing('apiKey')) : undefined);
  return {
    ...(apiKey !== undefined && { apiKey: apiKey && (key() ?? box.seal(apiKey, keyPlace(id))) }),
    ...(headers !== undefined && { headers: headers && Object.fromEntries(Object.entries(headers).map(header)) }),
  };
}

function missing(path: string): never {
  throw invalidMember(path, `${path}: There is no stored value for ${SECRET_MASK} to keep; give the value itself.`);
}

/** A secret is sent only where it was given for, so with another kind or origin it must be given again. @throws ToolError */
export function requireOwnSecrets(current: ModelProviderRecord, change: GivenSecrets & Target): void {
  if (targetOf(current) === targetOf({ ...current, ...defined(change) })) return;
  const { apiKey: key = SECRET_MASK, headers = current.headers } = change;
  const kept = [
    ...(current.apiKey !== undefined && key === SECRET_MASK ? ['apiKey'] : []),
    ...Object.keys(current.headers ?? {}).flatMap((name) =>
      change.headers === undefined || headers?.[name] === SECRET_MASK ? [`headers.${name}`] : [],
    ),
  ];
  const [first] = kept;
  if (first === undefined) return;
  throw invalidMember(first, `${first}: Was given for another kind or address; give it again, or null to remove it.`);
}

function targetOf({ kind, baseUrl }: Target): string {
  const url = baseUrl ?? (kind && defaultBaseUrl(kind));
  return `${kind} ${url ? new URL(url).origin : ''}`;
}

function defined({ kind, baseUrl }: Target): Target {
  return { ...(kind !== undefined && { kind }), ...(baseUrl !== undefined && { baseUrl }) };
}

/** The secrets in the clear. @throws SecretsError where the key of the server does not open them */
export function openedSecrets(
  { id, apiKey, headers = {} }: Pick<ModelProviderRecord, 'id' | 'apiKey' | 'headers'>,
  box: SecretBox,
): { readonly apiKey?: string; readonly headers: Headers } {
  const opened = Object.entries(headers).map(([name, text]) => [name, box.open(text, headerPlace(id, name))]);
  return {
    ...(apiKey !== undefined && { apiKey: box.open(apiKey, keyPlace(id)) }),
    headers: Object.fromEntries(opened),
  };
}

/** What changes when the secrets are sealed with the first key. Undefined where nothing does. */
export function reencryptedProvider(
  { id, apiKey, headers = {} }: ModelProviderRecord,
  box: SecretBox,
): Change<ModelProviderRecord> | undefined {
  const key = apiKey && box.renew(apiKey, keyPlace(id));
  const renewed = Object.entries(headers).flatMap(([name, text]) => {
    const again = box.renew(text, headerPlace(id, name));
    return again === undefined ? [] : [[name, again] as const];
  });
  if (!key && renewed.length === 0) return undefined;
  return {
    ...(key && { apiKey: key }),
    ...(renewed.length > 0 && { headers: { ...headers, ...Object.fromEntries(renewed) } }),
  };
}
