import type { Resources } from '../../../core/contracts/runtime.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import type { RuntimeLog } from './runtime-log.ts'

/** Wraps a command to run with limits. */
export type Confine = (words: readonly string[], dataBytes: number | undefined) => string[]

/** Memory of a program beyond its data: stacks and JIT code. */
const DATA_MARGIN_BYTES = 512 * 1024 * 1024

/** Data segment limit of each process of an instance; undefined without a limit or with a limited group. */
export function toDataBytes(
  { memoryBytes }: Resources,
  hasLimitedGroup: boolean,
): number | undefined {
  return memoryBytes === undefined || hasLimitedGroup ? undefined : memoryBytes + DATA_MARGIN_BYTES
}

/**
 * Returns the confinement available on this machine: `setpriv` ends programs with the server in any case, `prlimit` prevents core
 * files and limits data. Missing programs are logged once.
 */
export function findConfinement(log: RuntimeLog): Confine {
  const path = process.env['PATH'] ?? ''
  const find = (name: string, purpose: string): string[] => {
    try {
      return [findProgram(name, '/', path)]
    } catch {
      log.warn({}, `program ${name} not found: ${purpose}`)
      return []
    }
  }
  const setpriv = find('setpriv', 'services outlive a killed server until it restarts')
  const prlimit = find(
    'prlimit',
    'services may write core files, and allocate memory faster than it is checked',
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
