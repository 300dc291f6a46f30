import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  WebAuthnAbortService,
} from '@simplewebauthn/browser';
import { problemWords } from './passkey-messages.ts';

type Options = Parameters<typeof startAuthentication>[0]['optionsJSON'];

/** Before the challenge in the suggestions of the e-mail field is too old. */
const RENEWED_MS = 4 * 60 * 1000;

async function ask(path: string): Promise<Options> {
  const response = await fetch(path, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error);
  return body as Options; // as the server answers
}

function begin(form: HTMLFormElement): void {
  const [answer, problem] = [form.elements.namedItem('answer'), form.querySelector('.problem')];
  if (!(answer instanceof HTMLInputElement) || !(problem instanceof HTMLElement)) return;
  let left = false;

  async function signIn(useBrowserAutofill: boolean): Promise<void> {
    const optionsJSON = await ask(form.action);
    const used = await startAuthentication({ optionsJSON, useBrowserAutofill });
    if (answer instanceof HTMLInputElement) answer.value = JSON.stringify(used);
    left = true;
    form.submit();
  }

  /** The browser suggests passkeys in the e-mail field. Whoever chooses none sees nothing of it. */
  async function suggest(): Promise<void> {
    if (left || !(await browserSupportsWebAuthnAutofill())) return;
    await signIn(true).catch(() => undefined);
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    problem.hidden = true;
    signIn(false).catch((error) => {
      problem.textContent = problemWords(error);
      problem.hidden = false;
      void suggest();
    });
  });
  form.hidden = false;
  void suggest();
  setInterval(() => {
    WebAuthnAbortService.cancelCeremony();
    void suggest();
  }, RENEWED_MS);
}

const form = document.getElementById('passkey');
if (form instanceof HTMLFormElement && browserSupportsWebAuthn()) begin(form);
