import { readFileSync } from 'node:fs'
import type { Log } from './log.ts'

/** Files a process needs besides connections: logs, certificates, watches, libraries. */
const RESERVED = 64
/** Where the system does not tell its limit. */
const UNKNOWN_LIMIT = 4096

/** How many files this process may have open. Node.js raises the soft limit to the hard one when it starts. */
export function readFileLimit(): number {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return UNKNOWN_LIMIT
  }
  const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1]
  return soft === undefined || soft === 'unlimited' ? UNKNOWN_LIMIT : Number(soft)
}

/**
 * Client connections to accept. `auto` leaves as many files for connections to backends; more than the
 * limit allows is cut down: a process that runs out of files spins in accept and can answer nobody.
 */
export function capConnections(
  wanted: number | 'auto',
  fileLimit: number,
  log: Pick<Log, 'warn'>,
): number {
  const available = Math.max(1, fileLimit - RESERVED)
  if (wanted === 'auto') return Math.max(1, Math.floor(available / 2))
  // Every client may need a connection to a backend, but most share them: one in eight is kept back.
  const most = Math.max(1, Math.floor((available * 7) / 8))
  if (wanted <= most) return wanted
  log.warn(
    { wanted, used: most, open_files: fileLimit },
    'max_connections is beyond the open-file limit (ulimit -n)',
  )
  return most
}

/** Connections to backends that may be open at a time: what clients and the rest of the process leave. */
export function budgetBackends(maxClients: number, fileLimit: number): number {
  return Math.max(1, fileLimit - RESERVED - maxClients)
}
