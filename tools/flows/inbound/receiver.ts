import { randomBytes } from 'node:crypto';
import type { ErrorBody } from '../../../resources/error.ts';
import type { Flow, WebhookScheme } from '../../../resources/flow.ts';
import type { FlowDelivery } from '../../../resources/flow-delivery.ts';
import type { FlowSecretRecord } from '../../../resources/flow-secret.ts';
import type { Store } from '../../../store/port.ts';
import { WEBHOOK_TOOL, webhookPrincipal } from '../../core/access/principal.ts';
import { errorBodyOf, toToolError } from '../../core/errors.ts';
import { looksLikeId, recordsNamed } from '../../core/registry/record-names.ts';
import type { Registry } from '../../core/registry/registry.ts';
import { createSecretBox, type SecretBox, SecretsError } from '../../core/sealing/secrets.ts';
import { flowSecretContext, keyOf, signatureOf } from '../webhook-secret.ts';
import { countRepeats, DeliveryLog, findRepeated } from './deliveries.ts';
import {
  challengeIn,
  contentOf,
  eventOf,
  type HeaderOf,
  isPing,
  keyOfDelivery,
  SIGNATURE_HEADERS,
  verify,
} from './schemes.ts';

export interface InboundRequest {
  /** Or its name. */
  readonly flowId: string;
  readonly header: HeaderOf;
  readonly body: Buffer;
  readonly requestId: string;
}

/** What its sender is answered, once it is known to be the sender. */
export type Reply = { readonly status: 200 | 202; readonly body?: object | undefined } | { readonly error: ErrorBody };

interface ReceiverDeps {
  readonly store: Store;
  readonly registry: Registry;
  onFailure(cause: unknown): void;
  now(): Date;
}

interface Signed extends InboundRequest {
  readonly flow: Flow;
  readonly scheme: WebhookScheme;
  readonly digest: string;
}

type Key = { readonly scheme: WebhookScheme; readonly key: Buffer };

