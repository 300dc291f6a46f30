/** An error of RFC 6749. The library and our own endpoints answer it as it is. */
export class OAuthError extends Error {
  readonly status: number;
  readonly statusCode: number;
  readonly error_description: string;
  readonly expose = true;
  readonly allow_redirect = true;

  constructor(error: string, description: string, status = 400) {
    super(error);
    this.status = status;
    this.statusCode = status;
    this.error_description = description;
  }
}
