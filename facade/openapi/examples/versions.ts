import type { Examples } from './example.ts';

const record = { entityType: 'skill', entityId: 'skl_06d3jb0q9gvy5m2k1n4h8t6z3c' };
const author = { type: 'session', id: 'usr_06d3ja9x5r8p2c7v0b4m6n1k3j', name: 'Ada Acme' };
const before = 'Read the message. Answer with one of: billing, bug, question.';
const after = 'Read the message. Answer with one of: billing, bug, question, other.';

const first = {
  id: 'ver_06d3jb0q9hb4e8r2t6y1u3i5o7',
  ...record,
  revision: 1,
  content: before,
  contentHash: '05587db771d0a0f3b838cfd53e4334f4805af3ff1c0f14720ceb897c35556ef3',
  kind: 'snapshot',
  payload: { name: 'triage', instructions: before },
  author,
  createdAt: '2026-03-02T09:10:00.000Z',
};

const second = {
  ...first,
  id: 'ver_06d3k5f2mzn8w4q6a1s3d5f7g9',
  revision: 2,
  content: after,
  contentHash: '18c62d63fb87d7b26edf5fdd3019be6c26d9a07ef76f83a32c2102a5ef011e3c',
  payload: { name: 'triage', instructions: after },
  createdAt: '2026-03-03T11:05:30.000Z',
};

export const versionExamples: Examples = {
  list_versions: { input: { ...record, limit: 20 }, answer: { data: [second, first], nextCursor: null } },
  get_version: { input: { ...record, versionId: first.id }, answer: first },
  diff_version: {
    input: { ...record, versionId: second.id, against: 'previous' },
    answer: {
      kind: 'text',
      lines: [
        { op: 'remove', value: before },
        { op: 'add', value: after },
      ],
    },
  },
  restore_version: {
    input: { ...record, versionId: first.id, expectedRevision: 2 },
    answer: {
      ...first,
      id: 'ver_06d3k7p4xj2c6v8b0n1m3l5k7h',
      revision: 3,
      kind: 'restore',
      createdAt: '2026-03-03T11:20:00.000Z',
      changeDescription: 'Restored revision 1',
    },
  },
};
