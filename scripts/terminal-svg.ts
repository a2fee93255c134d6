/** A command line and its terminal output. */
export interface TerminalStep {
  readonly line: string
  readonly output: string
  readonly elapsedMs: number
}

const LINE_HEIGHT = 19
const PADDING = 18
const CHARACTER_WIDTH = 8.5
const MAX_PAUSE_SECONDS = 2
/** Supported SGR codes, by class in the style sheet. */
const CLASSES: Readonly<Record<string, string>> = {
  ...{ 1: 'b', 2: 'd', 31: 'r', 32: 'g', 33: 'y', 34: 'u', 35: 'm', 36: 'c', 90: 'd' },
}
const STYLE = `
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre;opacity:0;animation:show .01s forwards}
@keyframes show{to{opacity:1}}
@media (prefers-reduced-motion:reduce){text{animation:none;opacity:1}}
.p{fill:#88c0d0}.b{font-weight:bold}.d{fill:#8a93a6}.r{fill:#ef7b85}.g{fill:#a3be8c}.y{fill:#ebcb8b}.u{fill:#81a1c1}.m{fill:#b48ead}.c{fill:#8fbcbb}`

function escapeXml(text: string): string {
  return text
    .replaceAll('\t', '  ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
}

/** Converts a line to spans. Colours become classes, other control sequences are omitted. */
function toSpans(line: string): string {
  let current = ''
  let result = ''
  for (const part of line.split(/(\x1b\[[\d;?]*[A-Za-z])/)) {
    const [, codes] = /^\x1b\[([\d;]*)m$/.exec(part) ?? []
    if (codes !== undefined)
      current = codes
        .split(';')
        .flatMap((code) => CLASSES[code] ?? [])
        .join(' ')
    else if (!part.startsWith('\x1b') && part !== '')
      result +=
        current === '' ? escapeXml(part) : `<tspan class="${current}">${escapeXml(part)}</tspan>`
  }
  return result
}

/** Lines that stay on the screen; rewritten lines are reduced to their last text. */
function toLines(output: string): readonly string[] {
  return output
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(/\r|\x1b\[2K|\x1b\[1G|\x1b\[G/).findLast((text) => text !== '') ?? '')
}

/**
 * Renders an SVG image that types the commands and shows their output with the original timing (at most 2 s each), and
 * then stays.
 */
export function renderTerminal(steps: readonly TerminalStep[]): string {
  let seconds = 0.5
  const rows: string[] = []
  const add = (text: string): void => {
    const y = PADDING + 14 + rows.length * LINE_HEIGHT
    rows.push(
      `<text x="${PADDING}" y="${y}" style="animation-delay:${seconds.toFixed(2)}s">${text}</text>`,
    )
  }
  for (const { line, output, elapsedMs } of steps) {
    add(`<tspan class="p">$</tspan> <tspan class="b">${escapeXml(line)}</tspan>`)
    seconds += 0.6 + Math.min(elapsedMs / 1000, MAX_PAUSE_SECONDS)
    for (const text of toLines(output)) add(toSpans(text))
    add('')
    seconds += 1
  }
  const longest = Math.max(
    ...steps.flatMap(({ output }) => toLines(output).map((line) => line.length)),
  )
  const width = Math.ceil(2 * PADDING + longest * CHARACTER_WIDTH)
  const height = 2 * PADDING + (rows.length - 1) * LINE_HEIGHT
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Recording of a terminal"><style>${STYLE}</style><rect width="100%" height="100%" rx="8" fill="#1f2430"/>
${rows.join('\n')}
</svg>
`
}
