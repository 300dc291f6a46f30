import type { IncomingMessage, ServerResponse } from 'node:http';
import type { View } from '../../../tools/core/registry/tool.ts';
import type { Middleware } from '../../http/middleware.ts';
import { cookiesNamed } from '../../http/session-cookie.ts';
import { acceptedTypes } from '../../http/target.ts';
import type { Boot } from '../boot-data.ts';
import { usedTools } from '../views/used-tools.ts';
import { type Asset, type Built, type EntryFiles, readBuild } from './build.ts';
import { POLICY, type ShellInput, shell } from './shell.ts';
import { viewWith } from './views.ts';

type Booted = Omit<Boot, 'version'>;
export type Theme = ShellInput['theme'];
export type Looks = Pick<EntryFiles, 'style' | 'font' | 'icon'>;

/** Serves the page and the files it is made of. */
export interface Dashboard {
  /** Builds what is not built yet. Otherwise the first request does. */
  prepare(): Promise<void>;
  sendPage(request: IncomingMessage, response: ServerResponse, boot: Booted): Promise<void>;
  /** The page in which hosts show answers, for a reader who may call these tools. */
  viewPage(view: View, tools: ReadonlySet<string>): Promise<string>;
  /** The path of the script of the sign-in page. */
  signInScript(): Promise<string>;
  /** The assets that give other pages the looks of the dashboard. */
  looks(): Promise<Looks>;
  /** The choice of light or dark that the dashboard keeps in a cookie. Undefined: as the system. */
  themeOf(request: IncomingMessage): Theme;
  /** Serves `/assets/`. Passes on other paths and names of no file. */
  readonly serveAssets: Middleware;
}

/** `baseUrl`: where browsers find the server. */
export function createDashboard(version: string, baseUrl: string): Dashboard {
  let reading: Promise<Files> | undefined;
  const files = (): Promise<Files> => {
    reading ??= readBuild().then(
      (built) => ({ built, byName: new Map(built.assets.map((asset) => [asset.name, asset])) }),
      (error) => {
        reading = undefined; // the next request tries again
        throw error;
      },
    );
    return reading;
  };

  return {
    async prepare() {
      await files();
    },
    async sendPage(request, response, boot) {
      const { built } = await files();
      const page = Buffer.from(
        shell({ ...boot, version }, built.beginning, { path: pathOf(request), theme: themeIn(request) }),
      );
      response.writeHead(200, { ...PAGE_HEADERS, 'Content-Length': page.length });
      response.end(page);
    },
    async viewPage(view, tools) {
      const { built } = await files();
      const used = usedTools[view].filter((name) => tools.has(name));
      return viewWith(built.views[view], { version, base: baseUrl, tools: used });
    },
    async signInScript() {
      const { built } = await files();
      return `/assets/${built.beginning.signIn}`;
    },
    async looks() {
      const { built } = await files();
      return built.beginning;
    },
    themeOf: themeIn,
    async serveAssets({ request, response }, next) {
      const path = pathOf(request);
      if (!path.startsWith('/assets/') || !/^(GET|HEAD)$/.test(request.method ?? '')) return next();
      const { byName } = await files();
      const asset = byName.get(path.slice('/assets/'.length));
      if (asset) sendAsset(request, response, asset);
      else next();
    },
  };
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

type Files = Readonly<{ built: Built; byName: ReadonlyMap<string, Asset> }>;

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-store',
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/** The name of an asset contains its hash, so a browser never asks for it again. */
function sendAsset({ headers }: IncomingMessage, response: ServerResponse, { name, plain, br, gzip }: Asset): void {
  const accepted = acceptedTypes(String(headers['accept-encoding'] ?? ''));
  const [encoding, body] =
    br && accepted.includes('br')
      ? ['br', br]
      : gzip && accepted.includes('gzip')
        ? ['gzip', gzip]
        : [undefined, plain];
  response.writeHead(200, {
    'Content-Type': TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    'Content-Length': body.length,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'X-Content-Type-Options': 'nosniff',
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...(br && { Vary: 'Accept-Encoding' }),
    ...(encoding && { 'Content-Encoding': encoding }),
  });
  response.end(body);
}

/** The choice of light or dark that the page keeps in a cookie, so that its first paint is right. */
function themeIn({ headers }: IncomingMessage): ShellInput['theme'] {
  const [theme] = cookiesNamed('admin-theme', headers.cookie ?? '');
  return theme === 'light' || theme === 'dark' ? theme : undefined;
}
