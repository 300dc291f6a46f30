/** An estimate of the text's tokens: four bytes each, which is more than most models count in most languages. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** The first items that fit the budget together. An item that does not fit is skipped. */
export function withinTokens<Item>(items: readonly Item[], budget: number, textOf: (item: Item) => string): Item[] {
  let left = budget;
  return items.filter((item) => {
    const tokens = tokensOf(textOf(item));
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}
