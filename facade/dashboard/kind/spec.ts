import type { ComponentChildren, ComponentType } from 'preact';
import { act, type Kind, type KindName, kinds } from '../app.ts';
import type { Members, PartProps } from '../components/form/state.ts';
import type { FormWords } from '../components/form/words.ts';
import { type Badge, type Column, type IconName, type MenuItem, withToast } from '../ui.ts';

/** Records as pages know them: which members there are, the output schema of the get tool says. */
export type Row = Readonly<Record<string, unknown>>;

/** A kind of record, and what is special about its page. All that is left out follows from the tools' names and schemas. */
export interface KindSpec extends Kind {
  /** What they call it, where no member says it. */
  readonly name?: (row: Row) => string;
  /** A member that says more, shown below the title. */
  readonly subtitle?: string;
  /** The member that identifies it; `id`, or `uid` for users. */
  readonly id?: string;
  /** The input by which tools take it, where that is called otherwise. */
  readonly idInput?: string;
  /** Letters of the title on a colour before it. */
  readonly avatar?: boolean;
  /** The first column, where the name alone says too little or too much. */
  readonly first?: Pick<Column<Row>, 'title' | 'cell'>;
  /** The columns besides that; by default state and time. */
  readonly columns?: readonly Column<Row>[];
  /** As `list_versions` names it, where there are versions. */
  readonly versions?: string;
  /** The state beside the title, where its status is no word for people. */
  readonly badge?: (row: Row) => Pick<Parameters<typeof Badge>[0], 'tone' | 'children'>;
  /** Says what such records are for, if there are none yet. */
  readonly empty: string;
  /** Where the first ones come from, if nobody makes them one by one. */
  readonly source?: { readonly text: string; readonly to: string; readonly needs: string };
  /** Text members that stand as blocks of their own. */
  readonly blocks?: readonly string[];
  /** Of these, the ones written with the marks of Markdown. */
  readonly prose?: readonly string[];
  /** Members that the overview leaves out. */
  readonly without?: readonly string[];
  /** Controls of one's own in the forms. */
  readonly controls?: Readonly<Record<string, ComponentType<PartProps>>>;
  /** The words of the form for a new record. `said` follows the name of what was made, like `was invited`. Default: from the kind and its tool. */
  readonly makes?: Readonly<{ title?: string; action: string; intro: string; said?: string }>;
  /** What people read at the inputs of the forms, with units and examples; those come in this order, as people think of them. */
  readonly fields?: FormWords;
  /** A hook: what holds where an input is left out, in words. */
  readonly useInherited?: () => Readonly<Record<string, string>>;
  /** Inputs that few people need, which the forms fold. */
  readonly advanced?: readonly string[];
  /** Inputs that the forms do not ask for, because the page gives them by other means. */
  readonly hidden?: readonly string[];
  /** Inputs that the forms do not ask for while these are the values. */
  readonly hiddenIn?: (value: Members) => readonly string[];
  /** What the form of a new one begins with; as the address says, where a page leads to it for one of its own. */
  readonly start?: Row | ((query: URLSearchParams) => Row);
  /** Below the fields of the forms: what the values come to. A record that is changed has an id. */
  readonly draft?: ComponentType<{ readonly value: Members; readonly id?: string | undefined }>;
  /** More tabs of a record; `needs` names the tool without which one is left out. */
  readonly tabs?: (
    row: Row,
  ) => readonly { id: string; label: string; needs?: string; content: () => ComponentChildren }[];
  /** Above the fields of the overview, or below them. */
  readonly above?: ComponentType<{ readonly row: Row }>;
  readonly below?: ComponentType<{ readonly row: Row }>;
  /** Beside the button for a new one. */
  readonly headControls?: ComponentType;
  /** Below the head of the list. */
  readonly headNote?: ComponentType;
  /** Buttons beside Edit, and more in the menu. */
  readonly actions?: ComponentType<{ readonly row: Row }>;
  readonly menu?: (row: Row) => readonly MenuItem[];
  /** What is lost with it, for the question before deleting. */
  readonly loss?: (row: Row) => string;
  /** It is quickly made anew, so that nothing has to be typed before it is deleted. */
  readonly isQuickToMake?: true;
  /** What ends such a record, where nothing deletes it. */
  readonly ends?: Readonly<{ tool: string; action: string; doing: string; done: string }>;
  /** Filters beside those of the list tool. */
  readonly filters?: readonly OwnFilter[];
  /** What is typed to find some ranks them, so that no other order holds. */
  readonly isFoundRanked?: true;
  /** Inputs of the list tool that are always given. */
  readonly input?: Row;
  /** Called with what `create_<one>` answered, for example to show a secret. */
  readonly onCreated?: (row: Row) => void;
}

/** Looks through the rows that are loaded. What is chosen stands in the address under its name. */
interface OwnFilter {
  readonly name: string;
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly chosenIn: (row: Row) => string;
}

/** A kind with what is special about its page. */
export function specOf(name: KindName, special: Omit<KindSpec, keyof Kind>): KindSpec {
  return { ...kinds[name], ...special };
}

export function idOf({ id = 'id' }: Pick<KindSpec, 'id'>, row: Row): string {
  return String(row[id] ?? '');
}

export function titleOf({ title, id, name }: Pick<KindSpec, 'title' | 'id' | 'name'>, row: Row): string {
  const text = name?.(row) ?? String(row[title] ?? idOf(id === undefined ? {} : { id }, row));
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

export function pathOf(spec: Pick<KindSpec, 'path' | 'id'>, row: Row): string {
  return `${spec.path}/${encodeURIComponent(idOf(spec, row))}`;
}

/** A menu item that changes a record, and what is said once it is done. */
export function changeItem(
  kind: KindName,
  { id, revision }: Row,
  [label, icon]: readonly [string, IconName],
  change: Row,
  said: string,
): MenuItem {
  const needs = `update_${kinds[kind].one}`;
  const work = () => act(needs, { id, ...change, expectedRevision: revision }).then(() => said);
  return { label, icon, needs, run: () => void withToast(work) };
}

/** The input of the tools for one record. */
export function naming(spec: Pick<KindSpec, 'id' | 'idInput'>, id: string): Row {
  return { [spec.idInput ?? spec.id ?? 'id']: id };
}

/** How a new one is made, in words. */
export function makingOf({ makes, newTitle, words: { one } }: Pick<KindSpec, 'makes' | 'newTitle' | 'words'>) {
  return { said: 'was created', title: newTitle ?? `New ${one}`, action: `Create ${one}`, ...makes };
}

/** What an address says of the record that is open. */
const OF_ONE = ['tab', 'version', 'against', 'sort', 'order', 'holds', 'column'];

/** Filters stay when a record is opened beside the list; what concerns another record does not. */
export function keptQuery(query: URLSearchParams): string {
  const kept = [...query].filter(([name]) => !OF_ONE.includes(name));
  return kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
}
