import { useLayoutEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { type ChartProps, type Series, toneOf } from './series.ts';

/** The drawing of a chart. Loaded when the first one is shown. */
export function Plot({ labels, series, format = String, bars = false, height = 220 }: ChartProps) {
  const ref = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return undefined;
    let plot: UPlot | undefined;
    const draw = () => {
      plot?.destroy();
      const data = [labels.map((_, index) => index), ...series.map(({ values }) => [...values])] as UPlot.AlignedData;
      plot = new UPlot(optionsOf({ labels, series, format, bars, height, box }), data, box);
    };
    draw();
    const observer = new ResizeObserver(() => plot?.setSize({ width: box.clientWidth, height }));
    observer.observe(box);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', draw);
    addEventListener('themechange', draw);
    return () => {
      observer.disconnect();
      scheme.removeEventListener('change', draw);
      removeEventListener('themechange', draw);
      plot?.destroy();
    };
  }, [labels, series, format, bars, height]);
  return <div ref={ref} class="plot" />;
}

interface Drawn extends Required<Pick<ChartProps, 'labels' | 'series' | 'format' | 'bars' | 'height'>> {
  readonly box: HTMLElement;
}

function optionsOf({ labels, series, format, bars, height, box }: Drawn): UPlot.Options {
  const [quiet = '', grid = '', ...strokes] = coloursOf(box, ['var(--quiet)', 'var(--grid)', ...series.map(toneOf)]);
  const font = `11px ${getComputedStyle(box).fontFamily}`;
  const paths = (place: number) => (bars ? barsAt(place, series.length) : undefined);
  const axis = { stroke: quiet, font, ticks: { show: false }, border: { show: false } };
  return {
    width: box.clientWidth,
    height,
    padding: [8, 22, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: {
      x: { time: false, range: (_, least, most) => (bars ? [least - 0.5, most + 0.5] : [least, most]) },
      y: { range: rangeOf },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_, places) => places.map((place) => labels[place] ?? ''),
        incrs: STEPS,
        size: 26,
        space: 56,
      },
      {
        ...axis,
        grid: { stroke: grid, width: 1 },
        size: 56,
        values: (_, values) => values.map((value) => format(value)),
      },
    ],
    series: [{ label: 'Period' }, ...series.map((one, index) => seriesOf(one, strokes[index] ?? quiet, paths(index)))],
    plugins: [tooltip(labels, series, format)],
  };
}

const STEPS = [1, 2, 3, 4, 6, 12, 24, 48, 96, 192, 384];

function rangeOf(_: UPlot, least: number, most: number): [number, number] {
  if (least >= 0) return [0, most === 0 ? 1 : most * 1.08];
  return [least * 1.08, Math.max(0, most * 1.08)];
}

/** Of a period, the share of its room that its bars take. */
const BARS_WIDTH = 0.6;

/** The bars of one of several series, which stand side by side in each period. */
function barsAt(place: number, count: number): UPlot.Series.PathBuilder | undefined {
  const width = BARS_WIDTH / count;
  return UPlot.paths.bars?.({
    size: [BARS_WIDTH, 40],
    radius: 0.15,
    ...(count > 1 && {
      disp: {
        x0: {
          unit: 1,
          values: ({ data: [periods] }) => Array.from(periods, (at) => at - BARS_WIDTH / 2 + place * width),
        },
        size: { unit: 1, values: () => [width] },
      },
    }),
  });
}

function seriesOf(
  { label, filled, dashed }: Series,
  stroke: string,
  bars: UPlot.Series.PathBuilder | undefined,
): UPlot.Series {
  const fill = bars ? stroke : filled ? transparent(stroke) : undefined;
  return {
    label,
    stroke,
    width: 1.5,
    points: { show: false },
    ...(fill && { fill }),
    ...(dashed && { dash: [5, 4] }),
    ...(bars && { paths: bars }),
  };
}

/** A canvas knows no custom properties and no `light-dark()`: elements resolve them, all at once, as each look at a style takes long. */
function coloursOf(box: HTMLElement, colours: readonly string[]): string[] {
  const probe = document.createElement('span');
  for (const colour of colours) {
    const part = document.createElement('span');
    part.style.color = colour;
    probe.append(part);
  }
  box.append(probe);
  const found = [...probe.children].map((part) => getComputedStyle(part).color);
  probe.remove();
  return found;
}

function transparent(rgb: string): string {
  const channels = rgb.match(/[\d.]+/g)?.slice(0, 3) ?? ['0', '0', '0'];
  return `rgba(${channels.join(', ')}, 0.1)`;
}

/** Says the values at the pointer. */
function tooltip(
  labels: readonly string[],
  series: readonly Series[],
  format: (value: number) => string,
): UPlot.Plugin {
  const tip = document.createElement('div');
  tip.className = 'tip';
  return {
    hooks: {
      init: (plot) => {
        tip.hidden = true;
        plot.over.append(tip);
      },
      setCursor: (plot) => {
        const { idx, left = 0 } = plot.cursor;
        tip.hidden = idx == null || left < 0;
        if (idx == null) return;
        const lines = series.map(({ label, values }) => `${label} ${values[idx] == null ? '–' : format(values[idx])}`);
        tip.textContent = [labels[idx], ...lines].join('\n');
        const after = left < plot.over.clientWidth / 2;
        tip.style.left = after ? `${left + 12}px` : 'auto';
        tip.style.right = after ? 'auto' : `${plot.over.clientWidth - left + 12}px`;
      },
    },
  };
}