/** Receives what is sent to the webhooks of flows: checks the signature, drops repeats, and has runs begin in the background. */
export class WebhookReceiver {
  readonly #deps: ReceiverDeps;
  readonly #notes: DeliveryLog;
  readonly #decoys = new Decoys();

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.#notes = new DeliveryLog(deps.store, deps.now, deps.onFailure);
  }

  close(): Promise<void> {
    return this.#notes.close();
  }

  /** Undefined if the signature does not match or the flow does not exist; the caller cannot tell which. */
  async receive(came: InboundRequest): Promise<Reply | undefined> {
    const { store, now } = this.#deps;
    const flowId = await flowNamed(came.flowId, store);
    const [flow, kept] = await Promise.all([store.flows.get(flowId), store.flowSecrets.get(flowId)]);
    const key = flow && signatureOf(flow) && kept ? this.#keyOf(kept) : undefined;
    const { result, digest } = verify(came, typeof key === 'object' ? key : this.#decoys.keyFor(came), now());
    if (!flow || !kept || key === undefined) return undefined;
    const { scheme } = kept;
    if (typeof key === 'string' || result !== 'good') {
      const outcome = result === 'late' ? 'late' : 'bad_signature';
      this.#notes.note({ flowId, scheme, outcome, ...(typeof key === 'string' && { reason: key }) });
      return undefined;
    }
    return this.#answer({ ...came, flowId, flow, scheme, digest });
  }

  #keyOf({ id, scheme, sealed }: FlowSecretRecord): Key | string {
    const box = this.#deps.registry.server.secrets;
    try {
      return box ? { scheme, key: openedKey(box, { id, scheme, sealed }) } : 'No secrets here.';
    } catch (thrown) {
      if (!(thrown instanceof SecretsError)) throw thrown;
      return `The secret cannot be read. ${thrown.message}`;
    }
  }

  async #answer(signed: Signed): Promise<Reply> {
    const { flowId, scheme, requestId } = signed;
    let content: unknown;
    try {
      content = contentOf(signed);
    } catch (thrown) {
      const error = toToolError(thrown);
      this.#notes.note({ flowId, scheme, outcome: 'refused', reason: error.message });
      return { error: errorBodyOf(error, requestId) };
    }
    const challenge = challengeIn(scheme, content);
    if (challenge !== undefined) {
      this.#notes.note({ flowId, scheme, outcome: 'challenge' });
      return { status: 200, body: { challenge } };
    }
    if (isPing(signed, content)) {
      this.#notes.note({ flowId, scheme, outcome: 'ping' });
      return { status: 200, body: { outcome: 'ping' } };
    }
    return this.#begin(signed, content);
  }

  async #begin(signed: Signed, content: unknown): Promise<Reply> {
    const { flowId, scheme, digest, requestId } = signed;
    const { registry } = this.#deps;
    const key = keyOfDelivery(flowId, signed, { content, digest });
    const event = eventOf(signed, content);
    if (await this.#isRepeated(key)) return repliedTo(scheme, { outcome: 'repeat' });
    const answer = await registry.call({
      principal: webhookPrincipal(flowId, scheme),
      tool: WEBHOOK_TOOL,
      input: { id: flowId, scheme, key, event, body: content },
      door: 'webhook',
      requestId,
      client: signed.header('user-agent'),
    });
    if (answer.ok) {
      registry.server.flows?.wake(flowId);
      const { id, outcome, runId } = answer.output as FlowDelivery; // the output of receive_webhook
      return repliedTo(scheme, { id, outcome, runId }, 202);
    }
    if (await this.#isRepeated(key)) return repliedTo(scheme, { outcome: 'repeat' });
    const { error } = answer;
    this.#notes.note({
      flowId,
      scheme,
      ...(event !== undefined && { event }),
      outcome: 'refused',
      reason: error.error,
    });
    return { error: error.code === 'conflict' ? { ...error, error: CANNOT_RUN } : error };
  }

  async #isRepeated(key: string): Promise<boolean> {
    const { store, now } = this.#deps;
    const first = await findRepeated(store, key);
    if (!first) return false;
    await store.transaction((tx) => countRepeats(tx, { id: first.id, more: 1, lastAt: now().toISOString() }));
    return true;
  }
}

/** The id of the flow. A name that several flows have is that of none, since nothing may be said of them. */
async function flowNamed(named: string, store: Store): Promise<string> {
  const [flow, ...others] = looksLikeId(named) ? [] : await recordsNamed('flow', named, store);
  return flow && others.length === 0 ? flow.id : named;
}

function openedKey(box: SecretBox, { id, scheme, sealed }: Pick<FlowSecretRecord, 'id' | 'scheme' | 'sealed'>): Buffer {
  return keyOf({ scheme, secret: box.open(sealed, flowSecretContext(id)) });
}

/** Keys used when a flow has none. They are opened like real ones, so that the response time is the same. */
class Decoys {
  readonly #box = createSecretBox([randomBytes(32).toString('base64')], '');
  readonly #id = 'flw_00000000000000000000000000';
  readonly #sealed = this.#box.seal(randomBytes(32).toString('base64'), flowSecretContext(this.#id));

  keyFor({ header }: InboundRequest): Key {
    const named = SIGNATURE_HEADERS.find(({ name }) => header(name) !== undefined);
    const scheme = named?.scheme ?? 'hmac';
    return { scheme, key: openedKey(this.#box, { id: this.#id, scheme, sealed: this.#sealed }) };
  }
}

/** Reveals nothing; callers who may read the flow find the reason in its list of deliveries. */
const CANNOT_RUN = 'The flow accepts no deliveries now; send it again later. list_flow_deliveries says why.';

/** Slack takes 200 alone as an answer, and shows people what comes with it. */
function repliedTo(scheme: WebhookScheme, body: object, status: 200 | 202 = 200): Reply {
  return scheme === 'slack' ? { status: 200 } : { status, body };
}
