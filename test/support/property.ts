import fc from 'fast-check';

/** Whoever imports fast-check does so here: a property whose runs were cut short has not been shown, so it fails. */
fc.configureGlobal({ markInterruptAsFailure: true });

export { fc };

const SURROGATES = 0xd800;
const SURROGATE_COUNT = 0x800;

/** Any Unicode character: the unit `binary` of fast-check, which takes a second in each process to list them all. */
export const anyCharacter: fc.Arbitrary<string> = fc.nat({ max: 0x10ffff - SURROGATE_COUNT }).map(
  (index) => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  (text) => {
    if (typeof text !== 'string' || [...text].length !== 1 || !text.isWellFormed()) throw new Error('not a character');
    const point = text.codePointAt(0) ?? 0;
    return point < SURROGATES ? point : point - SURROGATE_COUNT;
  },
);
