/**
 * What nearly every page does: call tools, keep their answers, know where it is, and write values in words. Pages import it from here, and the parts
 * that they are drawn with from `ui.ts`, so that all of it comes as one file: esbuild makes a file for each set of pages that share something.
 */

export * from './answer-cache.ts';
export * from './boot.ts';
export * from './client.ts';
export * from './format.ts';
export * from './kinds.ts';
export * from './router.ts';
export * from './text.ts';
export * from './title.ts';
export * from './tools.ts';
export * from './use-paged-list.ts';
