import type { Resources } from '../../../core/contracts/runtime.ts'
import { findProgram } from './find-program.ts'
import type { RuntimeLog } from './world.ts'

/** Turns the words of a program into those that run it confined. */
export type Confine = (words: readonly string[], resources: Resources) => string[]

/** What a program needs beside its data: stacks, code that is compiled as it runs. */
const DATA_MARGIN_BYTES = 512 * 1024 * 1024

/**
 * What this machine has to confine programs with: `setpriv`, by which they end with the server however that ends, and `prlimit`,
 * by which no process writes a core file, or has much more data than its copy may. What is missing is told once.
 */
export function findConfinement(log: RuntimeLog): Confine {
  const path = process.env['PATH'] ?? ''
  const find = (name: string, purpose: string): string[] => {
    try {
      return [findProgram(name, '/', path)]
    } catch {
      log.warn({}, `there is no program ${name} here: ${purpose}`)
      return []
    }
  }
  const setpriv = find('setpriv', 'services outlive a server that is killed, until it starts again')
  const prlimit = find('prlimit', 'the memory of services is looked at once a second only')
  return (words, { memoryBytes }) => [
    ...setpriv.flatMap((program) => [program, '--pdeathsig', 'KILL', '--']),
    ...prlimit.flatMap((program) => [
      program,
      '--core=0',
      ...(memoryBytes === undefined ? [] : [`--data=${memoryBytes + DATA_MARGIN_BYTES}`]),
      '--',
    ]),
    ...words,
  ]
}
