/** There is no account, or it has to be connected again. */
export class AccountRequired extends Error {
  /** Scopes that the server asks for, besides those of the account. */
  readonly scopes: readonly string[];

  constructor(scopes: readonly string[] = []) {
    super('It wants an account; connect_integration gives a link to connect one.');
    this.scopes = scopes;
  }
}
