/** A call that `begin.ts` made while the scripts of the page were on their way. */
export interface BegunCall {
  readonly tool: string;
  readonly input: object;
  readonly result: Promise<unknown>;
}

declare global {
  var begunCalls: readonly BegunCall[] | undefined;
}
