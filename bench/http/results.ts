import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../rivals/rival.ts'
import { formatMachine, type Machine, readMachine } from './machine.ts'

/** Folder with the last result of each scenario. */
export const RESULTS: string = join(ROOT, 'bench/results')

/** Header of a result. */
export interface Origin {
  /** ISO 8601 date in UTC. */
  readonly date: string
  readonly machine: Machine
  readonly command: string
  readonly backend: string
}

/** Describes this run. The arguments of the program are appended to `command`. */
export function readOrigin(command: string, backend: string): Origin {
  return {
    date: new Date().toISOString(),
    machine: readMachine(),
    command: [command, ...process.argv.slice(2)].join(' '),
    backend,
  }
}

/**
 * Writes `<name>.json` and `<name>.md`, replacing the files of the previous run.
 *
 * @returns the path without extension.
 */
export function writeResult(
  name: string,
  title: string,
  origin: Origin,
  data: object,
  markdown: string,
): string {
  mkdirSync(RESULTS, { recursive: true })
  const path = join(RESULTS, name)
  writeFileSync(`${path}.json`, `${JSON.stringify({ name, title, ...origin, ...data }, null, 2)}\n`)
  const origins = `${formatMachine(origin.machine)}.\n\nBackend: ${origin.backend}. Command: \`${origin.command}\`.`
  writeFileSync(
    `${path}.md`,
    `# ${title}\n\n${origin.date.slice(0, 16).replace('T', ' ')} UTC. ${origins}\n\n${markdown}`,
  )
  return path
}
