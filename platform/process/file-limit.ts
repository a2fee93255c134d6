import { readFileSync } from 'node:fs'
import type { Log } from './log.ts'

/** Open files other than connections: logs, certificates, watches, libraries. */
const RESERVED = 64
/** Assumed limit if the system does not report one. */
const UNKNOWN_LIMIT = 4096

/** Open-file limit of the process. Node.js raises the soft limit to the hard limit at startup. */
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
 * Maximum number of client connections. `auto` reserves as many files for connections to backends. Larger values are reduced to
 * the limit: a process without free files spins in accept and serves no request.
 */
export function capConnections(
  requested: number | 'auto',
  fileLimit: number,
  log: Pick<Log, 'warn'>,
): number {
  const available = Math.max(1, fileLimit - RESERVED)
  if (requested === 'auto') return Math.max(1, Math.floor(available / 2))
  // One in eight is reserved for backend connections: each client may need one, but most share them.
  const most = Math.max(1, Math.floor((available * 7) / 8))
  if (requested <= most) return requested
  log.warn(
    { wanted: requested, used: most, open_files: fileLimit },
    'max_connections exceeds the open-file limit (ulimit -n)',
  )
  return most
}

/** Maximum number of backend connections: the files that clients and the process leave. */
export function budgetBackends(maxClients: number, fileLimit: number): number {
  return Math.max(1, fileLimit - RESERVED - maxClients)
}
