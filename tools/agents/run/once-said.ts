/** Of what says the same, but for spaces, the first. */
export function onceSaid<Item>(items: readonly Item[], textOf: (item: Item) => string): Item[] {
  const said = new Set<string>();
  return items.filter((item) => {
    const text = textOf(item).replace(/\s+/g, ' ').trim();
    const isNew = !said.has(text);
    said.add(text);
    return isNew;
  });
}
