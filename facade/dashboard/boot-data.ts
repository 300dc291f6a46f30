/** What the page is told before its first call. */
export interface Boot {
  readonly workspace: string;
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name?: string | undefined;
    readonly role: string;
  };
  /** The end of the session. */
  readonly expiresAt: string;
  /** The path below which browsers find the server, without a slash at its end. */
  readonly base: string;
  /** Part of the forms that this page sends. */
  readonly formToken: string;
  readonly version: string;
  /** Whether links to sign in reach people by mail. */
  readonly sendsMail: boolean;
  /** Names of the tools that the person may call now; what they take follows by `tools/list`. */
  readonly tools: readonly string[];
}
