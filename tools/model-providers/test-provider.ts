import { parseJson } from '../../resources/json.ts';
import type { ModelProviderTest } from '../../resources/model-provider.ts';
import { ToolError } from '../core/errors.ts';
import { loadPackage } from '../core/load-package.ts';
import { askForList, namesIn } from '../core/models/model-listing.ts';
import { type Fetch, ssrfSafeFetch } from '../core/models/provider-fetch.ts';
import { createModelProvider, type ModelProvider, type ProviderSettings } from '../core/models/providers.ts';
import { Scrubber } from '../core/outbound/untrusted-text.ts';

type Tested =
  | { readonly provider: ModelProvider }
  | { readonly settings: ProviderSettings; readonly privateAddresses: boolean };

type TestInput = Tested & { readonly model?: string | undefined; readonly signal?: AbortSignal | undefined };

interface Problem {
  readonly problem: string;
  readonly nextStep: string;
}

const LIST_MS = 10_000;
const ANSWER_MS = 30_000;
/** Enough for models that think before they answer. */
const TOKENS = 64;
const LONGEST_LINE = 160;

interface Verdict {
  readonly answer: ModelProviderTest;
  /** Whether the provider works. Undefined where the test says nothing of it: its caller gave up, it has no model to ask, or one was named. */
  readonly isUp: boolean | undefined;
}

export async function testProvider(input: TestInput): Promise<Verdict> {
  const answer = await ask(input);
  const { ok, nextStep } = answer;
  const saysNothing = input.model !== undefined || input.signal?.aborted || nextStep === NAME_ONE;
  return { answer, isUp: !ok && saysNothing ? undefined : ok };
}

/** Asks once, without repeats, and never answers a secret or more than a line of what the server said. */
async function ask({ model: wanted, signal, ...tested }: TestInput): Promise<ModelProviderTest> {
  const provider =
    'provider' in tested
      ? tested.provider
      : createModelProvider({ ...tested.settings, fetch: ssrfSafeFetch(tested.privateAddresses) });
  const secrets =
    'provider' in tested
      ? Object.values(provider.listing?.headers ?? {})
      : [tested.settings.apiKey ?? '', ...Object.values(tested.settings.headers ?? {})];
  const scrubber = new Scrubber(secrets.flatMap((secret) => [secret, secret.replace(/^Bearer /, '')]).filter(Boolean));
  const begun = performance.now();
  const latencyMs = () => Math.round(performance.now() - begun);
  const listed = await listOf(provider, provider.fetch, scrubber);
  if ('problem' in listed) return { ok: false, latencyMs: latencyMs(), ...listed };
  const name = nameOf(wanted, provider) ?? listed.names[0];
  if (name === undefined) {
    const problem = listed.isList ? 'The provider lists no models.' : 'The provider has no list of models.';
    return { ok: false, latencyMs: latencyMs(), problem, nextStep: NAME_ONE };
  }
  const model = `${provider.name}/${name}`;
  try {
    const { streamText } = await loadPackage('ai', () => import('ai'));
    const late = AbortSignal.timeout(ANSWER_MS);
    const { fullStream } = streamText({
      // as agents ask
      model: provider.model(name),
      prompt: 'Answer with the word ok.',
      maxOutputTokens: TOKENS,
      maxRetries: 0,
      abortSignal: signal ? AbortSignal.any([signal, late]) : late,
      onError: () => {}, // errors also come as parts of the stream
    });
    for await (const part of fullStream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw late.reason ?? signal?.reason;
    }
    return { ok: true, latencyMs: latencyMs(), model };
  } catch (error) {
    const found = await problemOf(error, { scrubber, name, names: listed.names });
    return { ok: false, latencyMs: latencyMs(), model, ...found };
  }
}

const NAME_ONE = 'Name one in `models` of the provider, or in the test.';

function nameOf(wanted: string | undefined, { name, configured }: ModelProvider): string | undefined {
  if (wanted === undefined) return configured[0]?.name;
  return wanted.startsWith(`${name}/`) ? wanted.slice(name.length + 1) : wanted;
}

interface ListedNames {
  readonly names: readonly string[];
  readonly isList: boolean;
}

async function listOf(
  { listing, talks }: ModelProvider,
  fetch: Fetch,
  scrubber: Scrubber,
): Promise<ListedNames | Problem> {
  if (!listing) return { names: [], isList: false };
  try {
    const answer = await askForList(fetch, listing, LIST_MS);
    const text = await answer.text();
    // Some servers have no list, which the answer of a model will show.
    if (answer.status === 404 || answer.status === 405) return { names: [], isList: false };
    if (!answer.ok) return statusProblem(answer.status, lineOf(text, scrubber));
    const body = parseJson(text);
    if (body === undefined) return NO_MODEL_SERVER;
    return { names: namesIn(body).filter(talks), isList: true };
  } catch (error) {
    return connectionProblem(error);
  }
}

const NO_MODEL_SERVER: Problem = {
  problem: 'What answers at the address is not a server of models.',
  nextStep: 'Check baseUrl: most end in /v1, like http://127.0.0.1:11434/v1 for Ollama.',
};

