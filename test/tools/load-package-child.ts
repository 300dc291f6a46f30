import { openSync } from 'node:fs';
import { loadPackage, reserveDescriptors } from '../../tools/core/load-package.ts';

/** Loads packages without a descriptor left, and prints what came of it. With `reserve`: some were kept for that. */
const packages: Readonly<Record<string, () => Promise<object>>> = {
  ai: () => import('ai'),
  '@ai-sdk/openai-compatible': () => import('@ai-sdk/openai-compatible'),
  '@ai-sdk/anthropic': () => import('@ai-sdk/anthropic'),
  '@simplewebauthn/server': () => import('@simplewebauthn/server'),
  nodemailer: () => import('nodemailer'),
  'oidc-provider': () => import('oidc-provider/lib/provider.js'),
};

if (process.argv.includes('reserve')) reserveDescriptors();
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  // none is left
}
const came: Record<string, boolean> = {};
for (const [name, load] of Object.entries(packages))
  came[name] = await loadPackage(name, load).then(
    () => true,
    () => false,
  );
console.log(JSON.stringify(came));
process.exit();
