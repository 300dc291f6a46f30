const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const asJson = (text: string) => JSON.stringify(text).slice(1, -1);

/** How programs write a text into another one, where its neighbours do not matter. */
export const ENCODINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  asJson,
  (text) => asJson(asJson(text)),
  (text) => encodeURIComponent(text),
  (text) => encodeURIComponent(text).replace(/%../g, (code) => code.toLowerCase()),
  (text) => String(new URLSearchParams({ '': text })).slice(1),
  (text) => text.replace(/[&<>"']/g, (character) => HTML[character] ?? character),
  (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`),
  (text) => Buffer.from(text).toString('hex'),
  (text) => Buffer.from(text).toString('hex').toUpperCase(),
];
