/** One member of each. */
export function pluck<Items extends readonly object[], Name extends keyof Items[number]>(
  items: Items,
  name: Name,
): Items[number][Name][] {
  return items.map((item: Items[number]) => item[name]);
}
