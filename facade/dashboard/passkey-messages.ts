/** Why a browser made or used no passkey, in words. Browsers tell little on purpose. */
export function problemWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return WORDS[error.name] ?? error.message;
}

const WORDS: Readonly<Record<string, string>> = {
  NotAllowedError: 'No passkey was used: it was cancelled, it took too long, or there is none here. Try again.',
  AbortError: 'No passkey was used, because another question took its place. Try again.',
  InvalidStateError: 'This device or password manager already has a passkey of yours for this workspace.',
  SecurityError: 'The browser uses no passkeys at this address. Open the workspace at its own address.',
  NotSupportedError: 'This device cannot make a passkey that checks who you are. Use another one.',
};

/** The same of any problem. Errors of the server keep their request. */
export function worded(problem: unknown): unknown {
  return problem instanceof Error && problem.name !== 'Error' ? problemWords(problem) : problem;
}
