import { APP_SCOPES, type AppScope, appScope } from '../../resources/connected-app.ts';
import { errorStatus } from '../../resources/error.ts';
import type { Store } from '../../store/port.ts';
import { agreeing } from '../../tools/apps/authorize-app.ts';
import { mayUseCapsule } from '../../tools/core/access/app-principal.ts';
import { capsulePrincipal } from '../../tools/core/access/capsule-principal.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import type { SessionCookies } from '../http/session-cookie.ts';
import { isMarkFor, markFor } from '../sign-in/browser.ts';
import { BrowserSessions } from '../sign-in/browser-sessions.ts';
import { sendOn, sendPage } from '../sign-in/layout.ts';
import type { PageRequest } from '../sign-in/page-request.ts';
import { returnPath } from '../sign-in/return-path.ts';
import type { Consent, ConsentRequest, Decision } from './consent-handlers.ts';
import { capsulePage, choicePage, type PageOptions, type Problem, tokenPage } from './consent-views.ts';
import { Offers } from './offers.ts';
import { TokenProofs } from './token-proofs.ts';

interface ConsentOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly cookies: SessionCookies;
  readonly refused: RefusedRequests;
}

/** Who agrees: a person who is signed in, or the holder of the capsule's token. */
type By = { readonly principal: Principal; readonly tokenPrefix?: string };

/** The page on which people let an app in. */
export class ConsentPage implements Consent {
  readonly #options: ConsentOptions;
  readonly #sessions: BrowserSessions;
  readonly #offers: Offers;
  readonly #proofs: TokenProofs;

  constructor(options: ConsentOptions) {
    const { store, registry } = options;
    const { catalog } = registry.server;
    this.#options = options;
    this.#sessions = new BrowserSessions(options);
    this.#offers = new Offers(store, registry);
    this.#proofs = new TokenProofs({ store, catalog, now: () => registry.server.now() });
  }

  /** Shows what is asked. A person who is not signed in, or must confirm a decision, signs in first and comes back. */
  async show(context: PageRequest, asked: ConsentRequest): Promise<Decision | undefined> {
    const confirmed = await this.#confirmed(context, asked);
    if (!confirmed) return this.#show(context, asked).then(() => undefined);
    const decision = await this.#allow(context, asked, confirmed);
    if (decision) returnPath.take(context.request, context.response);
    return decision;
  }

