/** What one call of an operation takes (path, query and body together, as its tool does) and gives. */
export interface Example {
  readonly input?: Readonly<Record<string, unknown>>;
  readonly answer?: Readonly<Record<string, unknown>>;
}

/** By name of the tool. */
export type Examples = Readonly<Record<string, Example>>;
