import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { closedAtEnd } from './at-end.ts';

/** A real mail server on loopback that keeps what it gets. */
export interface MailServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** The next mail that comes, or the first that came and was not asked for yet. */
  next(): Promise<ReceivedMail>;
  /** From now on every mail is refused with this text; undefined takes them again. */
  refuse(text: string | undefined): void;
  close(): Promise<void>;
}

interface ReceivedMail {
  readonly to: readonly string[];
  /** As sent: header lines, an empty line, the body. */
  readonly source: string;
  /** The body as the reader sees it. */
  readonly text: string;
}

export async function startMailServer(auth?: { readonly user: string; readonly pass: string }): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const waiting: ((mail: ReceivedMail) => void)[] = [];
  let asked = 0;
  let refusal: string | undefined;

  function receive(mail: ReceivedMail): void {
    mails.push(mail);
    waiting.shift()?.(mail);
  }

  const server = new SMTPServer({
    authOptional: auth === undefined,
    hideSTARTTLS: true,
    allowInsecureAuth: true,
    onAuth(given, _, callback) {
      const right = given.username === auth?.user && given.password === auth?.pass;
      callback(right ? null : new Error('wrong password'), { user: given.username ?? '' });
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (refusal !== undefined) return callback(new Error(refusal));
        const source = Buffer.concat(chunks).toString('utf8');
        receive({ to: session.envelope.rcptTo.map(({ address }) => address), source, text: bodyOf(source) });
        callback();
      });
    },
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const close = closedAtEnd(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = listening.address() as AddressInfo; // listening on TCP
  const credentials = auth ? `${auth.user}:${auth.pass}@` : '';
  return {
    url: `smtp://${credentials}127.0.0.1:${port}`,
    mails,
    next() {
      const mail = mails[asked];
      asked += 1;
      return mail ? Promise.resolve(mail) : new Promise((resolve) => void waiting.push(resolve));
    },
    refuse(text) {
      refusal = text;
    },
    close,
  };
}

function bodyOf(source: string): string {
  const [head = '', ...rest] = source.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  const [, encoding = '7bit'] = /^Content-Transfer-Encoding: (\S+)/im.exec(head) ?? [];
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8');
  if (encoding !== 'quoted-printable') return body;
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
