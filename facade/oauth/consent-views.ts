import type { AppScope } from '../../resources/connected-app.ts';
import { type Html, html } from '../http/html.ts';
import type { HtmlPage } from '../sign-in/layout.ts';
import type { PageContext } from '../sign-in/views.ts';
import { THIS_COMPUTER } from './client-metadata.ts';
import type { ConsentRequest } from './consent-handlers.ts';
import type { CapsuleOffer, Offer, ScopeOffer } from './offers.ts';

export interface PageOptions {
  readonly asked: ConsentRequest;
  readonly around: PageContext;
  readonly action: string;
  readonly problem: Problem | undefined;
}

export interface Problem {
  readonly text: string;
  readonly status: number;
}

interface Choice {
  readonly person: string;
  readonly scopes: readonly ScopeOffer[];
  readonly capsules: readonly CapsuleOffer[];
  readonly chosen: AppScope;
}

const SCOPES: Readonly<Record<AppScope, { readonly title: string; readonly text: string }>> = {
  read: { title: 'Read', text: 'See what you can see, and change nothing.' },
  write: { title: 'Read and write', text: 'Also make, change and delete records, and run agents and flows.' },
  admin: { title: 'Administer', text: 'Also change settings, import data, read the audit log and delete for good.' },
};

/** At the unified endpoint: the person chooses what to hand out. */
export function choicePage(page: PageOptions, { person, scopes, capsules, chosen }: Choice): HtmlPage {
  const preset = scopes.find(({ scope }) => scope === chosen)?.scope ?? scopes.at(-1)?.scope;
  const options = scopes.map((offer) => scopeOption(offer, offer.scope === preset));
  const isNothing = scopes.length === 0 && capsules.length === 0;
  return consentPage(page, {
    subject: html`<dt>For</dt><dd>all of ${page.around.workspace}</dd>`,
    person,
    form: isNothing
      ? html`<p class="problem" role="alert">You have no rights that an app could have.</p>`
      : html`<fieldset>
<legend>What may it do as you?</legend>
${options}
${capsules.length > 0 && capsuleOption(capsules, preset === undefined)}
</fieldset>
${allow(person)}`,
    after: signOut(page, 'quiet'),
  });
}

/** At a capsule's endpoint, for somebody who may let apps in there: a person, or the holder of its token. */
export function capsulePage(
  page: PageOptions,
  { offer, person }: { readonly offer: CapsuleOffer; readonly person: string | undefined },
): HtmlPage {
  return consentPage(page, {
    subject: html`<dt>For</dt><dd>the capsule ${offer.name}</dd>`,
    person,
    form: html`<p>It may use ${tools(offer)} of this capsule, and nothing else${
      person === undefined && '. The connection ends when the token is replaced'
    }.</p>
${powerful(offer)}
${allow(person ?? offer.name)}`,
    ...(person !== undefined && { after: signOut(page, 'quiet') }),
  });
}

/** Shown at a capsule's endpoint to everybody else. The text does not reveal whether the capsule exists. */
export function tokenPage(
  page: PageOptions,
  { person, isServed }: { readonly person: string | undefined; readonly isServed: boolean },
): HtmlPage {
  const { action, around, asked } = page;
  return consentPage(page, {
    subject: html`<dt>For</dt><dd>${asked.resource}</dd>`,
    person,
    form: html`<label for="token">Token of this address</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required maxlength="300" aria-describedby="hint">
<p class="hint" id="hint">It begins with cpt_. The person who gave you this address has it.</p>
<button name="decision" value="token">Continue</button>`,
    after: html`<p class="or">or</p>
${
  person === undefined
    ? html`<a class="button second" href="${around.at('/sign-in')}">Sign in</a>`
    : html`${isServed && html`<p>You are signed in as ${person}, who may not let apps in here.</p>`}
${signOut(page, 'second')}`
}
<form method="post" action="${action}">
<input type="hidden" name="form" value="${around.formToken}">
<button class="second" name="decision" value="deny">Cancel</button>
</form>`,
  });
}

