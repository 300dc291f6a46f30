import type { Fail } from '../../core/errors.ts';
import { invalidMember } from '../../core/errors.ts';
import { createFetch } from '../../core/outbound/fetch.ts';
import { AddressRefused } from '../../core/outbound/ip-addresses.ts';
import { FileTooLarge } from '../../core/outbound/limits.ts';
import type { Context } from '../../core/registry/context.ts';
import { MOST_FILE_BYTES } from './limits.ts';

declare module '../../core/registry/context.ts' {
  interface ServerContext {
    /** Whether links, which anybody writes, may name servers at private addresses: only if it was set. */
    readonly privateLinks?: boolean;
  }
}

const FETCH_MS = 30_000;
/** The error of the HTTP library has that of the connection as its cause. */
const causeOf = (thrown: unknown): unknown =>
  thrown instanceof Error && thrown.cause ? causeOf(thrown.cause) : thrown;

interface Fetching extends Pick<Context<unknown, never>, 'server' | 'signal'> {
  readonly fail: Fail<'too_large'>;
}

/** The file at the link. @throws ToolError that says what is wrong with the link */
export async function fetchFile(url: string, { server, signal, fail }: Fetching): Promise<Buffer> {
  const privateAddresses = server.privateLinks === true;
  const { fetch, close } = createFetch({ privateAddresses, mostBytes: MOST_FILE_BYTES, files: true });
  const timeout = AbortSignal.timeout(FETCH_MS);
  try {
    const response = await fetch(url, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
    const { status } = response;
    if (status >= 300 && status < 400) throw unusable('redirects to another address; give that one');
    if (status !== 200) throw unusable(`answers HTTP ${status}; check the link, or send the file itself`);
    return Buffer.from(await response.arrayBuffer());
  } catch (thrown) {
    const cause = causeOf(thrown);
    if (cause instanceof FileTooLarge) {
      throw fail('too_large', `The file is larger than ${MOST_FILE_BYTES} bytes; split it and send the parts.`);
    }
    if (cause instanceof AddressRefused) throw invalidMember('file.url', refusal(cause));
    if (timeout.aborted) throw unusable(`sent no whole file within ${FETCH_MS / 1000} seconds; send the file itself`);
    if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string' && /^E[A-Z_]+$/.test(cause.code)) {
      throw unusable(`cannot be reached (${cause.code}); check the link, or send the file itself`);
    }
    throw thrown;
  } finally {
    close();
  }
}

function refusal({ why, isPrivate }: AddressRefused): string {
  const allow = isPrivate ? ', or have PRIVATE_UPSTREAMS=on set for this server' : '';
  return `${why}, and links must be public; send the file itself${allow}.`;
}

function unusable(what: string): Error {
  return invalidMember('file.url', `The server of the link ${what}.`);
}
