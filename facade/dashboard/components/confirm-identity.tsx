import { useEffect, useState } from 'preact/hooks';
import { boot } from '../boot.ts';
import { at } from '../router.ts';
import { text } from '../text.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorBox } from './error-box.tsx';

/** What the server knows of whoever is signed in in this browser. */
interface State {
  readonly userId?: string;
  readonly freshUntil?: string;
}

async function stateNow(): Promise<State> {
  const response = await fetch(at('/sign-in/state'), { credentials: 'same-origin' });
  return (await response.json()) as State; // as the sign-in pages answer
}

const ASKED_EVERY_MS = 2000;

/** Asks the person to confirm that it is them, and says when they did: in another tab, or here with a passkey. */
export function ConfirmIdentity({ onAnswer }: { readonly onAnswer: (confirmed: boolean) => void }) {
  const [error, setError] = useState<unknown>();
  const [waits, setWaits] = useState(false);
  const look = async () => {
    const { userId, freshUntil } = await stateNow();
    if (userId !== boot.user.id) throw new Error(SOMEBODY_ELSE);
    if (freshUntil !== undefined) onAnswer(true);
  };
  useEffect(() => {
    if (!waits) return undefined;
    const again = () => void look().catch(setError);
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
        This makes secrets or changes who may do what, and you signed in more than 10 minutes ago. What you typed is
        kept.
      </p>
      {error !== undefined && <ErrorBox error={error} />}
      {waits && (
        <p role="status" class="quiet">
          Waiting until you have signed in, in the other tab or by a link in this browser.
        </p>
      )}
      <div class="actions end">
        <Button onClick={() => onAnswer(false)}>{text.cancel}</Button>
        <a
          class="button primary"
          href={at('/sign-in/again')}
          target="_blank"
          rel="noreferrer"
          onClick={() => setWaits(true)}
        >
          Sign in again
        </a>
      </div>
      <p class="quiet">{HOW}</p>
    </Dialog>
  );
}

const SOMEBODY_ELSE = 'Somebody else is signed in in this browser by now. Copy what you typed and load the page again.';
const HOW =
  'It opens a new tab with the ways in that you know: a provider, or a link by mail. Without a mail server the link is printed on the console of the server, where create_sign_in_link makes one too.';
