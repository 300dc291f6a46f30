import assert from 'node:assert/strict';
import { validateHeaderName, validateHeaderValue } from 'node:http';

/** An answer as it stands on the connection. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  /** False where the connection ended before the body did. */
  readonly isWhole: boolean;
}

/** The answers to requests that were sent one behind the other. @throws where the bytes are no answers */
export function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  let rest = bytes.toString('latin1');
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    if (end < 0) break; // cut short, as the connection is given up
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n');
    const [, code] = /^HTTP\/1\.1 (\d{3})(?: [ -~]*)?$/.exec(first) ?? [];
    assert.ok(code, `no answer: ${JSON.stringify(rest.slice(0, 200))}`);
    const headers = new Headers();
    for (const line of lines) {
      const [, name = '', value = ''] =
        /^([\w-]+): ?([\t -~\x80-\xff]*)$/.exec(line) ?? assert.fail(`no header: ${JSON.stringify(line)}`);
      headers.append(name, value);
    }
    const { body, rest: left, isWhole } = bodyIn(rest.slice(end + 4), Number(code), headers);
    rest = left;
    if (Number(code) >= 200) answers.push({ status: Number(code), headers, body, isWhole });
  }
  return answers;
}

function bodyIn(text: string, status: number, headers: Headers): { body: string; rest: string; isWhole: boolean } {
  if (status < 200 || status === 204 || status === 304) return { body: '', rest: text, isWhole: true };
  // The answer to HEAD has a length and no body.
  if (text === '' || text.startsWith('HTTP/1.1 ')) return { body: '', rest: text, isWhole: true };
  const length = headers.get('content-length');
  if (length !== null) {
    const size = Number(length);
    return { body: text.slice(0, size), rest: text.slice(size), isWhole: text.length >= size };
  }
  if (headers.get('transfer-encoding') !== 'chunked') return { body: text, rest: '', isWhole: true };
  let body = '';
  let rest = text;
  for (;;) {
    const [line = '', size = ''] = /^([0-9a-f]+)\r\n/.exec(rest) ?? [];
    if (line === '') return { body, rest: '', isWhole: false };
    const bytes = Number.parseInt(size, 16);
    body += rest.slice(line.length, line.length + bytes);
    rest = rest.slice(line.length + bytes + 2);
    if (bytes === 0) return { body, rest, isWhole: true };
  }
}

const OWN =
  /^(host|content-length|transfer-encoding|connection|expect|upgrade|trailer|te|keep-alive|x-forwarded-for)$/i;

/** Whether a client sends the header as it is, besides those that it makes itself. */
export function isSendable(name: string, value: string): boolean {
  if (OWN.test(name)) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
