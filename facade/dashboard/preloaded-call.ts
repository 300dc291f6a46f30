/** A call that `begin.ts` made while the scripts of the page were on their way. */
export type PreloadedCall = Readonly<{ tool: string; input: object; result: Promise<unknown> }>;

declare global {
  var begunCalls: readonly PreloadedCall[] | undefined;
}
