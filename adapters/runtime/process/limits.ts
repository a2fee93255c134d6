import type { Resources } from '../../../core/contracts/runtime.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import type { RuntimeLog } from './runtime-log.ts'

/** Turns the words of a program into those that run it with limits. */
export type Confine = (words: readonly string[], dataBytes: number | undefined) => string[]

/** What a program needs beside its data: stacks, code that is compiled as it runs. */
const DATA_MARGIN_BYTES = 512 * 1024 * 1024

/** Limit of the data segment of each process of an instance; undefined: there is none, or its group has one. */
export function toDataBytes(
  { memoryBytes }: Resources,
  hasLimitedGroup: boolean,
): number | undefined {
  return memoryBytes === undefined || hasLimitedGroup ? undefined : memoryBytes + DATA_MARGIN_BYTES
}

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
  const prlimit = find(
    'prlimit',
    'services may write core files, and take memory faster than it is looked at',
  )
  return (words, dataBytes) => [
    ...setpriv.flatMap((program) => [program, '--pdeathsig', 'KILL', '--']),
    ...prlimit.flatMap((program) => [
      program,
      '--core=0',
      ...(dataBytes === undefined ? [] : [`--data=${dataBytes}`]),
      '--',
    ]),
    ...words,
  ]
}
