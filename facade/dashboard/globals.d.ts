declare module '*.css';

/** The calls that `begin.ts` made while the scripts of the page were on their way. */
declare var begunCalls:
  | readonly { readonly tool: string; readonly input: object; readonly result: Promise<unknown> }[]
  | undefined;
