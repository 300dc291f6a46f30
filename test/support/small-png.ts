import { deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = 8;
const MOST_COLOURS = 256;

/** The picture in at most 256 colours, the most frequent ones, a third of the size. Takes 8 bits each of red, green, blue and, left out, alpha. */
export function smallPng(png: Buffer): Buffer {
  const chunks = chunksOf(png);
  const header = chunks.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(0);
  const [width, height, depth, kind] = [header.readUInt32BE(0), header.readUInt32BE(4), header[8], header[9]];
  if (depth !== 8 || (kind !== 2 && kind !== 6))
    throw new Error('The picture has other colours than 8 bits of RGB or RGBA.');
  const data = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((chunk) => chunk.data)));
  const colours = coloursOf(data, width, height, kind === 6 ? 4 : 3);
  const palette = paletteOf(colours);
  const lines = Buffer.alloc((width + 1) * height); // each begins with 0: no filter
  const places = new Map<number, number>();
  colours.forEach((colour, index) => {
    const place = places.get(colour) ?? nearest(colour, palette);
    places.set(colour, place);
    lines[index + Math.floor(index / width) + 1] = place;
  });
  const indexed = Buffer.from(header);
  indexed[9] = 3;
  const table = Buffer.from(palette.flatMap(partsOf));
  const parts = [chunk('IHDR', indexed), chunk('PLTE', table), chunk('IDAT', deflateSync(lines, { level: 9 }))];
  return Buffer.concat([png.subarray(0, SIGNATURE), ...parts, chunk('IEND', Buffer.alloc(0))]);
}

function chunksOf(png: Buffer): { readonly type: string; readonly data: Buffer }[] {
  const found = [];
  for (let at = SIGNATURE; at < png.length; ) {
    const length = png.readUInt32BE(at);
    found.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return found;
}

/** Each pixel as one number, after undoing the filters of the lines. */
function coloursOf(data: Buffer, width: number, height: number, size: number): number[] {
  const row = width * size;
  const plain = Buffer.alloc(row * height);
  const value = (line: number, at: number) => (line < 0 || at < 0 ? 0 : (plain[line * row + at] ?? 0));
  for (let line = 0; line < height; line += 1) {
    const filter = data[line * (row + 1)] ?? 0;
    for (let at = 0; at < row; at += 1) {
      const [left, up, corner] = [
        value(line, at - size),
        value(line - 1, at),
        at < size ? 0 : value(line - 1, at - size),
      ];
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      plain[line * row + at] = (data[line * (row + 1) + 1 + at] ?? 0) + guess;
    }
  }
  return Array.from({ length: width * height }, (_, index) => plain.readUIntBE(index * size, 3));
}

/** Of the three neighbours, the one nearest to their plane, as the PNG specification says. */
function paeth(left: number, up: number, corner: number): number {
  const plane = left + up - corner;
  const [a, b, c] = [Math.abs(plane - left), Math.abs(plane - up), Math.abs(plane - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

function paletteOf(colours: readonly number[]): number[] {
  const counts = new Map<number, number>();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MOST_COLOURS)
    .map(([colour]) => colour);
}

function partsOf(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

/** The place of the colour that differs least. */
function nearest(colour: number, palette: readonly number[]): number {
  const [red, green, blue] = partsOf(colour);
  const away = palette.map((other) => {
    const [r, g, b] = partsOf(other);
    return (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
  });
  return away.indexOf(Math.min(...away));
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

function crc32(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
