import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { newId } from '../../store/ids.ts';
import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { Outgoing, type OutgoingMail } from '../../tools/connections/outgoing.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import { closedAtEnd, stoppedAtEnd } from './at-end.ts';
import { openTestRegistry, principalOf, registryOn, SECRETS_KEY, type TestRegistry } from './registry.ts';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A server of others on loopback, which keeps what it is asked. */
export interface FarServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  answer(asked: Asked, response: ServerResponse): void;
}

export async function startFarServer(
  answer: FarServer['answer'] = (_, response) => void response.end('ok'),
): Promise<FarServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: await text(request) };
    asked.push(one);
    far.answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stoppedAtEnd(server);
  const { port } = server.address() as AddressInfo; // listening on TCP
  const far = { url: `http://127.0.0.1:${port}`, asked, answer };
  return far;
}

interface Options {
  readonly privateAddresses?: boolean;
  readonly answerMs?: number;
  readonly withMail?: boolean;
  now?(): Date;
}

const FOR_EVER = '2999-01-01T00:00:00.000Z';

/** Somebody who is signed in and calls in person. */
export function inPerson(
  principal: Principal = principalOf({ type: 'session', id: 'usr_owner', scopes: ['*'] }),
): Principal {
  return { ...principal, type: 'session', ...{ sessionId: newId('ses'), expiresAt: FOR_EVER, freshUntil: FOR_EVER } };
}

/** A registry that sends to others, and the mails that it gave to a mail server. */
export class OutgoingWorld {
  readonly store: Store;
  readonly registry: Omit<TestRegistry, 'store' | 'folder' | 'close'>;
  readonly mails: OutgoingMail[];
  readonly admin = inPerson();
  mailProblem: Error | undefined;

  private constructor(store: Store, options: Options) {
    const { privateAddresses = true, withMail = true, now = () => new Date(), answerMs } = options;
    const mails: OutgoingMail[] = [];
    const sendMail = async (mail: OutgoingMail) => {
      if (this.mailProblem) throw this.mailProblem;
      mails.push(mail);
      return `<${mails.length}@test>`;
    };
    const outgoing = new Outgoing({
      store,
      box: createSecretBox([SECRETS_KEY], ''),
      privateAddresses,
      version: '0.0.0',
      sendMail: withMail ? sendMail : undefined,
      ...(answerMs !== undefined && { answerMs }),
      now,
      onFailure: (cause) => console.error(cause),
    });
    closedAtEnd(async () => outgoing.close());
    this.store = store;
    this.mails = mails;
    this.registry = registryOn(store, { outgoing, catalog, now });
  }

  static async open(options: Options = {}): Promise<OutgoingWorld> {
    const { store } = await openTestRegistry(options.now);
    return new OutgoingWorld(store, options);
  }

  /** The same store as another process has it. */
  beside(options: Options = {}): OutgoingWorld {
    return new OutgoingWorld(this.store, options);
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  must(tool: string, input: object, principal = this.admin): Promise<any> {
    return this.registry.must(principal, tool, input);
  }

  refused(tool: string, input: object, principal = this.admin) {
    return this.registry.refused(principal, tool, input);
  }

  codeOf(tool: string, input: object, principal = this.admin): Promise<string> {
    return this.registry.codeOf(principal, tool, input);
  }
}
