import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { escapeHtml } from '../core/escape-html.ts';

/** What a picture of a report shows. All is plain data: it is drawn in a process of its own. */
export interface Picture {
  readonly title: string;
  readonly asOf: string;
  readonly bars: boolean;
  readonly labels: readonly string[];
  readonly series: readonly Line[];
  /** Numbers that are not drawn, for want of room or scale. */
  readonly leftOut: readonly string[];
}

interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

const WIDTH = 960;
const HEIGHT = 480;
const PLOT = { left: 84, right: WIDTH - 32, top: 116, bottom: HEIGHT - 56 };
const COLOURS = ['#3451d1', '#0f8a7e', '#b86b00', '#a62b6b', '#6b48b8'];
const GREY = '#5b6472';
const MOST_LABELS = 8;

const require = createRequire(import.meta.url);
const SCRIPTS = ['latin', 'latin-ext', 'cyrillic', 'greek', 'vietnamese'];
let ready: Promise<Buffer[]> | undefined;

/** Loads what draws and its fonts once, a tenth of a second. */
function prepared(): Promise<Buffer[]> {
  ready ??= initWasm(readFileSync(require.resolve('@resvg/resvg-wasm/index_bg.wasm'))).then(() =>
    SCRIPTS.map((script) =>
      readFileSync(require.resolve(`@fontsource-variable/inter/files/inter-${script}-wght-normal.woff2`)),
    ),
  );
  return ready;
}

/** A PNG in base64, twice as many pixels as it is large. */
export async function drawPicture(picture: Picture): Promise<string> {
  const font = { fontBuffers: await prepared(), defaultFontFamily: 'Inter Variable', loadSystemFonts: false };
  const drawing = new Resvg(svgOf(picture), { font, fitTo: { mode: 'zoom', value: 2 } });
  return Buffer.from(drawing.render().asPng()).toString('base64');
}

/** The drawing before it is a picture. */
function svgOf({ title, asOf, bars, labels, series, leftOut }: Picture): string {
  const scale = scaleOf(series);
  const without = leftOut.length === 0 ? '' : `; not drawn: ${leftOut.join(', ')}`;
  const parts = [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text(32, 44, cut(title, 70), 'font-size="22" font-weight="600"'),
    text(
      32,
      68,
      cut(`As of ${asOf.slice(0, 16).replace('T', ' ')} UTC${without}`, 120),
      `font-size="13" fill="${GREY}"`,
    ),
    ...legend(series),
    ...scale.ticks.map((tick) => grid(tick, yOf(tick, scale))),
    ...labelsBelow(labels),
    ...series.flatMap((one, index) => (bars ? barsOf(one, index, series.length, scale) : [lineOf(one, index, scale)])),
  ];
  const box = `width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box} font-family="Inter Variable">${parts.join('')}</svg>`;
}

function text(x: number, y: number, words: string, style: string): string {
  return `<text x="${x}" y="${y}" ${style}>${escapeHtml(words.replace(/[^\P{C}]/gu, ' '))}</text>`;
}

function cut(words: string, longest: number): string {
  return words.length > longest ? `${words.slice(0, longest - 1).trimEnd()}…` : words;
}

interface Scale {
  readonly least: number;
  readonly most: number;
  readonly ticks: readonly number[];
}

/** Round numbers from zero, or from below the least where that is negative. */
function scaleOf(series: readonly Line[]): Scale {
  const values = series.flatMap((one) => one.values.filter((value) => value !== null));
  const [least, most] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [0, 0]);
  const rough = (most - least || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const [first, last] = [Math.floor(least / step), Math.max(Math.ceil(most / step), Math.floor(least / step) + 1)];
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step);
  return { least: first * step, most: last * step, ticks };
}

function yOf(value: number, { least, most }: Scale): number {
  return round(PLOT.bottom - ((value - least) / (most - least)) * (PLOT.bottom - PLOT.top));
}

function xOf(index: number, count: number, width = 0): number {
  const place = (PLOT.right - PLOT.left) / count;
  return round(PLOT.left + place * (index + 0.5) - width / 2);
}

const round = (value: number) => Math.round(value * 10) / 10;
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });

function grid(tick: number, y: number): string {
  const style = `font-size="13" fill="${GREY}" text-anchor="end"`;
  return `<path d="M${PLOT.left} ${y}H${PLOT.right}" stroke="#e4e7ec"/>${text(PLOT.left - 10, y + 4, short.format(tick), style)}`;
}

function legend(series: readonly Line[]): string[] {
  const width = (WIDTH - 64) / Math.max(series.length, 4);
  return series.map(({ label }, index) => {
    const x = 32 + index * width;
    const mark = `<rect x="${x}" y="84" width="11" height="11" rx="2" fill="${colour(index)}"/>`;
    return mark + text(x + 18, 94, cut(label, Math.floor(width / 9)), 'font-size="13"');
  });
}

/** Every so many, so that none touches the next. */
function labelsBelow(labels: readonly string[]): string[] {
  const every = Math.ceil(labels.length / MOST_LABELS);
  const style = `font-size="13" fill="${GREY}" text-anchor="middle"`;
  return labels.flatMap((label, index) =>
    index % every === 0 ? [text(xOf(index, labels.length), PLOT.bottom + 26, cut(label, 14), style)] : [],
  );
}

/** A gap where a value is missing, and a point where it stands alone. */
function lineOf({ values }: Line, index: number, scale: Scale): string {
  const steps = values.map((value, at) => {
    if (value === null) return '';
    const isFirst = at === 0 || values[at - 1] === null;
    return `${isFirst ? 'M' : 'L'}${xOf(at, values.length)} ${yOf(value, scale)}${isFirst ? 'h0' : ''}`;
  });
  const stroke = `stroke="${colour(index)}" stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round"`;
  return `<path d="${steps.join('')}" fill="none" ${stroke}/>`;
}

function barsOf({ values }: Line, index: number, count: number, scale: Scale): string[] {
  const width = ((PLOT.right - PLOT.left) / Math.max(values.length, 1)) * 0.7;
  const zero = yOf(0, scale);
  return values.flatMap((value, at) => {
    if (value === null) return [];
    const y = yOf(value, scale);
    const x = round(xOf(at, values.length, width) + (width / count) * index);
    const size = `width="${round(width / count)}" height="${round(Math.max(Math.abs(zero - y), 1))}"`;
    return [`<rect x="${x}" y="${Math.min(y, zero)}" ${size} fill="${colour(index)}"/>`];
  });
}

function colour(index: number): string {
  return COLOURS[index % COLOURS.length] ?? GREY;
}
