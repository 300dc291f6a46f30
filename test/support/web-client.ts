import { send, type WireRequest } from './http.ts';

/** The parts of a page that tests look at. */
export interface WebPage {
  readonly status: number;
  readonly url: URL;
  readonly headers: Headers;
  readonly text: string;
  readonly heading: string;
}

export const FORM = { 'Content-Type': 'application/x-www-form-urlencoded;charset=UTF-8' };

/** Cookies and forms as a browser has them: it keeps cookies by origin, follows redirects and sends forms as they are. */
export class WebClient {
  /** By origin, then by name; behind the name is the path, where that is not `/`. */
  readonly cookies = new Map<string, Map<string, string>>();
  /** Receives redirects to another origin, which are not followed. */
  leave: ((url: URL) => void) | undefined;
  #page: WebPage | undefined;

  get page(): WebPage {
    if (!this.#page) throw new Error('no page was opened yet');
    return this.#page;
  }

  /** Opens an address, which may be relative to the page that is open. */
  open(address: string): Promise<WebPage> {
    return this.#load(new URL(address, this.#page?.url), { method: 'GET' });
  }

  /** Follows the link with this text. */
  follow(text: string): Promise<WebPage> {
    const links = [...this.page.text.matchAll(/<a [^>]*href="([^"]*)"[^>]*>([^<]*)<\/a>/g)];
    const link = links.find(([, , label]) => label === text);
    if (!link) throw new Error(`no link ${text} on the page ${this.page.heading}`);
    return this.open(plain(link[1] ?? ''));
  }

  /** Sends the only form of the page, with what was entered, as a click on its button does. */
  send(
    entered: Readonly<Record<string, string>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<WebPage> {
    const [, action, inside] = /<form method="post" action="([^"]*)">(.*?)<\/form>/s.exec(this.page.text) ?? [];
    if (action === undefined || inside === undefined) throw new Error(`no form on the page ${this.page.heading}`);
    const members = new URLSearchParams(entered);
    for (const [input] of inside.matchAll(/<input [^>]*>/g)) {
      const name = /name="([^"]*)"/.exec(input)?.[1] ?? '';
      if (/type="radio"/.test(input) && !/ checked/.test(input)) continue;
      members.set(name, entered[name] ?? plain(/value="([^"]*)"/.exec(input)?.[1] ?? ''));
    }
    return this.post(plain(action), members, headers);
  }

  post(address: string, body: URLSearchParams, headers: Readonly<Record<string, string>> = {}): Promise<WebPage> {
    const url = new URL(address, this.#page?.url);
    const sent = { Origin: url.origin, 'Sec-Fetch-Site': 'same-origin', ...FORM, ...headers };
    return this.#load(url, { method: 'POST', body: String(body), headers: sent });
  }

  /** The cookies it would send there, as a header. */
  cookieHeader(address: string): string {
    const { origin, pathname } = new URL(address);
    return [...(this.cookies.get(origin) ?? [])]
      .map(([key, value]) => ({ place: key.split(' '), value }))
      .filter(({ place: [, path = '/'] }) => pathname.startsWith(path))
      .map(({ place: [name], value }) => `${name}=${value}`)
      .join('; ');
  }

  async #load(start: URL, first: WireRequest): Promise<WebPage> {
    let [url, asked] = [start, first];
    for (let redirects = 0; redirects < 10; redirects += 1) {
      const cookie = this.cookieHeader(url.href);
      const headers = { ...asked.headers, ...(cookie !== '' && { Cookie: cookie }) };
      const response = await send(url.href, { ...asked, headers });
      this.#keep(url.origin, response.headers.getSetCookie());
      const { text } = response;
      const location = response.headers.get('Location') ?? refreshIn(text);
      if (location === undefined) {
        const heading = plain(/<h1>(.*?)<\/h1>/s.exec(text)?.[1] ?? '');
        this.#page = { status: response.status, url, headers: response.headers, text, heading };
        return this.#page;
      }
      const next = new URL(location, url);
      if (this.leave && next.origin !== url.origin) {
        this.leave(next);
        this.#page = { status: response.status, url, headers: response.headers, text, heading: '' };
        return this.#page;
      }
      [url, asked] = [next, { method: 'GET' }];
    }
    throw new Error(`too many redirects from ${start}`);
  }

  #keep(origin: string, lines: readonly string[]): void {
    const known = this.cookies.get(origin) ?? new Map<string, string>();
    this.cookies.set(origin, known);
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      const path = /; path=(\/[^;]+)/i.exec(line)?.[1];
      const key = path === undefined ? name : `${name} ${path}`;
      if (/; Max-Age=0(;|$)|; expires=Thu, 01 Jan 1970/i.test(line)) known.delete(key);
      else known.set(key, value);
    }
  }
}

/** Where a page takes the browser by itself, to another page of the same server. */
function refreshIn(text: string): string | undefined {
  const [, address] = /<meta http-equiv="refresh" content="0;url=([^"]*\/oauth\/[^"]*)">/.exec(text) ?? [];
  return address === undefined ? undefined : plain(address);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function plain(html: string): string {
  return html.replace(/&(\w+|#\d+);/g, (_, name: string) => ENTITIES[name] ?? '');
}
