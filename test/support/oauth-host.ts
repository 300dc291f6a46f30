import assert from 'node:assert/strict';
import { CALLBACK, decided, signedIn } from './oauth.ts';

/** What hosts keep, and what they show the person: both SDK lines ask for it in the same way. */
export class OAuthHost {
  readonly #server: Parameters<typeof signedIn>[0];
  kept: Record<string, unknown> = {};
  /** Where the host would send the browser. */
  asked: URL[] = [];
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: 'SDK host', redirect_uris: [CALLBACK] };

  constructor(server: Parameters<typeof signedIn>[0]) {
    this.#server = server;
  }

  state = () => 'state-of-host';
  clientInformation = () => this.kept.client;
  saveClientInformation = (client: unknown) => this.#keep('client', client);
  tokens = () => this.kept.tokens;
  saveTokens = (tokens: unknown) => this.#keep('tokens', tokens);
  redirectToAuthorization = (url: URL) => void this.asked.push(url);
  saveCodeVerifier = (verifier: string) => this.#keep('verifier', verifier);
  codeVerifier = () => String(this.kept.verifier);
  saveDiscoveryState = (state: unknown) => this.#keep('discovery', state);
  discoveryState = () => this.kept.discovery;
  invalidateCredentials = (what: string) => {
    if (what === 'all' || what === 'client') delete this.kept.client;
    if (what === 'all' || what === 'tokens') delete this.kept.tokens;
  };

  #keep(name: string, value: unknown): void {
    this.kept[name] = value;
  }

  /** The person opens what the host shows, and agrees. */
  async agree(give: Readonly<Record<string, string>>): Promise<URL> {
    const url = this.asked.at(-1) ?? assert.fail('the host shows nothing');
    const browser = await signedIn(this.#server);
    await browser.open(url.href);
    return decided(browser, { decision: 'allow', ...give });
  }
}
