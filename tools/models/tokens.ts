/** About how many tokens a model counts for the text: four bytes each, which is on the high side for most languages. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** The first items that fit the budget together; one that does not fit is passed over. */
export function fitting<Item>(items: readonly Item[], budget: number, textOf: (item: Item) => string): Item[] {
  let left = budget;
  return items.filter((item) => {
    const tokens = tokensOf(textOf(item));
    if (tokens > left) return false;
    left -= tokens;
    return true;
  });
}
