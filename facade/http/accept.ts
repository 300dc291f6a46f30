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
