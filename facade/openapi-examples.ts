/** What an operation takes (path and query included) and gives, for readers of the document. Keyed by tool. */
export const examples: Readonly<Record<string, { readonly request?: object; readonly answer?: object }>> = {};
