import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PublicProofKey } from '../../store/audit-proof/proof-key.ts';
import type { KnownHead, Verdict } from '../../store/audit-proof/verdict.ts';
import { verifyAudit } from '../../store/audit-proof/verify.ts';
import { OperatorError } from '../../store/errors.ts';
import { auditOfFolder } from '../../store/lowdb/audit/read-folder.ts';
import { AUDIT } from '../../store/lowdb/files/folder.ts';
import { howToRun } from '../config/how-to-run.ts';
import { auditOfExport } from '../store-copy/format.ts';
import { readArguments, runCommand } from './run-command.ts';

const USAGE = `Usage: ${howToRun('verify-audit')} <folder or file> --key <public key> [--key <another>] [--head <number>:<hash>]

Checks the audit log of a copied data folder, a backup or an export, without a server. Ends with 1 where it was changed.
--key   The public key, from somewhere else than the copy: verify_audit and doctor of the server say it.
--head  A head that was noted elsewhere (doctor, AUDIT_ANCHOR_URL) and must be there: without it, a log that was cut
        back to an earlier head is intact.`;

const MOST_WORDS = 1;

async function main(): Promise<number> {
  const { values, words } = readArguments(
    USAGE,
    { key: { type: 'string', multiple: true }, head: { type: 'string' } },
    [MOST_WORDS],
  );
  const [path = ''] = words;
  const { key: keys = [], head } = values;
  if (keys.length === 0) throw new OperatorError(`Name the public key with --key.\n\n${USAGE}`);
  const publicKeys = keys.map(publicKeyFrom);
  const known = head === undefined ? undefined : headFrom(head);
  const { verdict } = await verifyAudit({ ...auditAt(path), publicKeys, known });
  console.log(textOf(verdict));
  return verdict.intact ? 0 : 1;
}

function auditAt(path: string) {
  if (!existsSync(path)) throw new OperatorError(`${path} is not there; name a data folder, a backup or an export.`);
  if (!statSync(path).isDirectory()) return auditOfExport(path);
  if (existsSync(join(path, AUDIT))) return auditOfFolder(path);
  throw new OperatorError(`${path} holds no folder ${AUDIT}; name the data folder or backup that does.`);
}

function publicKeyFrom(text: string): PublicProofKey {
  try {
    return new PublicProofKey(text.trim());
  } catch (cause) {
    throw new OperatorError(`"${text}" is not a public key (${cause instanceof Error ? cause.message : cause}).`);
  }
}

function headFrom(text: string): KnownHead {
  const [, number, hash] = /^(\d+):([\w-]{43})$/.exec(text) ?? [];
  if (number === undefined) throw new OperatorError(`"${text}" is not a head; write <number>:<hash>.`);
  return { number: Number(number), hash };
}

function textOf({ intact, entries, heads, older, unsigned, lastHead, firstProblem }: Verdict): string {
  const lines = [intact ? `Intact: ${entries} entries, ${heads} heads.` : problemText(firstProblem)];
  if (lastHead) lines.push(`Last head: ${lastHead.number}:${lastHead.hash}, signed at ${lastHead.at}.`);
  if (unsigned > 0) lines.push(`${unsigned} entries are not signed yet; only the server can check them.`);
  if (older > 0) lines.push(`${older} entries are from before the proof began.`);
  return lines.join('\n');
}

function problemText(problem: Verdict['firstProblem']): string {
  const { kind, id = 'an entry', at } = problem ?? { kind: 'changed', at: '' };
  return `Broken: ${id} is ${kind}, at ${at || 'the beginning'}.`;
}

runCommand(main);
