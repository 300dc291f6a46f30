import { boot, CallError } from '../../app.ts';

interface Sending {
  readonly signal: AbortSignal;
  /** How much was sent, from 0 to 1. */
  onShare(share: number): void;
  /** Called with each event of the answer. */
  onEvent(name: string, data: Readonly<Record<string, unknown>>): void;
}

const TOOL = 'send_chat_message';

/** A message with files, in a form over REST, as a message of MCP holds no large ones. `fetch` does not tell how much was sent. @throws CallError */
export function sendFiles(
  fields: Readonly<Record<string, string | undefined>>,
  files: readonly File[],
  { signal, onShare, onEvent }: Sending,
): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value);
  for (const file of files) form.append('file', file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    let read = 0;
    let failed: CallError | undefined;
    const readEvents = () => {
      if (!request.getResponseHeader('Content-Type')?.startsWith('text/event-stream')) return;
      for (
        let end = request.responseText.indexOf('\n\n', read);
        end >= 0;
        end = request.responseText.indexOf('\n\n', read)
      ) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(request.responseText.slice(read, end)) ?? [];
        read = end + 2;
        if (name === undefined || data === undefined) continue;
        if (name === 'error') failed = new CallError(TOOL, JSON.parse(data));
        else onEvent(name, JSON.parse(data));
      }
    };
    request.open('POST', `${boot.base}/api/v1/chat`);
    request.upload.onprogress = ({ loaded, total }) => onShare(total === 0 ? 1 : loaded / total);
    request.onprogress = readEvents;
    request.onload = () => {
      readEvents();
      if (!failed && request.status === 200) resolve();
      else reject(failed ?? new CallError(TOOL, bodyOf(request.responseText)));
    };
    request.onerror = () => reject(new CallError(TOOL, BROKEN));
    request.onabort = () => reject(signal.reason);
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(form);
  });
}

function bodyOf(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return BROKEN;
  }
}

const BROKEN = {
  error: 'The connection ended. The files may be too large together; else try again.',
  code: 'unreachable',
};