  async #show(context: PageRequest, asked: ConsentRequest, problem?: Problem): Promise<void> {
    const person = await this.#sessions.of(context);
    // Also for a person who goes on as somebody else.
    returnPath.keep(context.response, context.url.pathname);
    const page: PageOptions = {
      asked,
      around: context.around,
      action: context.around.at(context.url.pathname),
      problem,
    };
    if (asked.capsuleId !== undefined) return this.#showCapsule(context, page, asked.capsuleId, person);
    if (!person) return sendOn(context.response, context.around.at('/sign-in'));
    const [scopes, capsules, chosen] = await Promise.all([
      this.#offers.scopes(asked, person),
      this.#offers.capsules(asked, person),
      this.#chosenBefore(asked, person),
    ]);
    sendPage(context.response, statusOf(problem), choicePage(page, { person: person.name, scopes, capsules, chosen }));
  }

  /** What came of the form. Undefined if the page is shown again. */
  async decide(context: PageRequest, asked: ConsentRequest): Promise<Decision | undefined> {
    const decision = await this.#decide(context, asked);
    if (decision) returnPath.take(context.request, context.response);
    return decision;
  }

  async #decide(context: PageRequest, asked: ConsentRequest): Promise<Decision | undefined> {
    const { form } = context;
    if (form.get('decision') === 'token') return this.#takeToken(context, asked);
    const by = await this.#by(context, asked);
    if (form.get('decision') !== 'allow') {
      if (by) await this.#call(context, asked, by, { decision: 'deny' });
      return { denied: true };
    }
    if (!by) return this.#again(context, asked, 'You are not signed in any more.');
    if (by.principal.name !== form.get('as'))
      return this.#again(context, asked, 'Somebody else has signed in meanwhile.');
    const given = givenBy(form, asked);
    if (!given) return this.#again(context, asked, 'Choose what the app may do.');
    return this.#allow(context, asked, { by, given });
  }

  async #allow(context: PageRequest, asked: ConsentRequest, { by, given }: Allowed): Promise<Decision | undefined> {
    if (asked.capsuleId === undefined && !(await this.#offers.holds(asked, by.principal, given)))
      return this.#again(context, asked, 'The app did not ask for so much, or you may not do it yourself.');
    const answer = await this.#call(context, asked, by, { decision: 'allow', ...given });
    if (!answer.ok && answer.error.required?.freshSignIn) return confirmFirst(context, asked, { by, given });
    if (!answer.ok) return this.#again(context, asked, answer.error.issues?.[0]?.message ?? answer.error.error);
    const { id } = answer.output as { readonly id: string }; // of a call that allows
    const app = await this.#options.store.connectedApps.get(id);
    await this.#proofs.forget(asked.interactionId);
    return app ? { app, scopes: app.scopes } : this.#again(context, asked, 'The connection ended at once.');
  }

  /** What the person decided in this browser before they confirmed that it is them. */
  async #confirmed(context: PageRequest, asked: ConsentRequest): Promise<Allowed | undefined> {
    const { searchParams } = context.url;
    const given = givenBy(searchParams, asked);
    const principal = given && (await this.#sessions.of(context));
    if (!given || principal?.freshUntil === undefined) return undefined;
    const allowed = { by: { principal }, given };
    return isMarkFor(context.browser, decidedText(asked, allowed), searchParams.get('mark') ?? '')
      ? allowed
      : undefined;
  }

  async #showCapsule(
    context: PageRequest,
    page: PageOptions,
    capsuleId: string,
    person: Principal | undefined,
  ): Promise<void> {
    const { asked } = page;
    const capsule = await this.#options.store.capsules.get(capsuleId);
    const proof = capsule && (await this.#proofs.find(asked.interactionId, capsuleId, context.browser));
    const user = capsule && person && mayUseCapsule(person, capsule) ? { userId: person.ownerId } : undefined;
    const by = proof ?? user;
    const offer = capsule && by && (await this.#offers.capsule(asked, capsule, by));
    const problem = page.problem ?? (typeof offer === 'string' ? { text: offer, status: 409 } : undefined);
    const html =
      typeof offer === 'object'
        ? capsulePage(page, { offer, person: proof ? undefined : person?.name })
        : tokenPage({ ...page, problem }, { person: person?.name, isServed: typeof offer !== 'string' });
    sendPage(context.response, statusOf(problem), html);
  }

  /** Wrong tokens are counted; no token is logged or audited. */
  async #takeToken(context: PageRequest, asked: ConsentRequest): Promise<undefined> {
    const { interactionId, capsuleId } = asked;
    const { browser, address, form } = context;
    if (capsuleId === undefined) return this.#again(context, asked, 'Choose what the app may do.');
    const by = { interactionId, browser, address };
    try {
      if (await this.#proofs.show(form.get('token') ?? '', capsuleId, by)) return this.#again(context, asked);
    } catch (refused) {
      if (!(refused instanceof ToolError)) throw refused;
      this.#options.refused.count(address, refused.code);
      return this.#again(context, asked, refused.message, errorStatus[refused.code]);
    }
    this.#options.refused.count(address, 'unauthenticated');
    return this.#again(context, asked, 'This is not a token of this address. Copy the whole token, from cpt_ on.');
  }

  async #again(context: PageRequest, asked: ConsentRequest, text?: string, status = 400): Promise<undefined> {
    await this.#show(context, asked, text === undefined ? undefined : { text, status });
  }

  async #by(context: PageRequest, { interactionId, capsuleId }: ConsentRequest): Promise<By | undefined> {
    const proof =
      capsuleId === undefined ? undefined : await this.#proofs.find(interactionId, capsuleId, context.browser);
    const principal = proof ? undefined : await this.#sessions.of(context);
    if (principal) return { principal };
    const capsule = capsuleId === undefined ? undefined : await this.#options.store.capsules.get(capsuleId);
    if (!proof || !capsule) return undefined;
    const { catalog } = this.#options.registry.server;
    const owner = await this.#options.store.adminUsers.get(capsule.ownerId);
    return { principal: agreeing(capsulePrincipal(capsule, catalog, owner)), tokenPrefix: proof.tokenPrefix };
  }

  #call(context: PageRequest, asked: ConsentRequest, { principal, tokenPrefix }: By, decided: Decided) {
    const { id: clientId, name, host, verified } = asked.client;
    return this.#options.registry.call({
      principal,
      tool: 'authorize_app',
      input: {
        interaction: asked.interactionId,
        clientId,
        client: { name, host, verified },
        resource: asked.resource,
        ...(tokenPrefix !== undefined && { tokenPrefix }),
        ...decided,
      },
      door: 'rest',
      requestId: context.requestId,
      client: context.request.headers['user-agent'],
    });
  }

  /** Reading, so that a new app begins with little; what it asks for now, where the person has let it in before. */
  async #chosenBefore({ client, resource, scopes }: ConsentRequest, person: Principal): Promise<AppScope> {
    const where = { userId: person.ownerId, clientId: client.id, resource };
    const known = await this.#options.store.connectedApps.first({ where });
    const wanted = known ? APP_SCOPES.findLast((scope) => scopes.includes(scope)) : undefined;
    return wanted ?? 'read';
  }
}

interface Allowed {
  readonly by: By;
  readonly given: DecisionTerms;
}

/** Has the person confirm that it is them, and come back with what they decided. */
function confirmFirst(
  { response, around, url, browser }: PageRequest,
  asked: ConsentRequest,
  allowed: Allowed,
): undefined {
  const mark = markFor(browser, decidedText(asked, allowed));
  const then = `${url.pathname}?${new URLSearchParams({ give: allowed.given.scopes?.at(-1) ?? '', mark })}`;
  sendOn(response, around.at(`/sign-in/again?${new URLSearchParams({ then })}`));
}

function decidedText({ interactionId }: ConsentRequest, { by, given }: Allowed): string {
  return JSON.stringify([interactionId, by.principal.ownerId, given]);
}

type DecisionTerms = Omit<Decided, 'decision'>;

interface Decided {
  readonly decision: 'allow' | 'deny';
  readonly scopes?: readonly AppScope[];
  readonly capsuleId?: string;
}

interface Form {
  get(member: string): string | null | undefined;
}

/** What the form hands out. Undefined if nothing was chosen. */
function givenBy(form: Form, { capsuleId }: ConsentRequest): DecisionTerms | undefined {
  if (capsuleId !== undefined) return { capsuleId };
  const chosen = form.get('give') ?? '';
  if (chosen === 'capsule') {
    const id = form.get('capsule') ?? '';
    return id === '' ? undefined : { capsuleId: id };
  }
  const { data: scope } = appScope.safeParse(chosen);
  return scope && { scopes: APP_SCOPES.slice(0, APP_SCOPES.indexOf(scope) + 1) };
}

function statusOf(problem: Problem | undefined): number {
  return problem?.status ?? 200;
}