async function problemOf(
  error: unknown,
  { scrubber, name, names }: { scrubber: Scrubber; name: string; names: readonly string[] },
): Promise<Problem> {
  if (error instanceof ToolError) return { problem: error.message, nextStep: 'Install it, and test again.' };
  const { APICallError } = await loadPackage('ai', () => import('ai'));
  if (!APICallError.isInstance(error)) return connectionProblem(error);
  const { statusCode: status, responseBody: body = '' } = error;
  if (status === undefined) return connectionProblem(error.cause ?? error);
  if (status < 400) return NO_MODEL_SERVER;
  const line = lineOf(body, scrubber);
  const isUnknown = status === 404 || (status === 400 && /model/i.test(line) && /not|unknown|invalid/i.test(line));
  if (!isUnknown) return statusProblem(status, line);
  if (status === 404 && names.length === 0 && parseJson(body) === undefined) return NO_MODEL_SERVER;
  const some = names.slice(0, 5).map((each) => scrubber.shown(each, 80));
  return {
    problem: `The provider does not know the model ${JSON.stringify(name)} (${status})${line && `: ${line}`}`,
    nextStep:
      some.length > 0 ? `Choose one that it lists, such as ${some.join(', ')}.` : 'Check the name of the model.',
  };
}

function statusProblem(status: number, line: string): Problem {
  const said = line && `: ${line}`;
  if (status === 401 || status === 403) {
    return {
      problem: `The provider refused the key (${status})${said}`,
      nextStep: 'Give a valid key, and check that it may use this model.',
    };
  }
  if (status === 402 || (status === 429 && /quota|billing|credit|balance/i.test(line))) {
    return { problem: `The quota of the key is used up (${status})${said}`, nextStep: 'Add credit at the provider.' };
  }
  if (status === 429 || status === 529) {
    return {
      problem: `The provider accepts no more requests for now (${status})${said}`,
      nextStep: 'Test again later.',
    };
  }
  if (status === 408 || status === 504) return TOO_SLOW;
  if (status >= 500) return { problem: `The provider failed (${status})${said}`, nextStep: 'Test again later.' };
  if (status < 400)
    return { problem: `The address redirects (${status}).`, nextStep: 'Give baseUrl as it is, without a redirect.' };
  return { problem: `The provider refused the request (${status})${said}`, nextStep: 'Check kind, baseUrl and model.' };
}

const TOO_SLOW: Problem = {
  problem: 'The provider did not answer in time.',
  nextStep: 'Test again; a local model may have to be loaded first.',
};

function connectionProblem(error: unknown): Problem {
  const { code, refused, isLate } = causeOf(error);
  if (refused !== undefined)
    return { problem: refused, nextStep: 'Give another baseUrl, or set PRIVATE_UPSTREAMS=on.' };
  if (isLate || code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return TOO_SLOW;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)) {
    return {
      problem: `The certificate of the address is not trusted (${code}).`,
      nextStep: 'Use the name that the certificate is for, or add its authority with NODE_EXTRA_CA_CERTS.',
    };
  }
  if (/ERR_SSL|EPROTO|HPE_/.test(code)) {
    return {
      problem: 'The address speaks another protocol.',
      nextStep: 'Check http or https and the port of baseUrl.',
    };
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return { problem: `The name of the address is not known (${code}).`, nextStep: 'Check the host in baseUrl.' };
  }
  const shown = code === '' ? '' : ` (${code})`;
  return { problem: `The address could not be reached${shown}.`, nextStep: 'Check baseUrl, and that its server runs.' };
}

const DEEPEST = 6;

function causeOf(error: unknown) {
  let [code, isLate, refused] = ['', false, undefined as string | undefined];
  let at: unknown = error;
  for (let depth = 0; at instanceof Error && depth < DEEPEST; depth++) {
    if (at.name === 'TimeoutError') isLate = true;
    if (at.constructor.name === 'AddressRefused') refused = at.message;
    const { code: own } = at as NodeJS.ErrnoException; // an error of Node.js has it
    if (typeof own === 'string' && code === '') code = own;
    at = at.cause;
  }
  return { code, isLate, refused };
}

/** The message in the answer, in one line and without secrets. */
function lineOf(body: string, scrubber: Scrubber): string {
  const message = messageIn(parseJson(body));
  return scrubber.shown(message.replace(/\s+/g, ' '), LONGEST_LINE);
}

/** Keys in the forms of vendors, some of which repeat them shortened. */
const KEYS = /\b(?:sk|pk|key|AIza)[-_A-Za-z0-9*.]{6,}/g;

function messageIn(body: unknown): string {
  const { error, message } = (typeof body === 'object' && body !== null ? body : {}) as {
    readonly error?: unknown;
    readonly message?: unknown;
  };
  const found = [(error as { readonly message?: unknown } | undefined)?.message, message, error].find(
    (each) => typeof each === 'string',
  );
  return String(found ?? '').replace(KEYS, '[redacted]');
}
