import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { errorStatus } from '../../resources/error.ts';
import { ToolError, toToolError } from '../../tools/core/errors.ts';
import { readSettings } from '../../tools/settings/settings.ts';
import { readForm } from '../http/body.ts';
import { type Guards, isOtherName } from '../http/guards.ts';
import type { Middleware } from '../http/middleware.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sendError } from '../http/respond.ts';
import { acceptedTypes } from '../http/target.ts';
import { type Browsers, createBrowsers, formToken } from './browser.ts';
import { ANY_PAGE, createHandlers } from './handlers.ts';
import { sendOn, sendPage } from './layout.ts';
import type { Handler, HandlerOptions, Handlers, PageRequest } from './page-request.ts';
import { type PageProblem, problemPage } from './views.ts';

interface PagesOptions extends Omit<HandlerOptions, 'browsers'> {
  readonly guards: Guards;
  readonly refused: RefusedRequests;
  readonly baseUrl: string;
  readonly logger: Logger;
  readonly more?: Handlers | undefined;
}

/** The pages outside `/api` where people sign in and out. They work without script. */
export class Pages {
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

  readonly serve: Middleware = (context, next) => {
    const { request, response, target } = context;
    if (!target.url || (this.#methodsOf(target.path).length === 0 && !isPage(request, target.path))) return next();
    if (/^(GET|HEAD)$/.test(request.method ?? '') && this.#isOtherName(request.headers.host)) {
      return sendOn(response, `${this.#base.origin}${this.#at(request.url ?? '/')}`);
    }
    return this.#answer(context);
  };

  async #answer(context: RequestContext): Promise<void> {
    const { request, response, target } = context;
    const workspace = (await readSettings(this.#options.store)).workspaceName;
    try {
      const handle = this.#handlerOf(request.method === 'HEAD' ? 'GET' : request.method, target.path);
      if (!handle) {
        response.setHeader('Allow', this.#methodsOf(target.path).join(', ').replace('GET', 'HEAD, GET'));
        throw new ToolError('method_not_allowed', 'This page does not accept that method.');
      }
      const { browser, form } = await this.#admit(context);
      const visitor = { address: context.address, requestId: context.requestId };
      const around = { workspace, at: this.#at, formToken: formToken(browser) };
      await handle(Object.assign(context, { visitor, browser, form, around }));
    } catch (thrown) {
      this.#fail(context, toToolError(thrown), workspace);
    }
  }

  /** Checks that a form comes from one of our pages in this browser. Refused forms are counted. @throws ToolError */
  async #admit({ request, response, address }: RequestContext): Promise<Pick<PageRequest, 'browser' | 'form'>> {
    const { guards, refused } = this.#options;
    try {
      guards.check(request, true);
      if (request.method !== 'POST') return { browser: this.#browsers.meet(request, response), form: new Map() };
      const form = await readForm(request);
      return { browser: this.#browsers.recognise(request, form), form };
    } catch (refusal) {
      refused.count(address, toToolError(refusal).code);
      throw refusal;
    }
  }

  #fail({ request, response, requestId, target }: RequestContext, error: ToolError, workspace: string): void {
    const { logger } = this.#options;
    if (error.code === 'internal') logger.error({ requestId, err: error.cause }, 'request failed');
    if (response.headersSent) return void response.destroy();
    if (isForScript(request)) return void sendError(response, error);
    const { retryAfterSeconds = error.code === 'unavailable' ? 5 : undefined } = error.detail;
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', retryAfterSeconds);
    if (error.code === 'unauthenticated') response.setHeader('WWW-Authenticate', 'Bearer');
    if (error.code === 'too_large') response.setHeader('Connection', 'close');
    const problem = { ...describe(error, target.path), requestId };
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

/** Scripts of our pages ask for JSON; browsers that open a page or send a form get a page. */
function isForScript({ headers }: IncomingMessage): boolean {
  const accepted = acceptedTypes(headers.accept);
  return accepted.includes('application/json') && !accepted.includes('text/html');
}

/** The page of an app that asks has the id of the request in its path, so that browsers keep one cookie for each. */
function templateOf(path: string): string {
  return path.replace(/^(\/oauth\/consent\/)[\w-]+$/, '$1{id}');
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
