import type { AppScope } from '../../resources/connected-app.ts';
import type { Store } from '../../store/port.ts';
import { authenticateSession } from '../../tools/sign-in/open-sessions.ts';
import type { SessionCookies } from '../http/session-cookie.ts';
import { html } from '../sign-in/html.ts';
import { sendOn, sendPage } from '../sign-in/layout.ts';
import type { Visit } from '../sign-in/visit.ts';
import type { Asked, Consent } from './consent-handlers.ts';

interface Options {
  readonly store: Store;
  readonly cookies: SessionCookies;
  now(): Date;
}

/** Asks a person who is signed in for what the app asked for. */
export function createPlainConsent({ store, cookies, now }: Options): Consent {
  async function personOf({ request }: Visit) {
    const session = cookies.read(request);
    return session === undefined ? undefined : authenticateSession(store, session, now());
  }

  return {
    async show(visit, { client, resource, scopes }) {
      const { response, around, url } = visit;
      if (!(await personOf(visit))) return sendOn(response, around.at('/sign-in'));
      sendPage(response, 200, {
        title: `Connect ${client.name}`,
        formsLeadTo: client.redirectUri,
        body: html`<h1>Connect ${client.name}?</h1>
<p>It asks to use ${resource} as you (${scopes.join(', ')}), and answers go to ${client.host}.</p>
<form method="post" action="${around.at(url.pathname)}">
<input type="hidden" name="form" value="${around.formToken}">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="second">Cancel</button>
</form>`,
      });
    },
    async decide(visit, asked: Asked) {
      const person = await personOf(visit);
      if (!person || asked.capsuleId !== undefined || visit.form.get('decision') !== 'allow') return { denied: true };
      const { id, name, host, verified } = asked.client;
      const scopes = asked.scopes as AppScope[]; // known to the protocol
      const app = await store.transaction((tx) =>
        tx.connectedApps.insert({
          clientId: id,
          client: { name, host, verified },
          resource: asked.resource,
          scopes,
          userId: person.id,
        }),
      );
      return { app, scopes };
    },
  };
}
