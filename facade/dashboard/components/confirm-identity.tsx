import { useEffect, useState } from 'preact/hooks';
import { worded } from '../passkey-messages.ts';
import { confirmWithPasskey, signedInNow } from '../passkeys.ts';
import { at } from '../router.ts';
import { text } from '../text.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorBox } from './error-box.tsx';

const ASKED_EVERY_MS = 2000;

/** Asks the person to confirm that it is them: here with a passkey, or by signing in again in another tab. */
export function ConfirmIdentity({ onAnswer }: { readonly onAnswer: (confirmed: boolean) => void }) {
  const [error, setError] = useState<unknown>();
  const [waits, setWaits] = useState(false);
  const [hasPasskey, setHasPasskey] = useState(false);
  const look = async () => {
    const { freshUntil, passkeys = 0 } = await signedInNow();
    setHasPasskey(passkeys > 0);
    if (freshUntil !== undefined) onAnswer(true);
  };
  const attempt = (work: () => Promise<void>) => {
    setError(undefined);
    return work()
      .then(look)
      .catch((problem) => setError(worded(problem)));
  };
  useEffect(() => {
    const again = () => void look().catch(setError);
    again();
    if (!waits) return undefined;
    const timer = setInterval(again, ASKED_EVERY_MS);
    addEventListener('focus', again);
    return () => {
      clearInterval(timer);
      removeEventListener('focus', again);
    };
  }, [waits]);
  return (
    <Dialog title="Confirm that it is you" onClose={() => onAnswer(false)}>
      <p>
        This makes a secret or changes who may do what, and you signed in more than 10 minutes ago. What you typed is
        kept.
      </p>
      {error !== undefined && <ErrorBox error={error} />}
      {waits && (
        <p role="status" class="quiet">
          Waiting until you have signed in, in the other tab or by a link in this browser.
        </p>
      )}
      <div class="actions end">
        <Button text={text.cancel} onClick={() => onAnswer(false)} />
        <a
          class={hasPasskey ? 'button' : 'button primary'}
          href={at('/sign-in/again')}
          target="_blank"
          rel="noreferrer"
          onClick={() => setWaits(true)}
        >
          Sign in again
        </a>
        {hasPasskey && (
          <Button text="Use a passkey" look="primary" icon="key" onClick={() => void attempt(confirmWithPasskey)} />
        )}
      </div>
      <p class="hint">{HOW}</p>
    </Dialog>
  );
}

const HOW =
  'Signing in again opens a new tab with the ways that you know: a provider, or a link by mail. Without a mail server the link is printed on the console of the server, where create_sign_in_link makes one too.';
