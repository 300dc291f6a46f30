import type { IncomingMessage } from 'node:http';

/** Media types that an `Accept` header names, in lower case, without those that it rules out by `q=0`. */
export function acceptedTypes(accept = ''): string[] {
  return accept
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)))
    .map(([type = '']) => type);
}

export function namesEvents(accept: string | undefined): boolean {
  return acceptedTypes(accept).includes('text/event-stream');
}

/** Whether a person opened the address in a browser: programs ask for JSON or events. */
export function isBrowsing({ method = '', headers }: IncomingMessage): boolean {
  return /^(GET|HEAD)$/.test(method) && acceptedTypes(headers.accept).includes('text/html');
}
