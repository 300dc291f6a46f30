import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { errorStatus } from '../../resources/error.ts';
import { ToolError, toToolError } from '../../tools/core/errors.ts';
import { readSettings } from '../../tools/settings/settings.ts';
import { acceptedTypes } from '../http/accept.ts';
import { readForm } from '../http/body.ts';
import { addressOf } from '../http/caller-address.ts';
import { type Guards, isOtherName } from '../http/guards.ts';
import { requestIdOf } from '../http/native-prototypes.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import { sendError } from '../http/respond.ts';
import type { OnUncaught } from '../http/uncaught.ts';
import { type Browsers, createBrowsers, formToken } from './browser.ts';
import { ANY_PAGE, createHandlers } from './handlers.ts';
import { sendOn, sendPage } from './layout.ts';
import { type PageProblem, problemPage } from './views.ts';
import type { Handler, HandlerOptions, Handlers, Visit } from './visit.ts';

interface PagesOptions extends Omit<HandlerOptions, 'browsers'> {
  readonly guards: Guards;
  readonly refused: RefusedRequests;
  readonly baseUrl: string;
  readonly logger: Logger;
  readonly onUncaught: OnUncaught;
  /** Handlers of other pages. */
  readonly more?: Handlers | undefined;
}

/** The pages outside `/api` where people sign in and out. They work without script. */
export function createPages(options: PagesOptions) {
  const pages = new Pages(options);
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void =>
    pages.serve(request, response, next);
}

class Pages {
  readonly #options: PagesOptions;
  readonly #base: URL;
  readonly #browsers: Browsers;
  readonly #handlers: ReadonlyMap<string, Handler>;

