import type { PluginLog } from '../../core/plugin/define.ts'
import { PAYLOAD_MAX_BYTES } from '../../core/rpc/ws/frames.ts'
import type { ServiceEntry } from './entry.ts'

/** Bytes the entries of a message may have together, as JSON; the rest is for what is around them. */
export const MAX_MESSAGE_BYTES: number = PAYLOAD_MAX_BYTES - 1024 * 1024
/** Versions remembered, so that none is told twice. */
const MAX_TOLD = 1000

/** Tells of an entry that no message has room for. */
export type LeaveOut = (entry: ServiceEntry, bytes: number) => void

/**
 * Warns of each version once, and of no more than a thousand.
 *
 * What is registered here always fits; a registry that is filled in other ways may hold more, and the rest of its list is
 * told all the same.
 */
export function createLeaveOut(log: PluginLog): LeaveOut {
  const told = new Set<string>()
  return ({ name, version, options: { domain } }, bytes) => {
    const key = `${name} ${version} ${domain}`
    if (told.has(key) || told.size === MAX_TOLD) return
    told.add(key)
    log.warn({ name, version, domain, bytes }, 'too long for a message: version left out')
  }
}

/** The entries a message has room for, in their order. */
export function truncateToMessage(
  entries: readonly ServiceEntry[],
  leaveOut: LeaveOut,
): readonly ServiceEntry[] {
  let used = 0
  return entries.filter((entry) => {
    const bytes = Buffer.byteLength(JSON.stringify(entry)) + 1
    if (used + bytes > MAX_MESSAGE_BYTES) {
      leaveOut(entry, bytes)
      return false
    }
    used += bytes
    return true
  })
}
