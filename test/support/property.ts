import fc from 'fast-check';

/** Whoever imports fast-check does so here: a property whose runs were cut short has not been shown, so it fails. */
fc.configureGlobal({ markInterruptAsFailure: true });

export { fc };
