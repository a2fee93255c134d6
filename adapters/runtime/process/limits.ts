import type { Resources } from '../../../core/contracts/runtime.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import type { RuntimeLog } from './runtime-log.ts'

/** Wraps a command so that it runs with limits. */
export type Confine = (words: readonly string[], dataBytes: number | undefined) => string[]

/** Memory of a program in addition to its data: stacks and JIT code. */
const DATA_MARGIN_BYTES = 512 * 1024 * 1024

/**
 * Returns the data segment limit for each process of an instance. Returns undefined if there is no
 * limit or the control group has one.
 */
export function toDataBytes(
  { memoryBytes }: Resources,
  hasLimitedGroup: boolean,
): number | undefined {
  return memoryBytes === undefined || hasLimitedGroup ? undefined : memoryBytes + DATA_MARGIN_BYTES
}

/**
 * Returns the confinement available on this machine. `setpriv` ensures that programs end with the
 * server; `prlimit` prevents core files and limits data. Missing programs are logged once.
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
