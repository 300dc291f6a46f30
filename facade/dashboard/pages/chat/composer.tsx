import { useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';

interface ComposerProps {
  readonly onSend: (message: string) => unknown;
  /** Where an answer is on its way: ends it. */
  readonly onStop?: (() => void) | undefined;
  readonly disabled?: boolean;
}

/** Where one writes. Enter sends, Shift and Enter begins a new line. */
export function Composer({ onSend, onStop, disabled = false }: ComposerProps) {
  const [message, setMessage] = useState('');
  const box = useRef<HTMLTextAreaElement>(null);
  const send = () => {
    if (message.trim() === '' || onStop || disabled) return;
    setMessage('');
    onSend(message);
    box.current?.focus();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={box}
        rows={Math.min(8, message.split('\n').length)}
        aria-label="Message"
        placeholder="Write a message"
        disabled={disabled}
        value={message}
        onInput={({ currentTarget }) => setMessage(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      {onStop ? (
        <Button icon="stop" label="Stop" onClick={onStop} />
      ) : (
        <Button type="submit" look="primary" icon="send" label="Send" disabled={message.trim() === '' || disabled} />
      )}
    </form>
  );
}