  constructor(options: PagesOptions) {
    this.#options = options;
    this.#base = new URL(options.baseUrl);
    this.#browsers = createBrowsers(this.#base.protocol === 'https:');
    const handlers = { ...createHandlers({ ...options, browsers: this.#browsers }), ...options.more };
    this.#handlers = new Map(Object.entries(handlers));
  }

  serve(request: IncomingMessage, response: ServerResponse, next: () => void): void {
    const [path = ''] = (request.url ?? '').split('?');
    if (this.#methodsOf(path).length === 0 && !isPage(request, path)) {
      next();
      return;
    }
    if (/^(GET|HEAD)$/.test(request.method ?? '') && this.#isOtherName(request.headers.host)) {
      sendOn(response, `${this.#base.origin}${this.#at(request.url ?? '/')}`);
      return;
    }
    this.#answer(request, response, new URL(request.url ?? '/', this.#base.origin)).catch((error) =>
      this.#options.onUncaught(error, response),
    );
  }

  async #answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const requestId = requestIdOf(response);
    const workspace = (await readSettings(this.#options.store)).workspaceName;
    try {
      const handle = this.#handlerOf(request.method === 'HEAD' ? 'GET' : request.method, url.pathname);
      if (!handle) {
        response.setHeader('Allow', this.#methodsOf(url.pathname).join(', ').replace('GET', 'HEAD, GET'));
        throw new ToolError('method_not_allowed', 'This page does not accept that method.');
      }
      const { browser, form } = await this.#admit(request, response);
      const visitor = { address: addressOf(request), requestId };
      const around = { workspace, at: this.#at, formToken: formToken(browser) };
      await handle({ request, response, url, visitor, browser, form, around });
    } catch (thrown) {
      this.#fail(request, response, toToolError(thrown), { workspace, requestId, path: url.pathname });
    }
  }

  /** Checks that a form comes from one of our pages in this browser. Refused forms are counted. @throws ToolError */
  async #admit(request: IncomingMessage, response: ServerResponse): Promise<Pick<Visit, 'browser' | 'form'>> {
    const { guards, refused } = this.#options;
    try {
      guards.check(request, true);
      if (request.method !== 'POST') return { browser: this.#browsers.meet(request, response), form: new Map() };
      const form = await readForm(request);
      return { browser: this.#browsers.recognise(request, form), form };
    } catch (refusal) {
      refused.count(addressOf(request), toToolError(refusal).code);
      throw refusal;
    }
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: ToolError, failed: Failed): void {
    const { workspace, requestId, path } = failed;
    const { logger } = this.#options;
    if (error.code === 'internal') logger.error({ requestId, err: error.cause }, 'request failed');
    if (response.headersSent) return void response.destroy();
    if (isForScript(request)) return void sendError(response, error, requestId);
    const { retryAfterSeconds = error.code === 'unavailable' ? 5 : undefined } = error.detail;
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    if (error.code === 'unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer');
    if (error.code === 'too_large') response.setHeader('Connection', 'close');
    const problem = { ...describe(error, path), requestId };
    sendPage(response, errorStatus[error.code], problemPage({ workspace, at: this.#at }, problem));
  }

  readonly #at = (path: string): string => `${this.#base.pathname.replace(/\/$/, '')}${path}`;

  #handlerOf(method = '', path: string): Handler | undefined {
    return this.#handlers.get(this.#methodsOf(path).length === 0 ? ANY_PAGE : `${method} ${templateOf(path)}`);
  }

  #methodsOf(path: string): string[] {
    return ['GET', 'POST'].filter((method) => this.#handlers.has(`${method} ${templateOf(path)}`));
  }

  /**
   * Whether the page was opened as `localhost` instead of 127.0.0.1. For a browser these are two sites that do not share cookies and forms.
   */
  #isOtherName(host = ''): boolean {
    return host !== this.#base.host && isOtherName(`${this.#base.protocol}//${host}`, this.#base);
  }
}

/** Paths that are for programs, or belong to other parts of the server. */
const NO_PAGE = /^\/(\/|(api|assets|oauth|sign-in|sign-out|\.well-known)(\/|$))/;

/** Whether a browser opens a page of the dashboard. Programs that ask for an unknown path get an error in JSON. */
function isPage({ method, headers }: IncomingMessage, path: string): boolean {
  return method === 'GET' && !NO_PAGE.test(path) && acceptedTypes(headers.accept).includes('text/html');
}

/** Scripts of our pages ask for JSON; whoever opens a page or sends a form gets a page. */
function isForScript({ headers }: IncomingMessage): boolean {
  const accepted = acceptedTypes(headers.accept);
  return accepted.includes('application/json') && !accepted.includes('text/html');
}

/** The page of an app that asks has the id of the request in its path, so that browsers keep one cookie for each. */
function templateOf(path: string): string {
  return path.replace(/^(\/oauth\/consent\/)[\w-]+$/, '$1{id}');
}

interface Failed {
  readonly workspace: string;
  readonly requestId: string;
  readonly path: string;
}

function describe({ code, message, detail }: ToolError, path: string): Pick<PageProblem, 'title' | 'text'> {
  if (code === 'unauthenticated' && path === '/sign-in/passkey') {
    return message === 'Authentication required' ? BAD_PASSKEY : { ...BAD_PASSKEY, text: message };
  }
  if (code === 'unauthenticated') return path === '/sign-in/link' ? BAD_LINK : NOT_VOUCHED_FOR;
  if (code === 'rate_limited') return { title: 'Too many attempts', text: message };
  if (code === 'forbidden') return { title: 'This was not accepted', text: detail.issues?.[0]?.message ?? message };
  return { title: 'This did not work', text: message };
}

const BAD_LINK = {
  title: 'This link does not sign you in',
  text: 'A link works once, within 10 minutes, and in the browser in which it was asked for. Ask for a new one.',
};
const BAD_PASSKEY = {
  title: 'This passkey does not sign you in',
  text: 'It may have been removed here, or it took longer than 5 minutes. Try again, or sign in another way.',
};
const NOT_VOUCHED_FOR = {
  title: 'You are not signed in',
  text: 'The sign-in provider did not confirm an e-mail address that may sign in here. Try again, or ask who runs this workspace.',
};
