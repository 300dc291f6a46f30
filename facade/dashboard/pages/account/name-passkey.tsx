import { useState } from 'preact/hooks';
import { act, text } from '../../app.ts';
import { worded } from '../../passkey-messages.ts';
import { addPasskey } from '../../passkeys.ts';
import { Button, Dialog, ErrorBox, useAction } from '../../ui.ts';

interface Props {
  /** The one to rename. Without one, another is made. */
  readonly passkey?: { readonly id: string; readonly name: string };
  readonly onClose: () => void;
}

/** Asks for the name that a passkey is listed with, and then has the browser make it. */
export function NamePasskey({ passkey, onClose }: Props) {
  const [name, setName] = useState(passkey?.name ?? hereWords());
  const { busy, error, run } = useAction();
  const submit = async (event: Event) => {
    event.preventDefault();
    const work = () => (passkey ? act('rename_passkey', { id: passkey.id, name }) : addPasskey(name));
    if (await run(work)) onClose();
  };
  return (
    <Dialog title={passkey ? `Rename ${passkey.name}` : 'Add a passkey'} onClose={onClose}>
      <form class="confirm" onSubmit={submit}>
        <label class="field">
          <span class="label">Name</span>
          <input
            class="input"
            value={name}
            required
            maxLength={100}
            autocomplete="off"
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        {!passkey && (
          <p class="hint">Tells it from others in the list. The browser then asks how to keep the passkey.</p>
        )}
        {error !== undefined && <ErrorBox error={worded(error)} />}
        <div class="actions end">
          <Button text={text.cancel} onClick={onClose} />
          <Button text={passkey ? text.save : 'Add passkey'} type="submit" look="primary" busy={busy} />
        </div>
      </form>
    </Dialog>
  );
}

/** This browser and system in words, as far as it tells them. */
function hereWords(): string {
  const { userAgent } = navigator;
  const [browser] = BROWSERS.find(([, pattern]) => pattern.test(userAgent)) ?? ['Browser'];
  const [system] = SYSTEMS.find(([, pattern]) => pattern.test(userAgent)) ?? [];
  return system === undefined ? browser : `${browser} on ${system}`;
}

const BROWSERS = [
  ['Edge', /\bEdg/],
  ['Firefox', /\bFirefox/],
  ['Chrome', /Chrom(e|ium)|CriOS/],
  ['Safari', /\bSafari/],
] as const;
const SYSTEMS = [
  ['iPhone', /\biPhone/],
  ['iPad', /\biPad/],
  ['Android', /\bAndroid/],
  ['Windows', /\bWindows/],
  ['Mac', /\bMac OS/],
  ['Linux', /\bLinux/],
] as const;