interface PageParts {
  readonly subject: Html;
  readonly person: string | undefined;
  readonly form: Html;
  readonly after?: Html;
}

function consentPage(
  { asked, around, action, problem }: PageOptions,
  { subject, person, form, after }: PageParts,
): HtmlPage {
  const { client } = asked;
  const heading = headingOf(client);
  return {
    title: `${problem === undefined ? '' : 'Problem: '}${heading} – ${around.workspace}`,
    formsLeadTo: client.redirectUri,
    isAwaited: true,
    body: html`<h1>${heading}</h1>
${problem !== undefined && html`<p class="problem" role="alert">${problem.text}</p>`}
${client.verified ? html`<p>${client.name} asks to be connected to ${around.workspace}.</p>` : unverified(client)}
<dl>
${subject}
<dt>Goes to</dt><dd>${client.host}</dd>
${person !== undefined && html`<dt>As</dt><dd>${person}</dd>`}
</dl>
<form method="post" action="${action}">
<input type="hidden" name="form" value="${around.formToken}">
${form}
</form>
${after}`,
  };
}

/** A name that nobody checked is not in the heading. */
function headingOf({ name, host, verified }: ConsentRequest['client']): string {
  if (verified) return `Connect ${name}?`;
  if (host === THIS_COMPUTER) return `Connect an app on ${host}?`;
  return host.startsWith('the app for ') ? `Connect ${host}?` : `Connect an app of ${host}?`;
}

function unverified({ name, host }: ConsentRequest['client']): Html {
  return html`<p class="warning"><strong>Unverified.</strong> It calls itself “${name}”, and nobody checked that. What you allow goes to <strong>${host}</strong>. Go on only if you have just started this yourself.</p>`;
}

function allow(as: string): Html {
  return html`<input type="hidden" name="as" value="${as}">
<button name="decision" value="allow">Connect</button>
<button class="second" name="decision" value="deny">Cancel</button>`;
}

function scopeOption(offer: ScopeOffer, isChosen: boolean): Html {
  const { scope } = offer;
  const { title, text } = SCOPES[scope];
  return html`<div class="choice">
<input type="radio" name="give" value="${scope}" id="give-${scope}" aria-describedby="about-${scope}"${isChosen && html` checked`}>
<label for="give-${scope}">${title}</label>
<p id="about-${scope}">${text} ${tools(offer)}.</p>
${powerful(offer)}
</div>`;
}

function capsuleOption(capsules: readonly CapsuleOffer[], isChosen: boolean): Html {
  return html`<div class="choice">
<input type="radio" name="give" value="capsule" id="give-capsule"${isChosen && html` checked`}>
<label for="give-capsule">Only the tools of a capsule</label>
<select name="capsule" aria-label="Capsule">
${capsules.map(({ id, name, count }) => html`<option value="${id}">${name} (${count} ${count === 1 ? 'tool' : 'tools'})</option>`)}
</select>
${capsules.slice(0, MOST_SHOWN).map((offer) => powerful(offer, offer.name))}
</div>`;
}

const MOST_SHOWN = 10;

/** In a list of choices it is shown for the chosen one alone, without script. */
function powerful({ count, powerful: named }: Offer, of?: string): Html {
  if (count === 0) return html`<p class="named">${of !== undefined && `${of}: `}Nothing of it is left to you.</p>`;
  const names = named.map(({ name }, index) => html`${index > 0 && ', '}<code>${name}</code>`);
  const label = of ?? (count > named.length ? 'The most powerful' : 'These');
  return html`<p class="named">${label}: ${names}.</p>`;
}

function tools({ count }: Offer): string {
  return count === 1 ? '1 tool' : `${count} tools`;
}

/** The person comes back as somebody else. */
function signOut({ around }: PageOptions, look: 'second' | 'quiet'): Html {
  return html`<form method="post" action="${around.at('/sign-out')}">
<input type="hidden" name="form" value="${around.formToken}">
<button class="${look}">Sign in as somebody else</button>
</form>`;
}
