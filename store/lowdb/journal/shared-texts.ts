/** Shorter texts cost less than looking for them. */
const SHORTEST = 1024;
const SAMPLE = 40;

/** Long texts of records, each kept once: a record and its versions have the same ones, which the files repeat. */
export class SharedTexts {
  readonly #texts = new Map<string, string>();

  /** Puts a text that was seen before in the place of each equal one. `json`: that of the value. */
  share(value: unknown, json: string): void {
    if (json.length >= SHORTEST) this.#share(value);
  }

  #share(value: unknown): void {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== 'string') this.#share(member);
      else if (member.length >= SHORTEST) Reflect.set(value, name, this.#known(member));
    }
  }

  forget(): void {
    this.#texts.clear();
  }

  #known(text: string): string {
    const middle = text.length >> 1;
    // V8 hashes very long texts by their length alone.
    const key = `${text.length} ${text.slice(0, SAMPLE)}${text.slice(middle, middle + SAMPLE)}${text.slice(-SAMPLE)}`;
    const known = this.#texts.get(key);
    if (known === text) return known;
    this.#texts.set(key, text);
    return text;
  }
}
