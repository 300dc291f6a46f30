/** One member of each; of several members, a list of them for each. */
export function pluck<Items extends readonly object[], Name extends keyof Items[number]>(
  items: Items,
  name: Name,
): Items[number][Name][];
export function pluck<Items extends readonly object[], Names extends (keyof Items[number])[]>(
  items: Items,
  ...names: Names
): { [At in keyof Names]: Items[number][Names[At]] }[];
export function pluck(items: readonly Record<string, unknown>[], ...names: string[]): unknown[] {
  const [only = ''] = names;
  return items.map((item) => (names.length === 1 ? item[only] : names.map((name) => item[name])));
}
