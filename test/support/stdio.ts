import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { killedAtEnd } from './at-end.ts';
import { programArgs } from './node-args.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages freely
type Message = any;

/** A request that has no answer yet. */
interface Open {
  resolve(message: Message): void;
  reject(error: Error): void;
}

/** A process of the stdio door, spoken to line by line. */
export interface StdioClient {
  /** Sends a request and waits for the answer with its id. */
  ask(method: string, params?: object): Promise<Message>;
  /** Writes a line as it is and waits for the next message. */
  send(line: string): Promise<Message>;
  readonly stderr: () => string;
  /** Ends standard input; the exit code. */
  end(): Promise<number | null>;
}

export function openStdio(
  baseUrl: string,
  key: string,
  [program, ...args]: readonly [string, ...string[]] = [process.execPath, ...programArgs('commands/stdio')],
): StdioClient {
  const child: ChildProcess = killedAtEnd(
    spawn(program, args, {
      env: { ...process.env, BASE_URL: baseUrl, API_KEY: key },
      stdio: ['pipe', 'pipe', 'pipe'],
    }),
  );
  const waiting: Open[] = [];
  let stderr = '';
  let id = 0;
  if (child.stdout)
    createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)));
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });

  child.once('exit', (code) => {
    for (const { reject } of waiting) reject(new Error(`the stdio door ended with ${code}: ${stderr}`));
  });

  const send = (line: string) =>
    new Promise<Message>((resolve, reject) => {
      waiting.push({ resolve, reject });
      child.stdin?.write(`${line}\n`);
    });

  return {
    send,
    stderr: () => stderr,
    ask(method, params) {
      id += 1;
      return send(JSON.stringify({ jsonrpc: '2.0', id, method, ...(params && { params }) }));
    },
    end: () =>
      new Promise((resolve) => {
        child.once('exit', (code) => resolve(code));
        child.stdin?.end();
      }),
  };
}
