/** Charts as SVG text: points over a logarithmic axis, and bars that are cut into parts. */

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface ScatterOptions {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly x: (value: number) => string;
  readonly y: (value: number) => string;
}

export interface Bar {
  readonly name: string;
  readonly parts: readonly { readonly name: string; readonly value: number }[];
}

/** Told apart by people who see few colours (Okabe and Ito), and by their marks. */
export const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f7f7f', '#000000'];

const [WIDTH, HEIGHT] = [620, 380];
const PLOT = { left: 92, right: 20, top: 44, bottom: 64 } as const;
const LEGEND_ROW = 20;
const [LABEL_WIDTH, BAR_HEIGHT, BAR_GAP, VALUE_WIDTH] = [150, 22, 12, 90];

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
export const escapeHtml = escape;

const round = (value: number): string => value.toFixed(1);

function text(x: number, y: number, content: string, more = ''): string {
  return `<text x="${round(x)}" y="${round(y)}" ${more}>${escape(content)}</text>`;
}

/** Whole powers of ten that hold all values. */
function decades(values: readonly number[]): { lo: number; hi: number } {
  const lo = Math.floor(Math.log10(Math.min(...values)) + 1e-9);
  const hi = Math.ceil(Math.log10(Math.max(...values)) - 1e-9);
  return { lo, hi: Math.max(hi, lo + 1) };
}

/** Both axes logarithmic; points of a series are joined in order of x. Values of 0 or less have no place and are left out. */
export function scatter(series: readonly Series[], { title, xTitle, yTitle, x, y }: ScatterOptions): string {
  const shown = series
    .map(({ name, points }) => ({ name, points: points.filter(([px, py]) => px > 0 && py > 0) }))
    .filter(({ points }) => points.length > 0);
  if (shown.length === 0) return '';
  const all = shown.flatMap(({ points }) => points);
  const [xs, ys] = [decades(all.map(([px]) => px)), decades(all.map(([, py]) => py))];
  const height = HEIGHT + LEGEND_ROW * shown.length;
  const [right, bottom] = [WIDTH - PLOT.right, HEIGHT - PLOT.bottom];
  const atX = (v: number): number => PLOT.left + ((Math.log10(v) - xs.lo) / (xs.hi - xs.lo)) * (right - PLOT.left);
  const atY = (v: number): number => bottom - ((Math.log10(v) - ys.lo) / (ys.hi - ys.lo)) * (bottom - PLOT.top);
  const parts: string[] = [text(PLOT.left, 24, title, 'class="title"')];
  for (let decade = xs.lo; decade <= xs.hi; decade++) {
    const at = atX(10 ** decade);
    parts.push(`<line x1="${round(at)}" y1="${PLOT.top}" x2="${round(at)}" y2="${bottom}" class="grid"/>`);
    parts.push(text(at, bottom + 20, x(10 ** decade), 'text-anchor="middle"'));
  }
  for (let decade = ys.lo; decade <= ys.hi; decade++) {
    const at = atY(10 ** decade);
    parts.push(`<line x1="${PLOT.left}" y1="${round(at)}" x2="${right}" y2="${round(at)}" class="grid"/>`);
    parts.push(text(PLOT.left - 8, at + 4, y(10 ** decade), 'text-anchor="end"'));
  }
  parts.push(text((PLOT.left + right) / 2, bottom + 44, xTitle, 'text-anchor="middle" class="axis"'));
  const middle = (PLOT.top + bottom) / 2;
  parts.push(text(18, middle, yTitle, `text-anchor="middle" class="axis" transform="rotate(-90 18 ${round(middle)})"`));
  shown.forEach(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length]!;
    const sorted = [...points].sort(([a], [b]) => a - b);
    const path = sorted.map(([px, py], at) => `${at === 0 ? 'M' : 'L'}${round(atX(px))} ${round(atY(py))}`).join(' ');
    parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5" opacity="0.6"/>`);
    for (const [px, py] of sorted) parts.push(mark(i, atX(px), atY(py), colour));
    const row = HEIGHT + LEGEND_ROW * i;
    parts.push(mark(i, PLOT.left + 8, row, colour), text(PLOT.left + 24, row + 4, name));
  });
  return svg(WIDTH, height, title, parts);
}

function mark(i: number, x: number, y: number, colour: string): string {
  const shapes = [
    `<circle cx="${round(x)}" cy="${round(y)}" r="5"`,
    `<rect x="${round(x - 4.5)}" y="${round(y - 4.5)}" width="9" height="9"`,
    `<path d="M${round(x)} ${round(y - 6)} L${round(x + 6)} ${round(y + 5)} L${round(x - 6)} ${round(y + 5)} Z"`,
    `<path d="M${round(x)} ${round(y - 6)} L${round(x + 6)} ${round(y)} L${round(x)} ${round(y + 6)} L${round(x - 6)} ${round(y)} Z"`,
  ];
  // Seen through, where points of two series coincide.
  return `${shapes[i % shapes.length]} fill="${colour}" fill-opacity="0.55" stroke="${colour}"/>`;
}

/** Each bar's parts as shares of the bar; its whole beside it. */
export function shares(bars: readonly Bar[], title: string, whole: (value: number) => string): string {
  if (bars.length === 0) return '';
  const names = [...new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)))];
  const width = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  const top = PLOT.top;
  const legendTop = top + bars.length * (BAR_HEIGHT + BAR_GAP) + 16;
  const parts: string[] = [text(16, 24, title, 'class="title"')];
  bars.forEach(({ name, parts: own }, i) => {
    const y = top + i * (BAR_HEIGHT + BAR_GAP);
    const sum = own.reduce((all, { value }) => all + value, 0);
    let x = LABEL_WIDTH;
    parts.push(text(LABEL_WIDTH - 8, y + 15, name, 'text-anchor="end"'));
    for (const part of own) {
      const wide = (part.value / sum) * width;
      parts.push(
        `<rect x="${round(x)}" y="${y}" width="${round(wide)}" height="${BAR_HEIGHT}" fill="${COLOURS[names.indexOf(part.name) % COLOURS.length]}"><title>${escape(`${part.name}: ${whole(part.value)}`)}</title></rect>`,
      );
      x += wide;
    }
    parts.push(text(LABEL_WIDTH + width + 8, y + 15, whole(sum)));
  });
  names.forEach((name, i) => {
    const [column, row] = [i % 3, Math.floor(i / 3)];
    const [x, y] = [20 + column * 200, legendTop + row * LEGEND_ROW];
    parts.push(
      `<rect x="${x}" y="${y}" width="12" height="12" fill="${COLOURS[i % COLOURS.length]}"/>`,
      text(x + 18, y + 11, name),
    );
  });
  return svg(WIDTH, legendTop + Math.ceil(names.length / 3) * LEGEND_ROW + 8, title, parts);
}

const svg = (width: number, height: number, title: string, parts: readonly string[]): string =>
  `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">${parts.join('')}</svg>`;
