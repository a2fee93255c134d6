import { readFileSync } from 'node:fs'
import type { Log } from './log.ts'

/** Number of open files other than connections: logs, certificates, watches, libraries. */
const RESERVED = 64
/** Assumed limit if the system does not report one. */
const UNKNOWN_LIMIT = 4096

/**
 * Returns the open-file limit of the process. Node.js raises the soft limit to the hard limit at
 * startup.
 */
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
 * Returns the maximum number of client connections. `auto` reserves the same number of files for
 * connections to backends. Larger values are reduced to the limit, because a process without free
 * files spins in accept and serves no requests.
 */
export function capConnections(
  requested: number | 'auto',
  fileLimit: number,
  log: Pick<Log, 'warn'>,
): number {
  const available = Math.max(1, fileLimit - RESERVED)
  if (requested === 'auto') return Math.max(1, Math.floor(available / 2))
  // One in eight files is reserved for backend connections. Each client may need one, but most
  // clients share them.
  const maxConnections = Math.max(1, Math.floor((available * 7) / 8))
  if (requested <= maxConnections) return requested
  log.warn(
    { wanted: requested, used: maxConnections, open_files: fileLimit },
    'max_connections exceeds the open-file limit (ulimit -n)',
  )
  return maxConnections
}

/**
 * Returns the maximum number of backend connections: all files not used by clients or the process.
 */
export function budgetBackends(maxClients: number, fileLimit: number): number {
  return Math.max(1, fileLimit - RESERVED - maxClients)
}
