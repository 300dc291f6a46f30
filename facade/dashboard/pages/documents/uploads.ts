import { useState } from 'preact/hooks';
import { boot, CallError, invalidate } from '../../app.ts';

/** A file on its way to the server. */
export interface Upload {
  readonly key: number;
  readonly name: string;
  /** From 0 to 1; 1 while the server reads the file. */
  readonly share: number;
  /** The document that it became. */
  readonly id?: string;
  readonly error?: string;
}

const AT_ONCE = 2;
let lastKey = 0;

/** Sends files one after the other, and says how far each has come. */
export function useUploads() {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const change = (key: number, changed: Partial<Upload>) =>
    setUploads((all) => all.map((upload) => (upload.key === key ? { ...upload, ...changed } : upload)));
  async function add(files: readonly File[]): Promise<void> {
    const queue = files.map((file) => {
      lastKey += 1;
      return { key: lastKey, file };
    });
    setUploads((all) => [...queue.map(({ key, file }) => ({ key, name: file.name, share: 0 })), ...all]);
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { key, file } = next;
        try {
          const { id } = await send(file, (share) => change(key, { share }));
          change(key, { id, share: 1 });
          invalidate();
        } catch (error) {
          change(key, { error: error instanceof Error ? error.message : String(error) });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }
  return { uploads, add: (files: readonly File[]) => void add(files), clear: () => setUploads([]) };
}

/** A call over REST, because a message of MCP holds no large files. `fetch` does not tell how much was sent. */
function send(file: File, onShare: (share: number) => void): Promise<{ readonly id: string }> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', `${boot.base}/api/v1/documents?name=${encodeURIComponent(file.name)}`);
    request.responseType = 'json';
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.onprogress = ({ loaded, total }) => onShare(total === 0 ? 1 : loaded / total);
    request.onload = () => {
      if (request.status === 201) resolve(request.response);
      else reject(new CallError('create_document', request.response ?? BROKEN));
    };
    request.onerror = () => reject(new CallError('create_document', BROKEN));
    request.send(file);
  });
}

const BROKEN = {
  error: 'The connection ended. The file may be larger than 20 MB; else try again.',
  code: 'unreachable',
};
