import { stripVTControlCharacters } from 'node:util'
import { escapeControls } from '../../lib/text/terminal-text.ts'
import { toRawTerminal } from './terminal.ts'

/** What a command that takes a while is at, told to whoever sits at the terminal; nothing elsewhere. */
export interface Steps {
  /** Whether anybody sees them. */
  readonly areSeen: boolean
  /** In place of what was shown before. */
  readonly show: (step: string) => void
  /** Writes a line that stays, whoever reads it. */
  readonly note: (text: string) => void
  /** Nothing is shown any more. */
  readonly end: () => void
}

const SILENT: Steps = { areSeen: false, show() {}, note: writeNote, end() {} }
/** For what turns, and a blank. */
const SPINNER_WIDTH = 3
const BAR_WIDTH = 20

/** Begins at standard error, so that standard output is for what is asked for. */
export async function openSteps(): Promise<Steps> {
  if (!process.stderr.isTTY || process.env['TERM'] === 'dumb' || 'CI' in process.env) return SILENT
  const { default: createSpinner } = await import('yocto-spinner')
  const spinner = createSpinner({ stream: toRawTerminal(process.stderr) })
  return {
    areSeen: true,
    show(step) {
      const text = fit(step)
      if (!spinner.isSpinning) spinner.start(text)
      // What is set is written, also where it is the same.
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

/** A bar, `share` of which is full, and its percentage. */
export function formatBar(share: number): string {
  const full = Math.round(share * BAR_WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full)
  return `${bar} ${Math.floor(share * 100)} %`
}

function writeNote(text: string): void {
  process.stderr.write(`mx: ${toLine(text)}\n`)
}

/** One line, without controls that would move the cursor. */
function toLine(text: string): string {
  const [line = ''] = stripVTControlCharacters(text)
    .trim()
    .split(/[\r\n]/)
  return escapeControls(line.replaceAll('\t', ' '))
}

function fit(text: string): string {
  return toLine(text).slice(0, (process.stderr.columns || 80) - SPINNER_WIDTH)
}
