import { stripVTControlCharacters } from 'node:util'
import { escapeControls } from '../../lib/text/terminal-text.ts'
import { toRawTerminal } from './terminal.ts'

/** Progress of a command, shown only on a terminal. */
export interface Steps {
  readonly isVisible: boolean
  /** Replaces the current step. */
  readonly show: (step: string) => void
  /** Prints a permanent line, with or without a terminal. */
  readonly note: (text: string) => void
  readonly end: () => void
}

const SILENT: Steps = { isVisible: false, show() {}, note: writeNote, end() {} }
/** Width of the spinner and the space after it. */
const SPINNER_WIDTH = 3
const BAR_WIDTH = 20

/** Shows steps on standard error, so that standard output contains only results. */
export async function openSteps(): Promise<Steps> {
  if (!process.stderr.isTTY || process.env['TERM'] === 'dumb' || 'CI' in process.env) return SILENT
  const { default: createSpinner } = await import('yocto-spinner')
  const spinner = createSpinner({ stream: toRawTerminal(process.stderr) })
  return {
    isVisible: true,
    show(step) {
      const text = truncateToTerminal(step)
      if (!spinner.isSpinning) spinner.start(text)
      // Setting the same text again would rewrite it.
      else if (spinner.text !== text) spinner.text = text
    },
    note(text) {
      const step = spinner.text
      spinner.stop()
      writeNote(text)
      spinner.start(step)
    },
    end: () => void spinner.stop(),
  }
}

/** Formats a progress bar with percentage. @param share share from 0 to 1 */
export function formatBar(share: number): string {
  const full = Math.round(share * BAR_WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full)
  return `${bar} ${Math.floor(share * 100)} %`
}

function writeNote(text: string): void {
  process.stderr.write(`mx: ${toLine(text)}\n`)
}

/** Returns the first line without control characters. */
function toLine(text: string): string {
  const [line = ''] = stripVTControlCharacters(text)
    .trim()
    .split(/[\r\n]/)
  return escapeControls(line.replaceAll('\t', ' '))
}

function truncateToTerminal(text: string): string {
  return toLine(text).slice(0, (process.stderr.columns || 80) - SPINNER_WIDTH)
}
