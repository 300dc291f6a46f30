/** The part of the DOM that is used here. The types of these libraries ask for that of browsers. */
interface PageElement {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly parentNode: PageElement | null;
  readonly children: ArrayLike<PageElement>;
  querySelectorAll(selector: string): ArrayLike<PageElement>;
  removeChild(child: PageElement): void;
  cloneNode(deep: boolean): PageElement;
  getAttribute(name: string): string | null;
}

declare module '@mixmark-io/domino' {
  export function createDocument(html: string): { readonly title: string; readonly body: PageElement };
}

declare module 'turndown' {
  interface Rule {
    readonly filter: string | readonly string[];
    replacement(content: string, node: PageElement): string;
  }
  // biome-ignore lint/style/noDefaultExport: it is how the library exports it
  export default class TurndownService {
    constructor(options: { headingStyle: 'atx'; codeBlockStyle: 'fenced'; bulletListMarker: '-' });
    addRule(name: string, rule: Rule): this;
    remove(filter: readonly string[]): this;
    turndown(html: string | PageElement): string;
  }
}
